"""Hugging Face's ``config.json`` words to a :class:`ModelConfig`; families override only what they do differently.

Source: transformers 5.24, ``configuration_llama.py`` and ``modeling_rope_utils.py`` (names and defaults).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.config.model_config import ModelConfig, RopeConfig
from workbench.errors import ConfigError

_ROPE_FIELDS = (
    "rope_theta", "rope_type", "factor", "low_freq_factor", "high_freq_factor",
    "original_max_position_embeddings", "partial_rotary_factor",
)  # fmt: skip


def rope_from_hf(hf: Mapping[str, Any]) -> RopeConfig:
    """RoPE from ``rope_parameters`` (transformers 5) or from ``rope_theta`` and ``rope_scaling`` (before it)."""
    found = dict(hf.get("rope_parameters") or hf.get("rope_scaling") or {})
    found["rope_type"] = found.get("rope_type") or found.get("type") or "default"
    for name in ("rope_theta", "partial_rotary_factor"):
        if name not in found and hf.get(name) is not None:
            found[name] = hf[name]
    values = {name: found[name] for name in _ROPE_FIELDS if found.get(name) is not None}
    return RopeConfig(**values)


def common(hf: Mapping[str, Any], *, rms_norm_eps: float = 1e-6, **overrides: Any) -> dict[str, Any]:
    """Keyword arguments of :class:`ModelConfig` that most decoder families share, ``overrides`` on top.

    Raises:
        ConfigError: a size that has no default is missing.
    """
    missing = [
        n for n in ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads") if hf.get(n) is None
    ]
    if missing:
        held = ", ".join(sorted(map(str, hf))[:12])
        raise ConfigError(
            f"The {hf.get('model_type', '?')} config lacks {', '.join(missing)}; found {held}. "
            "Use the model's whole config.json."
        )
    heads = hf["num_attention_heads"]
    eos = hf.get("eos_token_id")
    values: dict[str, Any] = {
        "model_type": hf["model_type"],
        "vocab_size": hf["vocab_size"],
        "hidden_size": hf["hidden_size"],
        "intermediate_size": hf.get("intermediate_size") or 4 * hf["hidden_size"],
        "num_hidden_layers": hf["num_hidden_layers"],
        "num_attention_heads": heads,
        "num_key_value_heads": hf.get("num_key_value_heads") or heads,
        "head_dim": hf.get("head_dim") or _head_dim(hf),
        "max_position_embeddings": hf.get("max_position_embeddings") or 2048,
        "rms_norm_eps": hf.get("rms_norm_eps", rms_norm_eps),
        "hidden_act": hf.get("hidden_act", "silu"),
        "attention_bias": bool(hf.get("attention_bias", False)),
        "mlp_bias": bool(hf.get("mlp_bias", False)),
        "tie_word_embeddings": bool(hf.get("tie_word_embeddings", False)),
        "bos_token_id": hf.get("bos_token_id"),
        "eos_token_id": tuple(eos) if isinstance(eos, list) else eos,
        "pad_token_id": hf.get("pad_token_id"),
    }
    return values | overrides


def _head_dim(hf: Mapping[str, Any]) -> int:
    width, heads = hf["hidden_size"], hf["num_attention_heads"]
    if not isinstance(width, int) or not isinstance(heads, int) or heads <= 0 or width % heads:
        raise ConfigError(
            f"hidden_size ({width!r}) is not a multiple of num_attention_heads ({heads!r}) and head_dim is not given; "
            "add head_dim to the config."
        )
    return width // heads


def llama(hf: Mapping[str, Any]) -> ModelConfig:
    """The config of a llama: nothing but what is common, and a feed-forward whose width nothing implies."""
    words = common(hf)
    if hf.get("intermediate_size") is None:
        raise ConfigError("The llama config lacks intermediate_size. Use the model's whole config.json.")
    return ModelConfig(**words, rope=rope_from_hf(hf))

"""Hugging Face's ``config.json`` words to a :class:`ModelConfig`; families add only what they do differently.

Source: transformers 5.24, ``configuration_*.py`` and ``modeling_rope_utils.py`` (names and defaults).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from workbench.config.checks import whole
from workbench.config.model_config import ModelConfig, RopeConfig
from workbench.errors import ConfigError

HfConfig = Mapping[str, Any]
_ROPE_FIELDS = tuple(field.name for field in dataclasses.fields(RopeConfig))
_ROPE_ALIASES = {"su": "longrope", "mrope": "default"}
_NEED_FACTOR = ("linear", "dynamic", "llama3", "yarn")
_NORM_EPS = ("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_eps")


def first(hf: HfConfig, *names: str, default: Any = None) -> Any:
    """The value of the first name that the config sets."""
    return next((hf[name] for name in names if hf.get(name) is not None), default)


def rope_from_hf(hf: HfConfig, layer_type: str | None = None, **defaults: Any) -> RopeConfig:
    """RoPE from ``rope_parameters`` (transformers 5) or from ``rope_theta`` and ``rope_scaling`` (before it).

    ``layer_type`` picks one where the config has a RoPE per layer type; ``defaults`` are the family's own.
    """
    found = _rope_words(hf, layer_type)
    given = found.get("rope_type") or found.get("type") or "default"
    found["rope_type"] = _ROPE_ALIASES.get(given, given) if isinstance(given, str) else given
    for name in ("rope_theta", "partial_rotary_factor"):
        if found.get(name) is None:
            found[name] = hf.get(name, defaults.get(name))
    found.update(_scaling(found, hf))
    values = {name: found[name] for name in _ROPE_FIELDS if found.get(name) is not None}
    tuples: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
    return RopeConfig(**tuples)


def _rope_words(hf: HfConfig, layer_type: str | None) -> dict[str, Any]:
    found = hf.get("rope_parameters") or hf.get("rope_scaling") or {}
    if layer_type is not None and isinstance(found, Mapping) and isinstance(found.get(layer_type), Mapping):
        found = found[layer_type]
    if not isinstance(found, Mapping) or (layer_type is None and any(isinstance(v, Mapping) for v in found.values())):
        raise ConfigError(
            f"rope_parameters (or rope_scaling) is {str(found)[:80]}; the {hf.get('model_type', '?')} family reads one "
            "object of named numbers, like {'rope_type': 'linear', 'factor': 2.0}."
        )
    return dict(found)


def _scaling(found: HfConfig, hf: HfConfig) -> dict[str, Any]:
    """The original length and the factor as transformers settles them.

    Beside the RoPE parameters the original length wins; dynamic RoPE knows ``max_position_embeddings`` alone. Longrope
    with a factor of its own takes that for its attention factor, else the ratio of the two lengths.
    """
    kind, factor, word = found["rope_type"], found.get("factor"), "original_max_position_embeddings"
    if factor is None and kind in _NEED_FACTOR:
        raise ConfigError(
            f"rope_parameters: rope_type {kind!r} needs factor; found none. Add it from the model's own config.json."
        )
    places = (hf, found) if kind in ("llama3", "yarn", "longrope") else (found, hf)
    original = next((place[word] for place in places if place.get(word) is not None), None)
    settled: dict[str, Any] = {word: None if kind == "dynamic" else original}
    if kind == "longrope" and isinstance(factor, int | float) and factor <= 1 and not found.get("attention_factor"):
        settled["attention_factor"] = 1.0
    return settled


def sizes(hf: HfConfig) -> dict[str, Any]:
    """The sizes every family has, under whichever name it uses.

    Raises:
        ConfigError: a size that has no default is missing, or heads do not divide the width.
    """
    found = {
        "vocab_size": hf.get("vocab_size"),
        "hidden_size": first(hf, "hidden_size", "n_embd", "d_model"),
        "num_hidden_layers": first(hf, "num_hidden_layers", "n_layer", "num_layers"),
        "num_attention_heads": first(hf, "num_attention_heads", "n_head", "num_heads"),
    }
    missing = [name for name, value in found.items() if value is None]
    if missing:
        held = ", ".join(sorted(map(str, hf))[:12])
        raise ConfigError(
            f"The {hf.get('model_type', '?')} config lacks {', '.join(missing)}; found {held}. "
            "Use the model's whole config.json."
        )
    width, heads = found["hidden_size"], found["num_attention_heads"]
    whole({**found, "head_dim": hf.get("head_dim") or None})
    found["num_key_value_heads"] = first(hf, "num_key_value_heads", default=heads)
    found["head_dim"] = hf.get("head_dim") or _head_dim(width, heads)
    if "intermediate_size" in hf and hf["intermediate_size"] is None:
        raise ConfigError(
            f"The {hf.get('model_type', '?')} config lacks intermediate_size: it says null. "
            "Use the model's whole config.json."
        )
    found["intermediate_size"] = first(hf, "intermediate_size", "n_inner", default=4 * width)
    found["max_position_embeddings"] = first(hf, "max_position_embeddings", "n_positions", "seq_length", default=2048)
    return found


def _head_dim(width: int, heads: int) -> int:
    if width % heads:
        raise ConfigError(
            f"hidden_size ({width!r}) is not a multiple of num_attention_heads ({heads!r}) and head_dim is not given; "
            "add head_dim to the config."
        )
    return width // heads


def common(hf: HfConfig, *, norm_eps: float = 1e-6, **overrides: Any) -> ModelConfig:
    """A llama-like config from a family's words, ``overrides`` on top."""
    eos, bias = hf.get("eos_token_id"), bool(hf.get("attention_bias", False))
    rotates = overrides.get("position_embedding", "rope") == "rope"
    rope = {"rope": rope_from_hf(hf)} if rotates and "rope" not in overrides else {}
    values: dict[str, Any] = {
        "model_type": hf["model_type"],
        **sizes(hf),
        "norm_eps": first(hf, *_NORM_EPS, default=norm_eps),
        "hidden_act": first(hf, "hidden_act", "hidden_activation", "activation_function", default="silu"),
        "attention_bias": bias,
        "attention_out_bias": bias,
        "mlp_bias": bool(hf.get("mlp_bias", False)),
        "tie_word_embeddings": bool(hf.get("tie_word_embeddings", False)),
        "bos_token_id": hf.get("bos_token_id"),
        "eos_token_id": tuple(eos) if isinstance(eos, list) else eos,
        "pad_token_id": hf.get("pad_token_id"),
        **rope,
    }
    return ModelConfig(**(values | overrides))


def llama(hf: HfConfig) -> ModelConfig:
    """The config of a llama: nothing but what is common."""
    return common(hf)


def layer_types(hf: HfConfig) -> tuple[str, ...] | None:
    """``layer_types`` as a tuple, where the config has them."""
    found = hf.get("layer_types")
    return tuple(found) if found else None

"""GGUF metadata to a Hugging Face config, for the architectures whose tensors we can place (llama).

Source: the GGUF specification (keys); transformers' ``LlamaConfig`` (words).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.config.gguf_reader import GgufFile
from workbench.errors import ConfigError, UnsupportedError

ARCHITECTURES = ("llama",)
"""Values of ``general.architecture`` that are read."""

_SIZES = {
    "hidden_size": "embedding_length",
    "num_hidden_layers": "block_count",
    "num_attention_heads": "attention.head_count",
    "intermediate_size": "feed_forward_length",
    "max_position_embeddings": "context_length",
}
_TOKENS = {"bos_token_id": "bos", "eos_token_id": "eos", "pad_token_id": "padding"}
_LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
"""What Llama 3.1 and 3.2 were trained with; GGUF keeps only the resulting factors (``rope_freqs.weight``)."""


def hf_config(file: GgufFile) -> dict[str, Any]:
    """The Hugging Face config (the words of ``config.json``) that a GGUF file's metadata describe.

    Raises:
        UnsupportedError: another architecture, mixture of experts, or a RoPE form that has no Hugging Face words.
        ConfigError: a field is missing or is not what it must be.
    """
    meta, name = file.metadata, file.path.name
    architecture = meta.get("general.architecture")
    if architecture not in ARCHITECTURES:
        raise UnsupportedError(
            f"{name}: GGUF files of architecture {architecture!r} are not read yet; read are: "
            f"{', '.join(ARCHITECTURES)}. Use the model's Hugging Face folder (config.json and safetensors) instead."
        )
    if meta.get("llama.expert_count", 0):
        raise UnsupportedError(
            f"{name}: mixture-of-experts GGUF files are not read yet (llama.expert_count is "
            f"{meta['llama.expert_count']}). Use the model's Hugging Face folder instead."
        )
    config = {word: _size(file, key) for word, key in _SIZES.items()}
    heads = config["num_attention_heads"]
    config["num_key_value_heads"] = _size(file, "attention.head_count_kv", heads)
    config["head_dim"] = _size(file, "attention.key_length", config["hidden_size"] // heads)
    config["vocab_size"] = _vocab_size(file)
    rope = _rope(file, config["head_dim"])
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        **config,
        "hidden_act": "silu",
        "rms_norm_eps": _float(file, "attention.layer_norm_rms_epsilon"),
        "attention_bias": "blk.0.attn_q.bias" in file.tensors,
        "mlp_bias": "blk.0.ffn_gate.bias" in file.tensors,
        "rope_parameters": rope,
        # The words of transformers before version 5, for readers that know only those.
        "rope_theta": rope["rope_theta"],
        "rope_scaling": None if rope["rope_type"] == "default" else dict(rope),
        "tie_word_embeddings": "output.weight" not in file.tensors,
        **_token_ids(meta, config["vocab_size"], name),
        "dtype": "float32",
        "torch_dtype": "float32",
    }


def _field(file: GgufFile, key: str, default: Any = None) -> Any:
    value = file.metadata.get(f"llama.{key}", default)
    if value is None:
        raise ConfigError(f"{file.path.name}: the metadata field 'llama.{key}' is missing. Convert the model again.")
    return value


def _size(file: GgufFile, key: str, default: int | None = None) -> int:
    value = _field(file, key, default)
    if isinstance(value, np.ndarray) and len(set(value.tolist())) == 1:
        value = value.tolist()[0]  # one number per layer, all equal
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ConfigError(f"{file.path.name}: 'llama.{key}' must be a positive whole number; found {value!r}.")
    return value


def _float(file: GgufFile, key: str, default: float | None = None) -> float:
    value = _field(file, key, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value) or value <= 0:
        raise ConfigError(f"{file.path.name}: 'llama.{key}' must be a positive number; found {value!r}.")
    # Stored as float32: the shortest decimal that gives the same float32 is what the author wrote (1e-05).
    return float(str(np.float32(value)))


def _vocab_size(file: GgufFile) -> int:
    """From the metadata; where the two contradict each other, say so rather than index out of range later."""
    rows = file.tensors["token_embd.weight"].shape[0] if "token_embd.weight" in file.tensors else None
    stated = file.metadata.get("llama.vocab_size")
    if stated is None:
        stated = rows if rows is not None else len(file.metadata.get("tokenizer.ggml.tokens", ()))
    if not isinstance(stated, int) or stated <= 0 or (rows is not None and rows != stated):
        raise ConfigError(
            f"{file.path.name}: llama.vocab_size is {stated!r}, token_embd.weight has {rows} rows; they must agree."
        )
    return stated


def _token_ids(meta: Mapping[str, Any], vocab_size: int, name: str) -> dict[str, int | None]:
    ids: dict[str, int | None] = {}
    for word, key in _TOKENS.items():
        value = meta.get(f"tokenizer.ggml.{key}_token_id")
        if value is not None and not (isinstance(value, int) and 0 <= value < vocab_size):
            raise ConfigError(f"{name}: 'tokenizer.ggml.{key}_token_id' is {value!r}; allowed: 0 to {vocab_size - 1}.")
        ids[word] = value
    return ids


def _rope(file: GgufFile, head_dim: int) -> dict[str, Any]:
    """``rope_parameters`` as transformers 5 writes them."""
    rotary = _size(file, "rope.dimension_count", head_dim)
    if rotary != head_dim:
        raise UnsupportedError(
            f"{file.path.name}: RoPE turns {rotary} of {head_dim} values per head; Hugging Face's llama has no word "
            "for a part. Use the model's Hugging Face folder."
        )
    rope: dict[str, Any] = {"rope_type": "default", "rope_theta": _float(file, "rope.freq_base", 10000.0)}
    kind = file.metadata.get("llama.rope.scaling.type", "none")
    if kind == "linear":
        return rope | {"rope_type": "linear", "factor": _float(file, "rope.scaling.factor")}
    if kind != "none":
        raise UnsupportedError(
            f"{file.path.name}: llama.rope.scaling.type {kind!r} is not read; read are none and linear. "
            "Use the model's Hugging Face folder."
        )
    return rope | _frequency_factors(file, rotary, rope["rope_theta"])


def _frequency_factors(file: GgufFile, rotary: int, theta: float) -> dict[str, Any]:
    """Llama 3's scaling, recognised by value from ``rope_freqs.weight`` [rotary / 2]; ones mean none."""
    tensor = file.tensors.get("rope_freqs.weight")
    if tensor is None:
        return {}
    if tensor.type != "F32" or tensor.shape != (rotary // 2,):
        raise ConfigError(
            f"{file.path.name}: rope_freqs.weight must be F32 of shape ({rotary // 2},); found {tensor.type} "
            f"of shape {tensor.shape}."
        )
    factors = file.raw("rope_freqs.weight").view("<f4").astype(np.float64)
    if np.all(factors == 1.0):
        return {}
    factor = float(factors.max())
    if not np.allclose(factors, _llama3_factors(rotary, theta, factor), rtol=1e-4):
        raise UnsupportedError(
            f"{file.path.name}: rope_freqs.weight holds frequency factors that are not Llama 3's scaling "
            f"(factor {factor:g}). Use the model's Hugging Face folder, whose config.json says what they are."
        )
    return {"rope_type": "llama3", "factor": round(factor, 4), **_LLAMA3}


def _llama3_factors(rotary: int, theta: float, factor: float) -> np.ndarray:
    """What divides each frequency under Llama 3's scaling [rotary / 2].

    Source: transformers ``_compute_llama3_parameters`` (the formula).
    """
    wavelength = 2 * np.pi * theta ** (np.arange(0, rotary, 2) / rotary)
    low, high = _LLAMA3["low_freq_factor"], _LLAMA3["high_freq_factor"]
    length = _LLAMA3["original_max_position_embeddings"]
    smooth = np.clip((length / wavelength - low) / (high - low), 0.0, 1.0)
    return 1.0 / ((1 - smooth) / factor + smooth)

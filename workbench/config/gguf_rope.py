"""RoPE of a GGUF file as ``rope_parameters``, the words of transformers 5.

Source: llama.cpp ``conversion/base.py``, ``llama.py`` and ``phi.py`` (what is written for which ``rope_type``), and
transformers ``modeling_rope_utils.py`` (formulas and words).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench.config.gguf_fields import Fields
from workbench.errors import UnsupportedError

_LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
"""What Llama 3.1 and 3.2 were trained with; GGUF keeps only the resulting factors (``rope_freqs.weight``)."""
_LONG, _SHORT, _FREQS = "rope_factors_long.weight", "rope_factors_short.weight", "rope_freqs.weight"
TENSORS = dict.fromkeys((_LONG, _SHORT, _FREQS), "RoPE factors: read into the config's rope_parameters")
"""Tensors that belong to the config and hold no parameter, and why."""
_OLD_LINEAR = "{arch}.rope.scale_linear"  # files older than rope.scaling.type
_FOLDER = "Use the model's Hugging Face folder."


def rope_parameters(fields: Fields, head_dim: int, max_positions: int) -> dict[str, Any]:
    """``rope_parameters`` of a file with one RoPE.

    Raises:
        UnsupportedError: a form that has no Hugging Face words.
        ConfigError: a field or factor tensor is not what it must be.
    """
    from gguf.constants import Keys

    rope: dict[str, Any] = {"rope_type": "default", "rope_theta": fields.number(Keys.Rope.FREQ_BASE, 10000.0)}
    rotary = fields.size(Keys.Rope.DIMENSION_COUNT, head_dim)
    if rotary != head_dim:
        rope["partial_rotary_factor"] = rotary / head_dim
    if fields.has(_LONG) or fields.has(_SHORT):
        return rope | _longrope(fields, rotary, max_positions)
    kind = fields.find(Keys.Rope.SCALING_TYPE) or ("linear" if fields.find(_OLD_LINEAR) else "none")
    if kind == "linear":
        template = Keys.Rope.SCALING_FACTOR if fields.find(Keys.Rope.SCALING_FACTOR) is not None else _OLD_LINEAR
        factor = fields.number(template)
        return rope if factor == 1 else rope | {"rope_type": "linear", "factor": factor}
    if kind == "yarn":
        return rope | _yarn(fields)
    if kind != "none":
        raise UnsupportedError(
            f"{fields.name}: {fields.key(Keys.Rope.SCALING_TYPE)} {kind!r} is not read; read are none, linear, yarn, "
            f"and longrope with its factor tensors. {_FOLDER}"
        )
    return rope | _frequency_factors(fields, rotary, rope["rope_theta"])


def _yarn(fields: Fields) -> dict[str, Any]:
    from gguf.constants import Keys

    for template, plain in ((Keys.Rope.SCALING_YARN_LOG_MUL, 0), (Keys.Rope.SCALING_ATTN_FACTOR, 1),
                            (Keys.Rope.SCALING_YARN_EXT_FACTOR, 1)):  # fmt: skip
        found = fields.find(template)
        if found is not None and found != plain:
            raise UnsupportedError(
                f"{fields.name}: {fields.key(template)} is {found!r}; yarn is read with {plain} only. {_FOLDER}"
            )
    words = {
        "attention_factor": fields.optional(Keys.Rope.SCALING_YARN_ATTN_FACTOR),
        "beta_fast": fields.optional(Keys.Rope.SCALING_YARN_BETA_FAST),
        "beta_slow": fields.optional(Keys.Rope.SCALING_YARN_BETA_SLOW),
    }
    return {
        "rope_type": "yarn",
        "factor": fields.number(Keys.Rope.SCALING_FACTOR),
        "original_max_position_embeddings": fields.size(Keys.Rope.SCALING_ORIG_CTX_LEN),
        **{word: value for word, value in words.items() if value is not None},
    }


def _longrope(fields: Fields, rotary: int, max_positions: int) -> dict[str, Any]:
    """Two factor tensors [rotary / 2], one for each side of the original length."""
    from gguf.constants import Keys

    for name in (_LONG, _SHORT):
        if not fields.has(name):
            raise UnsupportedError(f"{fields.name}: longrope needs {_LONG} and {_SHORT}; {name} is missing. {_FOLDER}")
    original = fields.size(Keys.Rope.SCALING_ORIG_CTX_LEN)
    words = {
        "rope_type": "longrope",
        "original_max_position_embeddings": original,
        "short_factor": [_decimal(f) for f in fields.vector(_SHORT, rotary // 2)],
        "long_factor": [_decimal(f) for f in fields.vector(_LONG, rotary // 2)],
    }
    stated, factor = fields.optional(Keys.Rope.SCALING_ATTN_FACTOR), max_positions / original
    derived = math.sqrt(1 + math.log(factor) / math.log(original)) if factor > 1 else 1.0
    if stated is not None and not math.isclose(stated, derived, rel_tol=1e-5):
        words["attention_factor"] = stated  # else left to the formula, which float32 has not rounded
    return words


def _decimal(value: float) -> float:
    return float(str(np.float32(value)))


def _frequency_factors(fields: Fields, rotary: int, theta: float) -> dict[str, Any]:
    """Llama 3's scaling, recognised by value from ``rope_freqs.weight`` [rotary / 2]; ones mean none."""
    if not fields.has(_FREQS):
        return {}
    factors = fields.vector(_FREQS, rotary // 2)
    if np.all(factors == 1.0):
        return {}
    factor = float(factors.max())
    if not np.allclose(factors, _llama3_factors(rotary, theta, factor), rtol=1e-4):
        raise UnsupportedError(
            f"{fields.name}: {_FREQS} holds frequency factors that are not Llama 3's scaling "
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

"""Frequencies of rotary position embeddings, as numbers.

Source: transformers 5.24, ``modeling_rope_utils.py`` (one function per ``rope_type``).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.config.rope_config import RopeConfig

Array = npt.NDArray[Any]


def base_frequencies(rope: RopeConfig, dim: int) -> Array:
    """``[dim / 2]`` float32 angles per position without any scaling."""
    return (1.0 / rope.rope_theta ** exponents(dim)).astype(np.float32)


def exponents(dim: int) -> Array:
    """``[dim / 2]`` float32: 0, 2/dim, 4/dim, ..."""
    return (np.arange(0, dim, 2, dtype=np.float32) / np.float32(dim)).astype(np.float32)


def inverse_frequencies(rope: RopeConfig, dim: int, max_positions: int, *, long: bool = False) -> Array:
    """``[dim / 2]`` float32 angles per position. ``long`` picks longrope's factors for long sequences."""
    base = base_frequencies(rope, dim)
    if rope.rope_type == "linear":
        return base / np.float32(rope.factor)
    if rope.rope_type == "llama3":
        return _llama3(base, rope)
    if rope.rope_type == "yarn":
        return _yarn(base, rope, dim, max_positions)
    if rope.rope_type == "longrope":
        return base / np.array(rope.long_factor if long else rope.short_factor, np.float32)
    return base


def attention_factor(rope: RopeConfig, max_positions: int) -> float:
    """What cosines and sines are multiplied with."""
    if rope.rope_type not in ("yarn", "longrope"):
        return 1.0
    if rope.attention_factor is not None:
        return rope.attention_factor
    original = rope.original_max_position_embeddings or max_positions
    if rope.rope_type == "yarn":
        return _yarn_attention_factor(rope)
    factor = rope.factor if rope.factor > 1 else max_positions / original
    return 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(original))


def _llama3(base: Array, rope: RopeConfig) -> Array:
    """Long wavelengths are slowed by ``factor``, short ones stay, those between are blended."""
    original = rope.original_max_position_embeddings or 0
    wavelength = 2 * math.pi / base
    low, high = rope.low_freq_factor, rope.high_freq_factor
    smooth = (original / wavelength - low) / (high - low)
    blended = (1 - smooth) * base / rope.factor + smooth * base
    slowed = np.where(wavelength > original / low, base / rope.factor, base)
    between = (wavelength <= original / low) & (wavelength >= original / high)
    return np.where(between, blended, slowed).astype(np.float32)


def _yarn_attention_factor(rope: RopeConfig) -> float:
    def mscale(weight: float) -> float:
        return 1.0 if rope.factor <= 1 else 0.1 * weight * math.log(rope.factor) + 1.0

    if rope.mscale and rope.mscale_all_dim:
        return mscale(rope.mscale) / mscale(rope.mscale_all_dim)
    return mscale(1.0)


def _yarn(base: Array, rope: RopeConfig, dim: int, max_positions: int) -> Array:
    """Fast pairs stay, slow ones are divided by ``factor``, a ramp lies between."""
    original = rope.original_max_position_embeddings or max_positions

    def pair_of(rotations: float) -> float:
        return dim * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(rope.rope_theta))

    low, high = pair_of(rope.beta_fast), pair_of(rope.beta_slow)
    if rope.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    width = (high - low) or 0.001
    ramp = np.clip((np.arange(dim // 2, dtype=np.float32) - low) / width, 0, 1)
    return (base / rope.factor * ramp + base * (1 - ramp)).astype(np.float32)

"""Rotary position embedding: frequencies, tables, and the node that applies them."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import onnx_ir as ir
from onnxscript import OpBuilder

from workbench.config.model_config import ModelConfig, RopeConfig


def inverse_frequencies(rope: RopeConfig, dim: int) -> np.ndarray:
    """``[dim / 2]`` float32 angles per position.

    Source: transformers 5.24 ``modeling_rope_utils.py`` (linear and llama3 scaling).
    """
    base = (1.0 / rope.rope_theta ** (np.arange(0, dim, 2, dtype=np.float32) / np.float32(dim))).astype(np.float32)
    if rope.rope_type == "linear":
        return base / np.float32(rope.factor)
    if rope.rope_type == "llama3":
        return _llama3(base, rope)
    return base


def _llama3(base: np.ndarray, rope: RopeConfig) -> np.ndarray:
    """Long wavelengths are slowed by ``factor``, short ones stay, those between are blended."""
    original = rope.original_max_position_embeddings or 0
    wavelength = 2 * math.pi / base
    low, high = rope.low_freq_factor, rope.high_freq_factor
    smooth = (original / wavelength - low) / (high - low)
    blended = (1 - smooth) * base / rope.factor + smooth * base
    slowed = np.where(wavelength > original / low, base / rope.factor, base)
    between = (wavelength <= original / low) & (wavelength >= original / high)
    return np.where(between, blended, slowed).astype(np.float32)


@dataclasses.dataclass(frozen=True)
class RotaryTables:
    """Cosines and sines ``[max_position_embeddings, rotary_dim / 2]`` of a graph, and what applies them needs."""

    cos: ir.Value
    sin: ir.Value
    positions: ir.Value
    rotary_dim: int
    head_dim: int

    def apply(self, op: OpBuilder, x: ir.Value, num_heads: int) -> ir.Value:
        """Rotate ``x [B, S, H*D]`` by ``positions [B, S]``; only the first ``rotary_dim`` entries of a head."""
        partial = 0 if self.rotary_dim == self.head_dim else self.rotary_dim
        return op.RotaryEmbedding(
            x,
            self.cos,
            self.sin,
            self.positions,
            num_heads=num_heads,
            interleaved=0,
            rotary_embedding_dim=partial,
        )


def rotary_tables(
    op: OpBuilder, config: ModelConfig, dtype: ir.DataType, position_ids: ir.Value
) -> RotaryTables | None:
    """Register the tables of a model as initializers; None for models without RoPE.

    They are computed when somebody reads them, so a skeleton with 131,072 positions costs nothing.
    """
    if config.rope is None:
        return None
    rope, dim = config.rope, config.rotary_dim
    shape = ir.Shape([config.max_position_embeddings, dim // 2])

    def table(function: np.ufunc) -> ir.LazyTensor:
        def compute() -> ir.TensorProtocol:
            positions = np.arange(config.max_position_embeddings, dtype=np.float32)
            angles = np.outer(positions, inverse_frequencies(rope, dim))
            return ir.Tensor(function(angles).astype(dtype.numpy()), dtype=dtype)

        return ir.LazyTensor(compute, dtype, shape, cache=True, name=f"rotary_emb.{function.__name__}")

    cos, sin = (op.builder.initializer(table(f), f"rotary_emb.{f.__name__}", qualify=False) for f in (np.cos, np.sin))
    # The standard's RotaryEmbedding takes int64 positions and nothing else.
    narrow = position_ids.dtype != ir.DataType.INT64
    positions = op.Cast(position_ids, to=ir.DataType.INT64) if narrow else position_ids
    return RotaryTables(cos, sin, positions, dim, config.head_dim)

"""Normalisation layers."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
from onnxscript import OpBuilder, nn

from workbench.config.model_config import ModelConfig
from workbench.config.parts import NormParts


class RMSNorm(nn.Module):
    """Root-mean-square normalisation over the last axis, computed in float32 (``stash_type=1``)."""

    def __init__(self, size: int, *, eps: float, dtype: ir.DataType) -> None:
        super().__init__()
        self.eps = float(eps)
        self.weight = nn.Parameter([size], dtype=dtype)

    def forward(self, op: OpBuilder, x: ir.Value) -> ir.Value:
        return op.RMSNormalization(x, self.weight, axis=-1, epsilon=self.eps, stash_type=1)


class LayerNorm(nn.Module):
    """Mean and variance normalisation over the last axis, computed in float32.

    Without a bias the third input is left off: onnxruntime 1.32 crashes on a trailing empty one.
    """

    def __init__(self, size: int, *, eps: float, bias: bool, dtype: ir.DataType) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter([size], dtype=dtype)
        self.bias = nn.Parameter([size], dtype=dtype) if bias else None

    def forward(self, op: OpBuilder, x: ir.Value) -> ir.Value:
        bias = () if self.bias is None else (self.bias,)
        return op.LayerNormalization(x, self.weight, *bias, axis=-1, epsilon=self.eps, stash_type=1)


class HeadNorm(nn.Module):
    """Normalises each head of ``[B, S, H*D]`` by itself; one weight ``[D]`` for all, or ``[H, D]``."""

    def __init__(self, config: ModelConfig, heads: int, dtype: ir.DataType) -> None:
        super().__init__()
        self.heads, self.size, self.eps, self.dtype = heads, config.head_dim, config.norm_eps, dtype
        self.layer_norm = config.qk_norm_type == "layer_norm"
        self.per_head = config.qk_norm_per_head_weight
        self.weight = nn.Parameter([heads, self.size] if self.per_head else [self.size], dtype=dtype)
        self.bias = nn.Parameter([self.size], dtype=dtype) if config.qk_norm_bias else None

    def forward(self, op: OpBuilder, x: ir.Value) -> ir.Value:
        x_BSHD = op.Reshape(x, [0, 0, self.heads, self.size])
        return op.Reshape(self._normal(op, x_BSHD), [0, 0, self.heads * self.size])

    def _normal(self, op: OpBuilder, x_BSHD: ir.Value) -> ir.Value:
        scale = self._ones(op) if self.per_head else self.weight
        if self.layer_norm:
            bias = () if self.bias is None else (self.bias,)
            normal = op.LayerNormalization(x_BSHD, scale, *bias, axis=-1, epsilon=self.eps, stash_type=1)
        else:
            normal = op.RMSNormalization(x_BSHD, scale, axis=-1, epsilon=self.eps, stash_type=1)
        return op.Mul(normal, self.weight) if self.per_head else normal

    def _ones(self, op: OpBuilder) -> ir.Value:
        name = f"ones_{self.size}"
        found = op.builder.graph.initializers.get(name)
        if found is not None:
            return found
        ones = ir.Tensor(np.ones(self.size, self.dtype.numpy()), dtype=self.dtype, name=name)
        return op.builder.initializer(ones, name, qualify=False)


def make_norm(config: NormParts, size: int, dtype: ir.DataType) -> nn.Module:
    """The norm of a model, over ``size`` entries."""
    if config.norm_type == "layer_norm":
        return LayerNorm(size, eps=config.norm_eps, bias=config.norm_bias, dtype=dtype)
    return RMSNorm(size, eps=config.norm_eps, dtype=dtype)


def make_qk_norm(config: ModelConfig, heads: int, dtype: ir.DataType) -> nn.Module | None:
    """The norm of queries or keys, if the model has one."""
    if config.qk_norm is None:
        return None
    if config.qk_norm == "head":
        return HeadNorm(config, heads, dtype)
    size = heads * config.head_dim
    if config.qk_norm_type == "layer_norm":
        return LayerNorm(size, eps=config.norm_eps, bias=config.qk_norm_bias, dtype=dtype)
    return RMSNorm(size, eps=config.norm_eps, dtype=dtype)

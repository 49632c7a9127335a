"""Normalisation layers."""

from __future__ import annotations

import onnx_ir as ir
from onnxscript import OpBuilder, nn


class RMSNorm(nn.Module):
    """Root-mean-square normalisation over the last axis, computed in float32 (``stash_type=1``)."""

    def __init__(self, size: int, *, eps: float, dtype: ir.DataType) -> None:
        super().__init__()
        self.eps = float(eps)
        self.weight = nn.Parameter([size], dtype=dtype)

    def forward(self, op: OpBuilder, x: ir.Value) -> ir.Value:
        return op.RMSNormalization(x, self.weight, axis=-1, epsilon=self.eps, stash_type=1)

"""A linear layer with its weight as Hugging Face stores it."""

from __future__ import annotations

import onnx_ir as ir
from onnxscript import OpBuilder, nn


class Linear(nn.Module):
    """``y [..., out] = x [..., in] @ weight [out, in]^T + bias [out]``.

    The weight keeps the layout of the checkpoint, so it is memory-mapped as it is; the fold stage turns it.
    """

    def __init__(self, in_features: int, out_features: int, *, bias: bool = False, dtype: ir.DataType) -> None:
        super().__init__()
        self.weight = nn.Parameter([out_features, in_features], dtype=dtype)
        self.bias = nn.Parameter([out_features], dtype=dtype) if bias else None

    def forward(self, op: OpBuilder, x: ir.Value) -> ir.Value:
        y = op.MatMul(x, op.Transpose(self.weight, perm=[1, 0]))
        return y if self.bias is None else op.Add(y, self.bias)

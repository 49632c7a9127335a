"""Token and position embeddings, and the output head that may share the tokens' weight."""

from __future__ import annotations

import onnx_ir as ir
from onnxscript import OpBuilder, nn


class Embedding(nn.Module):
    """``ids [B, S]`` to ``[B, S, E]``; ``project`` uses the same weight the other way round (tied heads)."""

    def __init__(self, size: int, hidden_size: int, *, dtype: ir.DataType) -> None:
        super().__init__()
        self.weight = nn.Parameter([size, hidden_size], dtype=dtype)

    def forward(self, op: OpBuilder, ids: ir.Value) -> ir.Value:
        return op.Gather(self.weight, ids, axis=0)

    def project(self, op: OpBuilder, hidden: ir.Value) -> ir.Value:
        """Logits ``[B, S, V]`` of ``hidden [B, S, E]``."""
        return op.MatMul(hidden, op.Transpose(self.weight, perm=[1, 0]))

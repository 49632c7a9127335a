"""Attention masks: one node of a semantic function per kind of mask, shared by all layers that use it."""

from __future__ import annotations

import onnx_ir as ir
from onnxscript import OpBuilder

from workbench import functions
from workbench.components.graph import dim
from workbench.functions import CAUSAL_MASK, SLIDING_WINDOW_MASK
from workbench.types import OpId


class Masks:
    """Makes each kind of mask once per graph: ``[B, 1, S, T]`` bool, true where a token may look."""

    def __init__(self, op: OpBuilder, attention_mask: ir.Value, position_ids: ir.Value) -> None:
        self._op = op
        self._inputs = (attention_mask, position_ids)
        self._made: dict[int | None, ir.Value] = {}

    def get(self, window: int | None) -> ir.Value:
        """The causal mask, narrowed to the last ``window`` real tokens unless that is None."""
        if window not in self._made:
            use = CAUSAL_MASK if window is None else SLIDING_WINDOW_MASK
            attributes = {} if window is None else {"window": window}
            self._made[window] = self._call(use, attributes)
        return self._made[window]

    def _call(self, use: OpId, attributes: dict[str, int]) -> ir.Value:
        attention_mask, position_ids = self._inputs
        opset = self._op.builder.graph.opset_imports[""]
        mask: ir.Value = self._op.call(
            functions.function(use, opset), attention_mask, position_ids, _outputs=1, **attributes
        )
        mask.dtype = ir.DataType.BOOL
        B, S, T = dim(attention_mask, 0), dim(position_ids, 1), dim(attention_mask, 1)
        mask.shape = ir.Shape([B, 1, S, T])
        return mask

"""Reading dimensions while a graph is made."""

from __future__ import annotations

import onnx_ir as ir


def dim(value: ir.Value, axis: int) -> int | ir.SymbolicDim:
    """A dimension of a value whose shape is known because a component set it."""
    if value.shape is None:
        raise ValueError(f"{value.name} has no shape yet; the component that made it has to set one")
    return value.shape[axis]

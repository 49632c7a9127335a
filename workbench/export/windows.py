"""A cache that holds the window alone: for providers whose attention can be told that what came before is gone."""

from __future__ import annotations

import onnx_ir as ir

from workbench.analysis.graph_facts import GQA
from workbench.ep import ExecutionProvider
from workbench.errors import UnsupportedError
from workbench.passes.cleanup import in_order
from workbench.rules.graph import attr, use_of
from workbench.types import OpId

_BOUNDED = OpId(GQA.op_type, GQA.domain, "window_cache")


def with_window_cache(model: ir.Model, ep: ExecutionProvider) -> ir.Model:
    """A clone whose windowed layers take a short cache; their axes get names of their own, since they differ now.

    Raises:
        UnsupportedError: no layer has a window, or the provider's kernel has no such cache.
    """
    with in_order(model):
        clone = model.clone()
    windowed = [node for node in clone.graph if use_of(node) == GQA and attr(node, "local_window_size", -1) > 0]
    if not windowed:
        raise UnsupportedError(
            "window_cache=True: no GroupQueryAttention of this graph has a sliding window. Leave it out."
        )
    for node in windowed:
        dtype = node.inputs[3].dtype if len(node.inputs) > 3 and node.inputs[3] is not None else None
        if dtype is not None and not ep.runs(_BOUNDED, dtype):
            raise UnsupportedError(
                f"window_cache=True: {ep.name!r} has no known kernel that keeps the window alone. Leave it out; the "
                "whole cache is kept then, and the answers are the same."
            )
        node.attributes["sliding_window_cache"] = ir.AttrInt64("sliding_window_cache", 1)
        for value in (*node.inputs[3:5], *node.outputs[1:3]):
            if value is not None and value.shape is not None:
                value.shape = ir.Shape([_renamed(size) for size in value.shape])
    return clone


def _renamed(size: int | ir.SymbolicDim) -> int | ir.SymbolicDim | str:
    name = size.value if isinstance(size, ir.SymbolicDim) else None
    return name.replace("sequence", "sliding") if isinstance(name, str) else size

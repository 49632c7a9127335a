"""Shape -> counted columns, and semantic functions -> their bodies without Shape.

A length along axis 1 of an integer ``[B, S]`` input is counted by a ReduceSum of ones along that axis; it is the same
for each row, and a ReduceMax makes it one number.

Before::

    out = Shape<start = 1, end = 2>(x)    # or a CausalMask, SlidingWindowMask, KeyLengths

After::

    out = Cast(ReduceMax(ReduceSum(ones like x)))    # or the function's body without Shape
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from workbench import functions
from workbench.functions import CAUSAL_MASK, KEY_LENGTHS, SLIDING_WINDOW_MASK, WITHOUT_SHAPE
from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import attr, new, other_body, rank, required, use_of
from workbench.types import OpId, Stage

SHAPE = OpId("Shape")
CAST, SUB, ADD, REDUCE_SUM, REDUCE_MAX = (OpId(n) for n in ("Cast", "Sub", "Add", "ReduceSum", "ReduceMax"))


def rewrite(site: Site) -> Rewrite:
    """Another body for a function of ours; counting for a length of an integer matrix; a refusal for the rest."""
    return _count(site.node) if use_of(site.node) == SHAPE else other_body(site.node, WITHOUT_SHAPE)


def _count(node: ir.Node) -> Rewrite:
    x = required(node, 0)
    start, end = attr(node, "start", 0), attr(node, "end", None)
    if rank(x) != 2 or (start, end) not in ((1, 2), (1, None), (-1, None)):
        raise Refusal(
            f"only the length of a matrix's second axis is counted, not axes {start} to {end} of {x.shape}",
            kind="unmatched",
        )
    if x.dtype is None or not x.dtype.is_integer():
        raise Refusal(f"counting needs an integer input, found {x.dtype}", kind="unmatched")
    i32, i64, B = ir.DataType.INT32, ir.DataType.INT64, x.shape[0] if x.shape is not None else None

    def constant(value: np.ndarray) -> ir.Node:
        return new(OpId("Constant"), [], like=[(ir.tensor(value).dtype, value.shape)], value=ir.tensor(value))

    like = (i32, list(x.shape) if x.shape is not None else [None, None])
    one, axis1, axis0 = constant(np.array(1, np.int32)), constant(np.array([1])), constant(np.array([0]))
    narrow = new(CAST, [x], like=[like], to=i32)
    zeros = new(SUB, [narrow.outputs[0], narrow.outputs[0]], like=[like])
    ones = new(ADD, [zeros.outputs[0], one.outputs[0]], like=[like])
    columns = new(REDUCE_SUM, [ones.outputs[0], axis1.outputs[0]], like=[(i32, [B])], keepdims=0)
    longest = new(REDUCE_MAX, [columns.outputs[0], axis0.outputs[0]], like=[(i32, [1])], keepdims=1)
    wide = new(CAST, longest.outputs, like=[(i64, [1])], to=i64)
    nodes = [one, axis1, axis0, narrow, zeros, ones, columns, longest, wide]
    return Rewrite(nodes, {node.outputs[0]: wide.outputs[0]})


def _has_shape(node: ir.Node) -> bool:
    return use_of(node) == SHAPE or (node.overload == "" and functions.needs_shape_free_body(use_of(node)))


RULE = Rule(
    name="lower/eliminate_shape",
    stage=Stage.LOWER,
    anchors=(SHAPE, CAUSAL_MASK, SLIDING_WINDOW_MASK, KEY_LENGTHS),
    looks_at=_has_shape,
    removes=frozenset({SHAPE}),
    produces=frozenset({CAST, SUB, ADD, REDUCE_SUM, REDUCE_MAX}),
    rewrite=rewrite,
    needs="a function of ours, or the second axis of an integer matrix",
    pattern="out = Shape | ep_workbench.CausalMask | ep_workbench.SlidingWindowMask | ep_workbench.KeyLengths(x)",
)

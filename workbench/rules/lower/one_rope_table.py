"""GroupQueryAttention over two RoPE tables in one -> the rows of one of them, cut out by the length of the sequence.

What one provider's kernel is told by an option, the graph does itself for the others.

Before::

    out = GroupQueryAttention<do_rotary = 1>(..., total, [short_cos | long_cos], [short_sin | long_sin])    # at N

After::

    first = Cast(total > N) * N
    cos, sin = Slice([short_cos | long_cos], first, ...), Slice([short_sin | long_sin], first, ...)
    out = GroupQueryAttention<do_rotary = 1>(..., total, cos, sin)
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import last_dim, new, renewed, required
from workbench.types import MS_DOMAIN, ROTARY_OFFSET_KEY, OpId, Stage

GQA = OpId("GroupQueryAttention", MS_DOMAIN)
CONSTANT, SLICE = OpId("Constant"), OpId("Slice")
TOTAL, TABLES = 6, (7, 8)
"""Where GroupQueryAttention takes the tokens of the longest row, and cosines and sines."""
FAR = 2**31 - 1
"""A row behind the end of any table: Slice stops at the end."""


def rewrite(site: Site) -> Rewrite:
    """``Slice`` from 0 to ``N``, or from ``N`` to the end."""
    node = site.node
    text = node.metadata_props[ROTARY_OFFSET_KEY]
    if not text.isdecimal():
        raise Refusal(f"its metadata {ROTARY_OFFSET_KEY} is {text[:20]!r}, no number of rows", kind="unmatched")
    nodes, (first, last) = _rows(required(node, TOTAL), int(text))
    inputs = list(node.inputs)
    axis = _constant([0], np.int64)
    nodes.append(axis)
    for index in TABLES:
        table = required(node, index)
        cut = new(
            SLICE, [table, first, last, axis.outputs[0]], like=[(table.dtype or site.dtype, [None, last_dim(table)])]
        )  # fmt: skip
        nodes.append(cut)
        inputs[index] = cut.outputs[0]
    gqa = renewed(node, inputs)
    del gqa.metadata_props[ROTARY_OFFSET_KEY]
    return Rewrite([*nodes, gqa], dict(zip(node.outputs, gqa.outputs, strict=True)))


def _rows(total: ir.Value, offset: int) -> tuple[list[ir.Node], tuple[ir.Value, ir.Value]]:
    """The first row and the one behind the last, ``[1]`` each."""
    i64, where = ir.DataType.INT64, _constant([offset], np.int64)
    limit, far, one = _constant([offset], np.int32), _constant([FAR], np.int64), _constant([1], np.int64)
    single = new(OpId("Reshape"), [total, one.outputs[0]], like=[(ir.DataType.INT32, [1])])
    longer = new(OpId("Greater"), [single.outputs[0], limit.outputs[0]], like=[(ir.DataType.BOOL, [1])])
    number = new(OpId("Cast"), longer.outputs, like=[(i64, [1])], to=i64)
    first = new(OpId("Mul"), [number.outputs[0], where.outputs[0]], like=[(i64, [1])])
    more = new(OpId("Mul"), [number.outputs[0], far.outputs[0]], like=[(i64, [1])])
    last = new(OpId("Add"), [more.outputs[0], where.outputs[0]], like=[(i64, [1])])
    return [where, limit, far, one, single, longer, number, first, more, last], (first.outputs[0], last.outputs[0])


def _constant(numbers: list[int], dtype: type) -> ir.Node:
    tensor = ir.tensor(np.array(numbers, dtype))
    return new(CONSTANT, [], like=[(tensor.dtype, [len(numbers)])], value=tensor)


RULE = Rule(
    name="lower/one_rope_table",
    stage=Stage.LOWER,
    anchors=(GQA,),
    looks_at=lambda node: ROTARY_OFFSET_KEY in node.metadata_props,
    removes=frozenset({OpId(GQA.op_type, MS_DOMAIN, "two_tables")}),
    produces=frozenset({GQA, SLICE}),
    rewrite=rewrite,
    needs="the number of rows of the first table, in the node's metadata",
    pattern="out = com.microsoft.GroupQueryAttention(_, _, _, _, _, _, total, cos, sin)",
)

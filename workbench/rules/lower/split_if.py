"""LongRopeTable -> both tables in one, for attentions whose provider is told where the long one begins.

Nothing is chosen in the graph any more. The provider's kernel reads the rows behind ``original`` once a sequence holds
more tokens than that; the number goes to it as an option, and stays with the node as metadata.

Before::

    cos, sin = LongRopeTable<original>(positions, short_cos, long_cos), LongRopeTable<original>(positions, ...)
    out = GroupQueryAttention<do_rotary = 1>(..., cos, sin)

After::

    out = GroupQueryAttention<do_rotary = 1>(..., [short_cos[:original] | long_cos], [short_sin[:original] | long_sin])
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from workbench.functions import LONG_ROPE_TABLE
from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import attr, made_by, renewed, required, use_of, value_in
from workbench.types import MS_DOMAIN, ROTARY_OFFSET_KEY, OpId, Stage
from workbench.weights.lazy import derived

GQA = OpId("GroupQueryAttention", MS_DOMAIN)
TABLES = (7, 8)
"""Where GroupQueryAttention takes cosines and sines."""
COUNTS = (
    "the kernel counts slots where the model counts real tokens: it changes tables earlier in a batch that is padded "
    "beyond its longest row"
)


def rewrite(site: Site) -> Rewrite:
    """All attentions that read a table, with both of their tables."""
    node = site.node
    original = attr(node, "original", 0)
    nodes: list[ir.Node] = []
    replace: dict[ir.Value, ir.Value] = {}
    made: dict[ir.Node, ir.Value] = {}
    for reader in _readers(node):
        inputs = list(reader.inputs)
        for index in TABLES:
            table = made_by(reader.inputs[index], LONG_ROPE_TABLE)
            if table is None or (attr(table, "original", 0), table.inputs[0]) != (original, node.inputs[0]):
                raise Refusal("cosines and sines of an attention are chosen differently", kind="unmatched", at=reader)
            made[table] = made.get(table) or _joined(table, original)
            inputs[index] = made[table]
        gqa = renewed(reader, inputs)
        gqa.metadata_props[ROTARY_OFFSET_KEY] = str(original)
        nodes.append(gqa)
        replace |= dict(zip(reader.outputs, gqa.outputs, strict=True))
    return Rewrite(nodes, replace, left=[COUNTS], initializers=list(made.values()))


def _readers(node: ir.Node) -> list[ir.Node]:
    readers = list(dict.fromkeys(use.node for use in node.outputs[0].uses()))
    for reader in readers:
        if use_of(reader) != GQA or value_in(reader, TABLES[1]) is None or not attr(reader, "do_rotary", 0):
            raise Refusal(f"the table is read by {use_of(reader)}, which is not told where it begins", at=reader)
    if not readers or node.outputs[0].is_graph_output():
        raise Refusal("the table is an output of the graph, or nobody reads it", kind="unmatched")
    return readers


def _joined(table: ir.Node, original: int) -> ir.Value:
    """The rows of the short table that are ever used, and behind them the long table: a weight that is made lazily."""
    short, long = required(table, 1), required(table, 2)
    one, two = short.const_value, long.const_value
    fixed = short.is_initializer() and long.is_initializer() and not (short.is_graph_input() or long.is_graph_input())
    if one is None or two is None or not fixed or len(one.shape) != 2 or short.dtype is None:
        raise Refusal("the tables are not weights of known shape", kind="unmatched", at=table)
    rows, width = one.shape.numpy()
    if not 0 < original <= rows:
        raise Refusal(f"the short table has {rows} rows and the long one is to begin at {original}", at=table)
    name, shape = f"{short.name}+{long.name}", [original + two.shape.numpy()[0], width]
    tensor = derived(name, short.dtype, shape, lambda: np.concatenate([one.numpy()[:original], two.numpy()]))
    return ir.Value(name=name, shape=ir.Shape(shape), type=short.type, const_value=tensor)


RULE = Rule(
    name="lower/split_if",
    stage=Stage.LOWER,
    anchors=(LONG_ROPE_TABLE,),
    removes=frozenset({LONG_ROPE_TABLE}),
    produces=frozenset({OpId(GQA.op_type, MS_DOMAIN, "two_tables")}),
    rewrite=rewrite,
    needs="tables that are weights, read by attentions whose kernel is told where the long one begins",
    pattern="table = ep_workbench.LongRopeTable(positions, short!, long!)",
)

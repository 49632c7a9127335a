"""GroupQueryAttention with do_rotary -> two RotaryEmbedding and GroupQueryAttention without.

Before::

    out = GroupQueryAttention<do_rotary = 1>(query, key, value, ..., cos, sin)

After::

    rotated_query, rotated_key = RotaryEmbedding(query, position_ids, cos, sin), RotaryEmbedding(key, ...)
    out = GroupQueryAttention(rotated_query, rotated_key, value, ...)
"""

from __future__ import annotations

import onnx_ir as ir

from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import attr, attributes_of, last_dim, new, required, value_in
from workbench.types import MS_DOMAIN, ROTARY_OFFSET_KEY, OpId, Stage

GQA, MS_ROTARY = OpId("GroupQueryAttention", MS_DOMAIN), OpId("RotaryEmbedding", MS_DOMAIN)


def rewrite(site: Site) -> Rewrite:
    """Rotate outside, with the graph's own position_ids."""
    node = site.node
    if value_in(node, 1) is None:
        raise Refusal("query, key and value are packed; unpack them first", kind="unmatched")
    if value_in(node, 14) is not None:
        raise Refusal("it normalises query and key before it rotates them; take that out first", kind="unmatched")
    if ROTARY_OFFSET_KEY in node.metadata_props:
        raise Refusal("its tables are two in one; take one of them first", kind="unmatched")
    positions = _positions(site)
    cos, sin = required(node, 7), required(node, 8)
    width = last_dim(cos)
    if width is None:
        raise Refusal("the width of the RoPE tables is not known", kind="unmatched")
    inputs, nodes = list(node.inputs), []
    for index, heads in ((0, "num_heads"), (1, "kv_num_heads")):
        value = required(node, index)
        rope = new(
            MS_ROTARY, [value, positions, cos, sin], like=[value], num_heads=attr(node, heads, 0),
            interleaved=attr(node, "rotary_interleaved", 0), rotary_embedding_dim=2 * width,
        )  # fmt: skip
        nodes.append(rope)
        inputs[index] = rope.outputs[0]
    inputs[7:10] = [None] * len(inputs[7:10])
    gqa = new(GQA, inputs, like=node.outputs, **attributes_of(node, "do_rotary", "rotary_interleaved"))
    return Rewrite([*nodes, gqa], dict(zip(node.outputs, gqa.outputs, strict=True)))


def _positions(site: Site) -> ir.Value:
    given = value_in(site.node, 9)
    if given is not None:
        return given
    for value in site.model.graph.inputs:
        if value.name == "position_ids" and value.dtype == ir.DataType.INT64:
            return value
    raise Refusal("the graph has no int64 input position_ids from which to rotate outside", kind="unmatched")


def _rotates(node: ir.Node) -> bool:
    return bool(attr(node, "do_rotary", 0))


RULE = Rule(
    name="lower/separate_rope",
    stage=Stage.LOWER,
    anchors=(GQA,),
    looks_at=_rotates,
    removes=frozenset({OpId("GroupQueryAttention", MS_DOMAIN, "do_rotary")}),
    produces=frozenset({GQA, MS_ROTARY}),
    rewrite=rewrite,
    needs="unpacked inputs and position_ids",
    pattern="out = com.microsoft.GroupQueryAttention(query, key, value, _, _, _, _, cos, sin, positions?)",
)

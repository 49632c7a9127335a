"""GroupQueryAttention on packed QKV -> Split and GroupQueryAttention on three inputs.

Before::

    out = GroupQueryAttention(packed, -, -, ...)

After::

    query, key, value = Split(packed, sizes)
    out = GroupQueryAttention(query, key, value, ...)
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import attr, last_dim, new, renewed, required, value_in
from workbench.types import MS_DOMAIN, OpId, Stage

GQA, SPLIT, CONSTANT = OpId("GroupQueryAttention", MS_DOMAIN), OpId("Split"), OpId("Constant")


def rewrite(site: Site) -> Rewrite:
    """Cut the last axis into the query heads, the key heads and the value heads."""
    node, (nodes, apart) = site.node, unpacked(site)
    gqa = renewed(node, [*apart, *node.inputs[3:]])
    return Rewrite([*nodes, gqa], dict(zip(node.outputs, gqa.outputs, strict=True)))


def unpacked(site: Site) -> tuple[list[ir.Node], list[ir.Value]]:
    """The nodes that cut a packed input, and what they make of it.

    Raises:
        Refusal: nobody knows how wide a head is.
    """
    node = site.node
    packed = required(node, 0)
    heads, kv_heads = attr(node, "num_heads", 0), attr(node, "kv_num_heads", 0)
    size = _head_size(node, heads + 2 * kv_heads)
    widths = [heads * size, kv_heads * size, kv_heads * size]
    dtype = packed.dtype or required(node, 3).dtype or site.dtype
    leading = list(packed.shape[:-1]) if packed.shape is not None else [None, None]
    sizes = new(CONSTANT, [], like=[(ir.DataType.INT64, [3])], value=ir.tensor(np.array(widths, np.int64)))
    split = new(SPLIT, [packed, sizes.outputs[0]], like=[(dtype, [*leading, w]) for w in widths], axis=-1)
    return [sizes, split], list(split.outputs)


def _head_size(node: ir.Node, heads: int) -> int:
    """From the packed width; where nobody wrote that down, from the cache."""
    width, cached = last_dim(node.inputs[0]), last_dim(value_in(node, 3))
    if width is None and cached:
        return cached
    if not heads or width is None or width % heads:
        raise Refusal(f"{heads} query, key and value heads do not divide a packed width of {width}", kind="unmatched")
    return width // heads


def _is_packed(node: ir.Node) -> bool:
    return value_in(node, 1) is None and value_in(node, 2) is None


RULE = Rule(
    name="lower/unpack_qkv",
    stage=Stage.LOWER,
    anchors=(GQA,),
    looks_at=_is_packed,
    removes=frozenset({OpId("GroupQueryAttention", MS_DOMAIN, "packed_qkv")}),
    produces=frozenset({GQA, SPLIT}),
    rewrite=rewrite,
    needs="a packed width that the heads divide",
    pattern="out = com.microsoft.GroupQueryAttention(packed, -, -, _)",
)

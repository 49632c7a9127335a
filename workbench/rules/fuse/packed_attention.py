"""MultiHeadAttention(x @ Wq + bq, x @ Wk + bk, x @ Wv + bv) -> Attention of com.microsoft on x and one weight.

The packed weight is a Concat of initializers, which the fold stage turns into one, read lazily.

Before::

    out = MultiHeadAttention(MatMul(x, Wq) + bq, MatMul(x, Wk) + bk, MatMul(x, Wv) + bv, -, padding)

After::

    out = com.microsoft.Attention(x, Concat(Wq, Wk, Wv), Concat(bq, bk, bv), padding)
"""

from __future__ import annotations

import onnx_ir as ir

from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.fuse.pack_qkv import CONCAT, TRANSPOSE, projections
from workbench.rules.graph import attr, last_dim, new, value_in
from workbench.types import MS_DOMAIN, SCOPE_KEY, OpId, Role, Stage

MHA, PACKED = OpId("MultiHeadAttention", MS_DOMAIN), OpId("Attention", MS_DOMAIN)


def rewrite(site: Site) -> Rewrite:
    """One weight for three projections of one input; the mask and the bias of the scores go along."""
    node = site.node
    if any(value_in(node, index) is not None for index in (3, 6, 7)):
        raise Refusal("it has a bias of its own or a cache", kind="unmatched")
    padding, more = value_in(node, 4), value_in(node, 5)
    for name, value in (("mask", padding), ("attention_bias", more)):
        if value is not None and name not in site.allows:
            raise Refusal(f"the kernel does not take the {name} of this attention", kind="fact")
    found = projections(node)
    if found[0].bias is None:
        raise Refusal("query, key and value have no bias, and the kernel wants one")
    widths = {p.width for p in found}
    if len(widths) > 1:
        raise Refusal(f"query, key and value are of different widths ({', '.join(map(str, sorted(widths)))})")
    turned, rows, width = found[0].turned, sum(p.width for p in found), last_dim(found[0].x)
    dtype = found[0].weight.dtype or site.dtype
    joined = [rows, width] if turned else [width, rows]
    weight = new(CONCAT, [p.weight for p in found], like=[(dtype, joined)], axis=0 if turned else 1)
    made = [weight]
    if turned:
        made.append(new(TRANSPOSE, weight.outputs, like=[(dtype, [width, rows])], perm=[1, 0]))
    bias = new(CONCAT, [p.bias for p in found], like=[(dtype, [rows])], axis=0)
    fused = new(
        PACKED, [found[0].x, made[-1].outputs[0], bias.outputs[0], padding, None, more], like=[node.outputs[0]],
        num_heads=attr(node, "num_heads", 0), scale=float(attr(node, "scale", 0.0)),
    )  # fmt: skip
    return Rewrite([*_scoped(node, [*made, bias]), fused], {node.outputs[0]: fused.outputs[0]})


def _scoped(node: ir.Node, made: list[ir.Node]) -> list[ir.Node]:
    for new_node in made:
        new_node.metadata_props[SCOPE_KEY] = f"{node.metadata_props.get(SCOPE_KEY) or node.name or ''}.qkv_proj"
    return made


RULE = Rule(
    name="fuse/packed_attention",
    stage=Stage.FUSE,
    anchors=(MHA,),
    removes=frozenset(),
    produces=frozenset({PACKED}),
    optional=frozenset(OpId(PACKED.op_type, MS_DOMAIN, name) for name in ("mask", "attention_bias")),
    rewrite=rewrite,
    roles=frozenset({Role.ENCODER, Role.VISION}),
    after=("fuse/mha",),
    needs="three projections of one input and one width, each with a bias",
    pattern="""
? query_weight = Transpose(query_stored!)
query_product = MatMul(x, query_weight)
query = Add(query_product, query_bias!)
? key_weight = Transpose(key_stored!)
key_product = MatMul(x, key_weight)
key = Add(key_product, key_bias!)
? value_weight = Transpose(value_stored!)
value_product = MatMul(x, value_weight)
value = Add(value_product, value_bias!)
out = com.microsoft.MultiHeadAttention(query, key, value)
""",
)

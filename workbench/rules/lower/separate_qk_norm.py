"""GroupQueryAttention that normalises query and key -> norms before it and GroupQueryAttention without.

Where query, key and value come as one, they are cut apart first: the norm has to stand between.

Before::

    out = GroupQueryAttention(query, key, value, ..., q_norm_weight, k_norm_weight)

After::

    normal_query = Reshape(RMSNormalization(Reshape(query, [0, 0, H, D]), q_norm_weight), [0, 0, H*D])    # key likewise
    out = GroupQueryAttention(normal_query, normal_key, value, ...)
"""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import attr, last_dim, new, opset, renewed, required, value_in
from workbench.rules.lower.unpack_qkv import unpacked
from workbench.types import MS_DOMAIN, OpId, Stage

GQA, RESHAPE, CONSTANT = OpId("GroupQueryAttention", MS_DOMAIN), OpId("Reshape"), OpId("Constant")
RMS_NORM, SIMPLIFIED = OpId("RMSNormalization"), OpId("SimplifiedLayerNormalization")
SINCE = 23
"""The first version of the standard with RMSNormalization; ONNX Runtime's own operator stands for it before."""
WEIGHTS = (14, 15)
"""Where GroupQueryAttention takes the weights of the norms of query and key."""
EPSILON = 1e-6
"""The kernel's, where the node writes none."""
ATTRIBUTES = ("qk_norm_epsilon", "q_norm_epsilon", "k_norm_epsilon")


def rewrite(site: Site) -> Rewrite:
    """Normalise outside, with the kernel's weights and epsilon."""
    node, nodes = site.node, []
    inputs = list(node.inputs)
    if value_in(node, 1) is None:
        cut, apart = unpacked(site)
        nodes, inputs[:3] = list(cut), apart
    shared = float(attr(node, "qk_norm_epsilon", EPSILON))
    for index, word in ((0, "q"), (1, "k")):
        heads = attr(node, "num_heads" if word == "q" else "kv_num_heads", 0)
        epsilon = float(attr(node, f"{word}_norm_epsilon", shared))
        x, weight = inputs[index], required(node, WEIGHTS[index])
        if x is None:
            raise Refusal("only one of key and value is given", kind="unmatched")
        made = _normal(site, x, weight, heads, epsilon)
        nodes += made
        inputs[index] = made[-1].outputs[0]
    inputs[WEIGHTS[0]] = inputs[WEIGHTS[1]] = None
    gqa = renewed(node, inputs, *ATTRIBUTES)
    return Rewrite([*nodes, gqa], dict(zip(node.outputs, gqa.outputs, strict=True)))


def _normal(site: Site, x: ir.Value, weight: ir.Value, heads: int, epsilon: float) -> list[ir.Node]:
    """The norm of each head of ``x [B, S, H*D]``, and what gives it its shape before and after."""
    size, dtype = last_dim(weight), x.dtype or site.dtype
    if not heads or not size:
        raise Refusal("number or size of heads is not known", kind="unmatched")
    leading = list(x.shape[:-1]) if x.shape is not None else [None, None]
    by_head, joined = _sizes(0, 0, heads, size), _sizes(0, 0, heads * size)
    split = new(RESHAPE, [x, by_head.outputs[0]], like=[(dtype, [*leading, heads, size])])
    use = RMS_NORM if opset(site.model) >= SINCE else SIMPLIFIED
    norm = new(
        use, [split.outputs[0], weight], like=[(dtype, [*leading, heads, size])], axis=-1, epsilon=epsilon,
        stash_type=1,
    )  # fmt: skip
    whole = new(RESHAPE, [norm.outputs[0], joined.outputs[0]], like=[(dtype, [*leading, heads * size])])
    return [by_head, joined, split, norm, whole]


def _sizes(*sizes: int) -> ir.Node:
    value = ir.tensor(np.array(sizes, np.int64))
    return new(CONSTANT, [], like=[(ir.DataType.INT64, [len(sizes)])], value=value)


FEATURES = ("qk_norm", "packed_qk_norm", "unrotated_qk_norm")

RULE = Rule(
    name="lower/separate_qk_norm",
    stage=Stage.LOWER,
    anchors=(GQA,),
    looks_at=lambda node: value_in(node, WEIGHTS[0]) is not None,
    removes=frozenset(OpId(GQA.op_type, MS_DOMAIN, name) for name in FEATURES),
    produces=frozenset({GQA}),  # a norm that the provider does not run is lowered by the rules for norms
    rewrite=rewrite,
    needs="heads of a known size",
    pattern="out = com.microsoft.GroupQueryAttention(query, key?, value?)",
)

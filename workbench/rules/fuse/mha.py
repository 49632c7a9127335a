"""Attention(query, key, value, PaddingMask(...)) without a cache -> MultiHeadAttention.

The kernel takes which keys are real, or a bias. A token of padding then sees the real tokens instead of all of them:
what it computes is never read.

Before::

    mask = PaddingMask(attention_mask)                  # may be absent, or a float bias
    out = Attention(query, key, value, mask)

After::

    out = MultiHeadAttention(query, key, value, -, Cast(attention_mask))    # or MaskBias(mask) as the bias
"""

from __future__ import annotations

import onnx_ir as ir

from workbench.functions import MASK_BIAS, PADDING_MASK
from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.fuse.gqa import LOWEST
from workbench.rules.graph import attr, last_dim, made_by, new, outputs_used, rank, required, use_of, value_in
from workbench.types import MS_DOMAIN, OpId, Role, Stage

MHA, ATTENTION, CAST = OpId("MultiHeadAttention", MS_DOMAIN), OpId("Attention"), OpId("Cast")
OPTIONAL = ("key_padding_mask", "attention_bias")
Mask = tuple[ir.Value | None, ir.Value | None, list[ir.Node], list[tuple[OpId, str]]]
"""Real keys, bias, the nodes that make them and the functions of these."""


def rewrite(site: Site) -> Rewrite:
    """Refuse what the kernel would compute differently; carry the mask in the form that it takes."""
    node = site.node
    heads = _check(node)
    padding, bias, made, functions = _mask(site, value_in(node, 3))
    scale = float(attr(node, "scale", 0.0)) or _size(node, heads) ** -0.5
    inputs = [*(required(node, i) for i in range(3)), None, padding, bias]
    fused = new(MHA, inputs, like=[node.outputs[0]], num_heads=heads, scale=scale)
    return Rewrite([*made, fused], {node.outputs[0]: fused.outputs[0]}, functions)


def _check(node: ir.Node) -> int:
    heads, kv_heads = attr(node, "q_num_heads", 0), attr(node, "kv_num_heads", 0)
    if heads != kv_heads:
        raise Refusal(f"{heads} query heads share {kv_heads} key heads, and the kernel has one for each")
    if any(rank(value) != 3 for value in node.inputs[:3]) or not heads:
        raise Refusal("query, key and value are not [B, S, H*D]", kind="unmatched", at=node.inputs[0])
    if attr(node, "softcap", 0.0):
        raise Refusal("scores are capped, which the kernel does not do")
    if attr(node, "is_causal", 0):
        raise Refusal("it is causal, and no encoder of ours is: only what every token may see is fused")
    if attr(node, "softmax_precision", 0) not in (0, ir.DataType.FLOAT):
        raise Refusal("softmax_precision is not float32, in which the kernel computes")
    if value_in(node, 6) is not None or any(outputs_used(node, i) for i in (1, 2, 3)):
        raise Refusal("somebody reads keys, values or scores, or the lengths of keys are given")
    return int(heads)


def _size(node: ir.Node, heads: int) -> float:
    width = last_dim(node.inputs[0])
    if width is None:
        raise Refusal("the size of a head is not known", kind="unmatched", at=node.inputs[0])
    return float(width // heads)


def _mask(site: Site, mask: ir.Value | None) -> Mask:
    if mask is None:
        return None, None, [], []
    if mask.dtype is not None and mask.dtype.is_floating_point():
        return _float(site, mask)
    padding = made_by(mask, PADDING_MASK)
    if padding is None:
        maker = mask.producer()
        name = use_of(maker).op_type if maker else "a graph input"
        raise Refusal(f"attn_mask is made by {name}, not by PaddingMask", kind="unmatched", at=maker or mask)
    if "key_padding_mask" in site.allows:
        given = required(padding, 0)
        shape = list(given.shape) if given.shape is not None else [None, None]
        real = new(CAST, [given], like=[(ir.DataType.INT32, shape)], to=ir.DataType.INT32)
        return real.outputs[0], None, [real], []
    if "attention_bias" not in site.allows:
        raise Refusal("the kernel takes neither the keys' padding nor a bias", kind="fact")
    dtype = required(site.node, 0).dtype or site.dtype
    shape = list(mask.shape) if mask.shape is not None else [None] * 4
    lowest = LOWEST.get(dtype, -65504.0)
    bias = new(MASK_BIAS, [mask], like=[(dtype, shape)], lowest=lowest, dtype=int(dtype))
    return None, bias.outputs[0], [bias], [(MASK_BIAS, "")]


def _float(site: Site, mask: ir.Value) -> Mask:
    """A bias is added to the scores by both; the kernel wants it with four axes."""
    if "attention_bias" not in site.allows:
        raise Refusal("a bias is added to the scores, which the kernel does not take", kind="fact", at=mask)
    if rank(mask) != 4:
        raise Refusal("the bias is not [B, H, S, T]", kind="unmatched", at=mask)
    return None, mask, [], []


def _without_cache(node: ir.Node) -> bool:
    return value_in(node, 4) is None and value_in(node, 5) is None


RULE = Rule(
    name="fuse/mha",
    stage=Stage.FUSE,
    anchors=(ATTENTION,),
    looks_at=_without_cache,
    removes=frozenset({ATTENTION}),
    produces=frozenset({MHA}),
    optional=frozenset(OpId(MHA.op_type, MS_DOMAIN, feature) for feature in OPTIONAL),
    rewrite=rewrite,
    roles=frozenset({Role.ENCODER, Role.VISION}),
    needs="no cache, a key head for each query head, padding or a bias for a mask",
    pattern="""
? mask = ep_workbench.PaddingMask(attention_mask)
out = Attention(query, key, value, mask?)
""",
)

"""com.microsoft operators -> what they compute in standard ones, where a provider has no kernel for them.

Graphs that were fused for one provider come to another this way. Of an attention the portable form keeps one call of a
function of ours, whose body is the reference for the operator.

Before::

    out = com.microsoft.BiasGelu | MultiHeadAttention | RotaryEmbedding ... (x, ...)

After::

    out = Gelu(Add(x, bias))    # the nodes of the operator's body
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from workbench.functions.contrib import attention, moe
from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import attr, last_dim, opset, rank, required, use_of, value_in
from workbench.rules.inline import stand_in
from workbench.types import MS_DOMAIN, OpId, Stage

PACKED, MOE = OpId("Attention", MS_DOMAIN), OpId("MoE", MS_DOMAIN)
MHA, ROTARY = OpId("MultiHeadAttention", MS_DOMAIN), OpId("RotaryEmbedding", MS_DOMAIN)
GELU, BIAS_GELU, FAST_GELU = (OpId(name, MS_DOMAIN) for name in ("Gelu", "BiasGelu", "FastGelu"))
SINCE = {GELU: 20, ROTARY: 23, MHA: 18}
"""The first versions of the standard that have what the bodies hold."""
STANDARD = ("MatMul", "Softmax", "Where", "Add", "RotaryEmbedding", "Gelu", "TopK", "ScatterElements", "CumSum")


def rewrite(site: Site) -> Rewrite:
    """The variant of the body that the node asks for; a refusal where nobody has written that down."""
    return _REWRITES[use_of(site.node)](site)


def _mha(site: Site) -> Rewrite:
    node = site.node
    given = [name for name, index in attention.INPUTS.items() if value_in(node, index) is not None]
    if any(value_in(node, index) is not None for index in (6, 7, 8, 9)) or attr(node, "unidirectional", 0):
        raise Refusal("it has a cache or looks back only, and no body is written for that")
    if not {"query", "key", "value"} <= set(given) or rank(value_in(node, 0)) != 3:
        raise Refusal("query, key and value are not three inputs of three axes", kind="unmatched")
    if "key_padding_mask" in given and rank(value_in(node, 4)) != 2:
        raise Refusal("key_padding_mask is not [B, T]", kind="unmatched")
    features = [name for name in attention.FEATURES if name in given]
    heads, width = attr(node, "num_heads", 0), last_dim(node.inputs[0])
    if not heads or not width:
        raise Refusal("number or size of heads is not known", kind="unmatched")
    scale = float(attr(node, "scale", 0.0)) or float(width // heads) ** -0.5
    inputs = [required(node, attention.INPUTS[name]) for name in attention.inputs(frozenset(features))]
    return _whole(site, features, inputs, {"num_heads": heads, "scale": scale})


def _packed(site: Site) -> Rewrite:
    node = site.node
    if value_in(node, 4) is not None or any(attr(node, name, 0) for name in ("unidirectional", "do_rotary")):
        raise Refusal("it has a cache, looks back only or rotates, and no body is written for that")
    given = [name for name, index in attention.PACKED_INPUTS.items() if value_in(node, index) is not None]
    if attr(node, "qkv_hidden_sizes", None) or "bias" not in given:
        raise Refusal("widths differ or there is no bias, and no body is written for that")
    if "mask_index" in given and rank(value_in(node, 3)) != 2:
        raise Refusal("mask_index is not [B, T]", kind="unmatched")
    heads, width = attr(node, "num_heads", 0), last_dim(value_in(node, 1))
    if not heads or not width:
        raise Refusal("number or size of heads is not known", kind="unmatched")
    features = [name for name in attention.PACKED_FEATURES if {"mask": "mask_index"}.get(name, name) in given]
    scale = float(attr(node, "scale", 0.0)) or float(width // 3 // heads) ** -0.5
    inputs = [required(node, attention.PACKED_INPUTS[name]) for name in attention.packed_inputs(frozenset(features))]
    return _whole(site, features, inputs, {"num_heads": heads, "scale": scale})


def _moe(site: Site) -> Rewrite:
    node = site.node
    if attr(node, "activation_type", "relu") != "swiglu" or attr(node, "swiglu_fusion", 0) != 1:
        raise Refusal("only experts with SwiGLU whose rows of gate and up stand in turn have a body")
    if value_in(node, 6) is not None or attr(node, "use_sparse_mixer", 0) or np.isfinite(_limit(node)):
        raise Refusal("it has a third weight, a limit or a sparse mixer, and no body is written for that")
    given = {name for name, index in moe.INPUTS.items() if value_in(node, index) is not None}
    normalised = ["normalised"] if attr(node, "normalize_routing_weights", 0) else []
    features = [*normalised, *["three_axes"] * (rank(value_in(node, 0)) == 3)]
    features += [name for name in moe.FEATURES if name in given]
    inputs = [required(node, moe.INPUTS[name]) for name in moe.inputs(frozenset(features))]
    alpha, beta = (float(attr(node, f"activation_{word}", start)) for word, start in (("alpha", 1.0), ("beta", 0.0)))
    width, axes = last_dim(value_in(node, 0)), rank(value_in(node, 0))
    if width is None or axes not in (2, 3):
        raise Refusal("the shape of its input is not known", kind="unmatched")
    words = {"k": attr(node, "k", 1), "width": width, "alpha": alpha, "beta": beta}
    return _whole(site, features, inputs, words)


def _limit(node: ir.Node) -> float:
    return float(attr(node, "swiglu_limit", np.inf))


def _rotary(site: Site) -> Rewrite:
    node = site.node
    if rank(value_in(node, 1)) != 2 or attr(node, "is_packed_batching", 0) or attr(node, "scale", 1.0) != 1.0:
        raise Refusal("positions are not [B, S], or it is packed or scaled", kind="unmatched")
    heads, apart = attr(node, "num_heads", 0), rank(value_in(node, 0))
    if apart not in (3, 4):
        raise Refusal("its input has neither three axes nor four", kind="unmatched")
    if apart == 3 and not heads:
        heads = _heads_of(node)
    inputs, interleaved = [required(node, i) for i in range(4)], attr(node, "interleaved", 0)
    if opset(site.model) >= SINCE[ROTARY]:
        dim = attr(node, "rotary_embedding_dim", 0)
        given = {"interleaved": interleaved, "rotary_embedding_dim": dim, "num_heads": heads}
        return _call(site, [], inputs, given)
    features = ["spelled", *["interleaved"] * bool(interleaved), *["three_axes"] * (apart == 3)]
    return _call(site, features, inputs, {"num_heads": heads})


def _heads_of(node: ir.Node) -> int:
    """The kernel takes heads to be as wide as the tables are, twice, where nobody says otherwise."""
    width, table = last_dim(node.inputs[0]), last_dim(value_in(node, 2))
    if not width or not table:
        raise Refusal("the number of heads is not known", kind="unmatched")
    return width // (2 * table)


def _simple(site: Site) -> Rewrite:
    if opset(site.model) < SINCE[GELU]:
        raise Refusal(f"the graph is of opset {opset(site.model)}, and the standard has Gelu from {SINCE[GELU]} on")
    bias = value_in(site.node, 1)
    features = ["bias"] if bias is not None and use_of(site.node) == FAST_GELU else []
    known = 2 if features or use_of(site.node) == BIAS_GELU else 1
    if len(site.node.inputs) > known:
        raise Refusal(f"it has {len(site.node.inputs)} inputs, and the operator {known}", kind="unmatched")
    return _call(site, features, [required(site.node, index) for index in range(known)], {})


def _whole(site: Site, features: Sequence[str], inputs: Sequence[ir.Value], attributes: Mapping[str, Any]) -> Rewrite:
    if opset(site.model) < SINCE[MHA]:
        raise Refusal(f"the graph is of opset {opset(site.model)}, and the body is written for {SINCE[MHA]} and later")
    return _call(site, features, inputs, attributes, inline=site.inline)


def _call(
    site: Site,
    features: Sequence[str],
    inputs: Sequence[ir.Value],
    attributes: Mapping[str, Any],
    *,
    inline: bool = True,
) -> Rewrite:
    """A body of one or two nodes is written out whatever the form."""
    out = site.node.outputs[0]
    return stand_in(site, features, inputs, attributes, [out], [out], inline=inline)


_REWRITES: Mapping[OpId, Callable[[Site], Rewrite]] = {
    MHA: _mha, PACKED: _packed, MOE: _moe, ROTARY: _rotary, GELU: _simple, BIAS_GELU: _simple, FAST_GELU: _simple,
}  # fmt: skip

_LOWERED = {
    OpId(op.op_type, MS_DOMAIN, name)
    for op, features in ((MHA, attention.FEATURES), (PACKED, attention.PACKED_FEATURES))
    for name in features
}

RULE = Rule(
    name="lower/ms_to_standard",
    stage=Stage.LOWER,
    anchors=tuple(_REWRITES),
    removes=frozenset({*_REWRITES, *_LOWERED}),
    produces=frozenset(OpId(name) for name in STANDARD),
    rewrite=rewrite,
    needs="a variant that a body is written for: no cache of MultiHeadAttention, positions of each token",
    pattern=f"out = {' | '.join(str(use) for use in _REWRITES)}(x)",
)

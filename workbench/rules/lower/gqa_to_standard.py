"""GroupQueryAttention -> what it computes in standard operators, where a provider has no kernel for it.

The portable form keeps one call of a function of ours, whose body is the reference for the operator; the others get the
nodes of the body. No function and no kernel of the standard is needed: the new keys are put among the old by a gather.

Before::

    out, keys, values = com.microsoft.GroupQueryAttention(query, key, value, past_key, past_value, lengths, total, ...)

After::

    out, keys, values = ep_workbench.GroupQueryAttention:cache.do_rotary(query, key, value, ...)    # or its nodes
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import onnx_ir as ir

from workbench.functions.contrib import gqa
from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.features import FEATURES
from workbench.rules.graph import attr, last_dim, opset, outputs_used, required, value_in
from workbench.rules.inline import stand_in
from workbench.types import MS_DOMAIN, ROTARY_OFFSET_KEY, OpId, Stage

GQA = OpId("GroupQueryAttention", MS_DOMAIN)
STANDARD = ("MatMul", "Softmax", "Where", "GatherElements", "Expand", "Range", "ReduceMean", "Tanh")
SHAPE = OpId("Shape", "", "shape")
"""Not produced where it must not remain: lengths are counted then."""
SINCE = 18
"""The first version of the standard in which reductions take axes as inputs, as the bodies give them."""
LOWERED = (
    "do_rotary", "packed_qkv", "local_window", "attention_bias", "qk_norm", "packed_qk_norm", "unrotated_qk_norm",
    "head_sink", "smooth_softmax", "softcap",
)  # fmt: skip
"""A kernel without one of these is replaced as a whole."""


def rewrite(site: Site) -> Rewrite:
    """The variant of the body that the node asks for; a refusal where nobody has written that down."""
    node = site.node
    _check(node)
    if opset(site.model) < SINCE:
        raise Refusal(f"the graph is of opset {opset(site.model)}, and the body is written for {SINCE} and later")
    features = [name for name, asks in _FEATURES.items() if asks(node)]
    features += [] if SHAPE.feature in site.allows else ["without_shape"]
    size = _head_size(node, "packed_qkv" in features)
    given: dict[str, Any] = {
        "num_heads": attr(node, "num_heads", 0), "kv_num_heads": attr(node, "kv_num_heads", 0),
        "scale": float(attr(node, "scale", 0.0)) or float(size) ** -0.5, "softcap": float(attr(node, "softcap", 0.0)),
        "local_window_size": attr(node, "local_window_size", -1),
        "qk_norm_epsilon": float(attr(node, "qk_norm_epsilon", 1e-6)), "head_size": size,
        "rotary_half": last_dim(value_in(node, 7)),
    }  # fmt: skip
    if None in given.values() and {"without_shape", "do_rotary"} <= set(features):
        raise Refusal("the width of the RoPE tables is not known", kind="unmatched")
    kept = [name.split(":")[0] for name in gqa.attributes(frozenset(features))]
    inputs = [required(node, gqa.INPUTS[name]) for name in gqa.inputs(frozenset(features))]
    outputs = list(node.outputs[:3])
    like: list[Any] = [*outputs, *[None] * (3 - len(outputs))]
    chosen = {name: given[name] for name in kept}
    return stand_in(site, features, inputs, chosen, like, outputs, inline=site.inline)


def _check(node: ir.Node) -> None:
    if ROTARY_OFFSET_KEY in node.metadata_props:
        raise Refusal("its RoPE tables are two in one, and no body is written for that", kind="unmatched")
    if value_in(node, 9) is not None:
        raise Refusal("position_ids are given to the kernel, which reads them differently for a prompt and after it")
    if value_in(node, 12) is not None or value_in(node, 13) is not None:
        raise Refusal("the cache is quantized, and no body is written for that")
    if (value_in(node, 3) is None) != (value_in(node, 4) is None):
        raise Refusal("only one of past_key and past_value is given", kind="unmatched")
    if not attr(node, "causal", 1) or attr(node, "sliding_window_cache", 0):
        raise Refusal("it is not causal, or its cache holds a window only; no body is written for that")
    if outputs_used(node, 3):
        raise Refusal("somebody reads the attention scores (output 3), which the body does not give")


def _head_size(node: ir.Node, packed: bool) -> int:
    heads, kv_heads = attr(node, "num_heads", 0), attr(node, "kv_num_heads", 0)
    cached, width = last_dim(value_in(node, 3)), last_dim(value_in(node, 0))
    heads += 2 * kv_heads if packed else 0
    size = cached or (width // heads if width and heads else None)
    if size is None:
        raise Refusal("the size of a head is not known", kind="unmatched")
    return size


_FEATURES: Mapping[str, Callable[[ir.Node], bool]] = {
    **{name: asks for name, asks in FEATURES[GQA].items() if name in gqa.FEATURES},
    "cache": lambda node: value_in(node, 3) is not None,
    "interleaved": lambda node: bool(attr(node, "do_rotary", 0) and attr(node, "rotary_interleaved", 0)),
}


RULE = Rule(
    name="lower/gqa_to_standard",
    stage=Stage.LOWER,
    anchors=(GQA,),
    removes=frozenset({GQA, *(OpId(GQA.op_type, MS_DOMAIN, name) for name in LOWERED)}),
    produces=frozenset(OpId(name) for name in STANDARD),
    optional=frozenset({SHAPE}),
    rewrite=rewrite,
    needs="causal, a whole cache or none, not quantized, no positions given to the kernel",
    pattern="out = com.microsoft.GroupQueryAttention(query, key?, value?, past_key?, past_value?, lengths, total)",
)

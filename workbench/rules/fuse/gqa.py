"""Attention(rope(query), rope(key), value, CausalMask(...), past) -> GroupQueryAttention.

Before::

    mask = CausalMask | SlidingWindowMask(attention_mask, positions)
    rotated_query, rotated_key = RotaryEmbedding(query, cos, sin, positions), ...   # may be absent
    out, keys, values = Attention(rotated_query, rotated_key, value, mask, past_key, past_value)

After::

    lengths, total = KeyLengths(attention_mask)
    out, keys, values = GroupQueryAttention(query, key, value, past_key, past_value, lengths, total, cos, sin)
"""

from __future__ import annotations

import dataclasses
from typing import Any

import onnx_ir as ir

from workbench.functions import (
    CAUSAL_MASK,
    DYNAMIC_ROPE_TABLES,
    FIXED_CACHE_ATTENTION,
    KEY_LENGTHS,
    MASK_BIAS,
    SLIDING_WINDOW_MASK,
    SLOT_LENGTHS,
)
from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import attr, last_dim, made_by, new, outputs_used, rank, required, use_of, value_in
from workbench.types import MS_DOMAIN, OpId, Role, Stage

GQA, ATTENTION = OpId("GroupQueryAttention", MS_DOMAIN), OpId("Attention")
ROTARY, CAST, RMS_NORM = OpId("RotaryEmbedding"), OpId("Cast"), OpId("RMSNormalization")
THROUGH = (RMS_NORM, OpId("Reshape"), OpId("Transpose"), OpId("Mul"), OpId("LayerNormalization"))
"""What may stand between RoPE and Attention in models that normalise afterwards."""
LOWEST = {ir.DataType.FLOAT: -3.0e38, ir.DataType.FLOAT16: -65504.0, ir.DataType.BFLOAT16: -3.0e38}
HEAD_MULTIPLE = 8
"""The kernel refuses heads of any other size, on every provider (onnxruntime 1.32, its shared check of inputs)."""
TABLE_MULTIPLE = 8
"""The kernel wants the width of its RoPE tables to be a multiple of this (onnxruntime 1.32, measured)."""


@dataclasses.dataclass(frozen=True)
class _Rope:
    """RoPE taken into the attention: what is rotated, the tables, and the layout of pairs."""

    query: ir.Value
    key: ir.Value
    cos: ir.Value
    sin: ir.Value
    interleaved: int


def rewrite(site: Site) -> Rewrite:
    """Refuse what the kernel would compute differently, then carry everything else."""
    node = site.node
    mask = _semantic_mask(node)
    _check_form(node)
    rope, why_not = _rope(site, node, required(mask, 1))
    query, key = (rope.query, rope.key) if rope else (required(node, 0), required(node, 1))
    lengths, bias, functions, made = _padding(site, mask, required(node, 4))
    inputs: list[ir.Value | None] = [query, key, required(node, 2), required(node, 4), required(node, 5), *lengths]
    inputs += [rope.cos, rope.sin] if rope else [None, None]
    gqa = new(GQA, [*inputs, None, bias], like=node.outputs[:3], **_attributes(site, mask, rope))
    left = [] if rope or why_not is None else [f"RoPE stays outside: {why_not}"]
    return Rewrite([*made, gqa], dict(zip(node.outputs[:3], gqa.outputs, strict=True)), functions, left)


def _semantic_mask(node: ir.Node) -> ir.Node:
    value = value_in(node, 3)
    if value is None:
        raise Refusal("attention has no mask from which the rows' lengths could be taken", kind="unmatched")
    mask = made_by(value, CAUSAL_MASK, SLIDING_WINDOW_MASK)
    if mask is not None:
        return mask
    maker = value.producer()
    name = use_of(maker).op_type if maker else "a graph input"
    if value.dtype is not None and value.dtype.is_floating_point():
        raise Refusal(
            f"attn_mask is a float bias added to the scores (made by {name}), as in ALiBi or relative positions; "
            "GroupQueryAttention's causal mask would drop it",
            at=maker or value,
        )
    reason = f"attn_mask is made by {name}, not by CausalMask or SlidingWindowMask"
    raise Refusal(reason, kind="unmatched", at=maker or value)


def _check_form(node: ir.Node) -> None:
    if value_in(node, 4) is None or value_in(node, 5) is None:
        raise Refusal("attention has no key/value cache")
    if value_in(node, 6) is not None:
        raise Refusal("nonpad_kv_seqlen is given beside a mask", kind="unmatched", at=node.inputs[6])
    if rank(node.inputs[0]) != 3:
        raise Refusal("query is not [B, S, H*D]", kind="unmatched", at=node.inputs[0])
    if outputs_used(node, 3):
        reason = "somebody reads the attention scores (output 3), which the kernel does not give"
        raise Refusal(reason, at=node.outputs[3])
    if attr(node, "is_causal", 0):
        raise Refusal("is_causal is set beside a mask", kind="unmatched")
    if attr(node, "softmax_precision", 0) not in (0, ir.DataType.FLOAT):
        raise Refusal("softmax_precision is not float32, in which the kernel computes")
    key_size, value_size = last_dim(node.inputs[4]), last_dim(node.inputs[5])
    if key_size != value_size:
        raise Refusal(f"key and value heads differ in size ({key_size} and {value_size})")
    if isinstance(key_size, int) and key_size % HEAD_MULTIPLE:
        raise Refusal(f"heads hold {key_size} numbers and the kernel needs a multiple of {HEAD_MULTIPLE}")


def _attributes(site: Site, mask: ir.Node, rope: _Rope | None) -> dict[str, Any]:
    node = site.node
    heads, kv_heads = attr(node, "q_num_heads", 0), attr(node, "kv_num_heads", 0)
    found: dict[str, Any] = {"num_heads": heads, "kv_num_heads": kv_heads, "scale": float(attr(node, "scale", 0.0))}
    softcap = float(attr(node, "softcap", 0.0))
    if softcap:
        _needs(site, "softcap", f"the kernel does not apply softcap ({softcap:g})")
        found["softcap"] = softcap
    window = attr(mask, "window", 0)
    if window and site.padding == "right":  # otherwise the bias holds the window
        _needs(site, "local_window", f"the kernel has no sliding window ({window} tokens)")
        found["local_window_size"] = window
    return found | ({"do_rotary": 1, "rotary_interleaved": rope.interleaved} if rope else {})


def _needs(site: Site, feature: str, reason: str) -> None:
    if feature not in site.allows:
        raise Refusal(reason, kind="fact")


def _rope(site: Site, node: ir.Node, positions: ir.Value) -> tuple[_Rope | None, str | None]:
    """RoPE to take in, or why it stays outside (None: there is none)."""
    query, key = made_by(node.inputs[0], ROTARY), made_by(node.inputs[1], ROTARY)
    if query is None or key is None:
        _refuse_norm_after_rope(node)
        return None, "only one of query and key is rotated" if query or key else None
    if "do_rotary" not in site.allows:
        return None, "the kernel does not rotate"
    if site.padding == "any":  # inside the kernel RoPE counts slots or real tokens, never either by row
        return None, "padding='any' needs the positions as an input"
    why_not = _differs(query, key, positions)
    if why_not:
        return None, why_not
    cos, sin = required(query, 1), required(query, 2)
    rope = _Rope(required(query, 0), required(key, 0), cos, sin, attr(query, "interleaved", 0))
    return rope, None


def _differs(query: ir.Node, key: ir.Node, positions: ir.Value) -> str:
    if list(query.inputs[1:4]) != list(key.inputs[1:4]):
        return "query and key use different tables or positions"
    at = value_in(query, 3)
    cast = made_by(at, CAST)
    if positions not in (at, cast.inputs[0] if cast else None):
        return "its positions are not those that the mask is made from"
    if attr(query, "interleaved", 0) != attr(key, "interleaved", 0):
        return "query and key differ in how they pair entries"
    if _grows(query.inputs[1]):
        return "its tables are made for the positions of each run, and the kernel wants a row for every slot"
    width = last_dim(query.inputs[1])
    if width is None or width % TABLE_MULTIPLE:
        return f"its tables are {width} wide and the kernel needs a multiple of {TABLE_MULTIPLE}"
    return ""


def _grows(table: ir.Value | None) -> bool:
    """Whether a table has only as many rows as the largest position needs: too few where all rows are padded."""
    cast = made_by(table, CAST)
    return made_by(cast.inputs[0] if cast else table, DYNAMIC_ROPE_TABLES) is not None


def _refuse_norm_after_rope(node: ir.Node) -> None:
    """QK-norm after RoPE: the kernel that rotates, and the one that normalises, do so in the other order."""
    for name, value in zip(("query", "key"), node.inputs, strict=False):
        seen: ir.Node | None = None
        walker = value.producer() if value is not None else None
        while walker is not None and use_of(walker) in THROUGH:
            seen = walker if "Normalization" in walker.op_type else seen
            first = value_in(walker, 0)
            walker = first.producer() if first is not None else None
        if seen is not None and walker is not None and use_of(walker) == ROTARY:
            between = f"{seen.op_type} between RotaryEmbedding and Attention"
            raise Refusal(f"{name} is normalised after RoPE ({between}): QK-norm after RoPE", at=seen)


def _padding(
    site: Site, mask: ir.Node, like: ir.Value
) -> tuple[list[ir.Value], ir.Value | None, list[tuple[OpId, str]], list[ir.Node]]:
    """Lengths of the rows, and the bias that carries padding where lengths cannot."""
    attention_mask, i32 = required(mask, 0), ir.DataType.INT32
    batch = attention_mask.shape[0] if attention_mask.shape is not None else None
    shapes = [(i32, [batch]), (i32, [])]
    if site.padding == "right":
        lengths = new(KEY_LENGTHS, [attention_mask], like=shapes)
        return list(lengths.outputs), None, [(KEY_LENGTHS, "")], [lengths]
    _needs(site, "attention_bias", "padding='any' needs the mask as a bias, which the kernel does not take")
    lengths = new(SLOT_LENGTHS, [attention_mask], like=shapes)
    dtype, visible = like.dtype or site.dtype, mask.outputs[0]
    shape = list(visible.shape) if visible.shape is not None else [None] * 4
    bias = new(
        MASK_BIAS, [visible], like=[(dtype, shape)], lowest=LOWEST.get(dtype, -65504.0), dtype=int(dtype)
    )  # fmt: skip
    return list(lengths.outputs), bias.outputs[0], [(SLOT_LENGTHS, ""), (MASK_BIAS, "")], [lengths, bias]


PATTERN = """
mask = ep_workbench.CausalMask | ep_workbench.SlidingWindowMask(attention_mask, positions)
? rotated_query = RotaryEmbedding(query, _, _, _)
? rotated_key = RotaryEmbedding(key, _, _, _)
out = Attention(rotated_query, rotated_key, value, mask, past_key, past_value)
"""

RULE = Rule(
    name="fuse/gqa",
    stage=Stage.FUSE,
    anchors=(ATTENTION, FIXED_CACHE_ATTENTION),
    removes=frozenset({ATTENTION}),
    produces=frozenset({GQA}),
    optional=frozenset(
        OpId("GroupQueryAttention", MS_DOMAIN, feature)
        for feature in ("do_rotary", "softcap", "local_window", "attention_bias")
    ),
    rewrite=rewrite,
    roles=frozenset({Role.DECODER}),
    needs="a causal or sliding-window mask over a cache; rows padded on the right, or anywhere where a bias is allowed",
    pattern=PATTERN,
)

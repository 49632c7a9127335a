"""Attention -> MatMul, Softmax, MatMul: no Shape, and grouped heads without repeating keys.

Before::

    out, keys, values = Attention(query, key, value, mask, past_key, past_value)

After::

    keys, values = Concat(past_key, key), Concat(past_value, value)
    weights = Softmax(MatMul(query * scale, Transpose(keys)) masked)
    out = MatMul(weights, values)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.features import FEATURES
from workbench.rules.graph import attr, last_dim, new, outputs_used, rank, required, value_in
from workbench.types import OpId, Stage

ATTENTION = OpId("Attention")
PRIMITIVES = ("MatMul", "Softmax", "Where", "Concat", "Reshape", "Transpose", "Unsqueeze", "Mul", "Add")


@dataclasses.dataclass
class _Ops:
    """Collects nodes while they are made."""

    dtype: ir.DataType
    nodes: list[ir.Node] = dataclasses.field(default_factory=list)

    def add(self, op_type: str, inputs: Sequence[ir.Value], shape: Sequence[Any] | None, **attributes: Any) -> ir.Value:
        made = new(OpId(op_type), inputs, like=[(self.dtype, shape) if shape is not None else None], **attributes)
        self.nodes.append(made)
        return made.outputs[0]

    def constant(self, value: np.ndarray) -> ir.Value:
        tensor = ir.tensor(value)
        made = new(OpId("Constant"), [], like=[(tensor.dtype, value.shape)], value=tensor)
        self.nodes.append(made)
        return made.outputs[0]

    def ints(self, *values: int) -> ir.Value:
        return self.constant(np.array(values, np.int64))

    def scalar(self, number: float) -> ir.Value:
        return self.constant(np.array(number, self.dtype.numpy()))


def rewrite(site: Site) -> Rewrite:
    """Scores, mask, softmax and weighted sum, each in the dtype of the model as Attention itself is."""
    node = site.node
    _check(node)
    H, K = attr(node, "q_num_heads", 0), attr(node, "kv_num_heads", 0)
    D, V = (_head_size(node, index, K) for index in (1, 2))
    if not all(isinstance(size, int) and size > 0 for size in (H, K, D, V)):
        raise Refusal("numbers or sizes of heads are not known", kind="unmatched")
    ops = _Ops(required(node, 0).dtype or site.dtype)
    key, value = (_grown(ops, node, i, K, size or 0) for i, size in ((1, D), (2, V)))
    weights = _weights(ops, node, key, H, K, D or 0)
    output = _weighted(ops, node, weights, value, H, K, V or 0)
    return Rewrite(ops.nodes, dict(zip(node.outputs[:3], (output, key, value), strict=False)))


def _head_size(node: ir.Node, index: int, heads: int) -> int | None:
    """From the cache, else from the width of keys or values."""
    past, width = value_in(node, index + 3), last_dim(required(node, index))
    if past is not None:
        return last_dim(past)
    return width // heads if width is not None and heads and width % heads == 0 else None


def _check(node: ir.Node) -> None:
    mask = value_in(node, 3)
    if rank(required(node, 0)) != 3 or (value_in(node, 4) is None) != (value_in(node, 5) is None):
        raise Refusal("only a query [B, S, H*D] is lowered, with a whole cache or none", kind="unmatched")
    if mask is not None and (rank(mask) != 4 or mask.dtype is None):
        raise Refusal("only a mask of four axes and of known dtype is lowered", kind="unmatched")
    if attr(node, "is_causal", 0) or outputs_used(node, 3) or value_in(node, 6) is not None:
        raise Refusal("is_causal, nonpad_kv_seqlen or used scores are not lowered", kind="unmatched")


def _grown(ops: _Ops, node: ir.Node, index: int, heads: int, size: int) -> ir.Value:
    """Past and new keys (or values) as ``[B, K, T, D]``; the new ones alone without a cache."""
    x, past = required(node, index), value_in(node, index + 3)
    B, S = _leading(x)
    x_BSKD = ops.add("Reshape", [x, ops.ints(0, 0, heads, size)], [B, S, heads, size])
    x_BKSD = ops.add("Transpose", [x_BSKD], [B, heads, S, size], perm=[0, 2, 1, 3])
    if past is None:
        return x_BKSD
    present = node.outputs[index]
    shape = list(present.shape) if present.shape is not None else None
    return ops.add("Concat", [past, x_BKSD], shape, axis=2)


def _weights(ops: _Ops, node: ir.Node, key: ir.Value, H: int, K: int, D: int) -> ir.Value:
    """Softmax of the masked scores, ``[B, K, G, S, T]`` with ``G`` query heads to a key head."""
    query, mask = required(node, 0), value_in(node, 3)
    B, S = _leading(query)
    T, G = key.shape[2] if key.shape is not None else None, H // K
    query_BSHD = ops.add("Reshape", [query, ops.ints(0, 0, H, D)], [B, S, H, D])
    query_BHSD = ops.add("Transpose", [query_BSHD], [B, H, S, D], perm=[0, 2, 1, 3])
    query_BKGSD = ops.add("Reshape", [query_BHSD, ops.ints(0, K, G, -1, D)], [B, K, G, S, D])
    scaled = ops.add("Mul", [query_BKGSD, ops.scalar(attr(node, "scale", 0.0) or D**-0.5)], [B, K, G, S, D])
    key_BKDT = ops.add("Transpose", [key], [B, K, D, T], perm=[0, 1, 3, 2])
    key_BK1DT = ops.add("Unsqueeze", [key_BKDT, ops.ints(2)], [B, K, 1, D, T])
    shape = [B, K, G, S, T]
    scores = ops.add("MatMul", [scaled, key_BK1DT], shape)
    if cap := attr(node, "softcap", 0.0):
        limit = ops.scalar(cap)
        scores = ops.add("Mul", [ops.add("Tanh", [ops.add("Div", [scores, limit], shape)], shape), limit], shape)
    masked = scores if mask is None else _masked(ops, scores, mask, H, K, shape)
    return ops.add("Softmax", [masked], shape, axis=-1)


def _masked(ops: _Ops, scores: ir.Value, mask: ir.Value, H: int, K: int, shape: list[Any]) -> ir.Value:
    """Apply a bool mask or add a float one."""
    grouped = _by_group(ops, mask, H, K)
    if mask.dtype != ir.DataType.BOOL:
        return ops.add("Add", [scores, grouped], shape)
    lowest = -65504.0 if ops.dtype == ir.DataType.FLOAT16 else -3.0e38
    return ops.add("Where", [grouped, scores, ops.scalar(lowest)], shape)


def _by_group(ops: _Ops, mask: ir.Value, H: int, K: int) -> ir.Value:
    """``[B, 1 or H, S, T]`` to ``[B, 1 or K, 1 or G, S, T]``.

    Heads go last before they are split: a 0 in Reshape copies the size of its own place only.
    """
    sizes = list(mask.shape) if mask.shape is not None else [None] * 4
    dtype = mask.dtype or ops.dtype

    def add(op_type: str, inputs: list[ir.Value], shape: list[Any], **attributes: Any) -> ir.Value:
        value = ops.add(op_type, inputs, shape, **attributes)
        value.dtype = dtype
        return value

    B, heads, S, T = sizes
    if heads == 1:
        return add("Unsqueeze", [mask, ops.ints(1)], [B, 1, 1, S, T])
    if heads != H:
        raise Refusal(f"the mask has {heads} heads, the attention {H}", kind="unmatched")
    last = add("Transpose", [mask], [B, S, T, H], perm=[0, 2, 3, 1])
    split = add("Reshape", [last, ops.ints(0, 0, 0, K, H // K)], [B, S, T, K, H // K])
    return add("Transpose", [split], [B, K, H // K, S, T], perm=[0, 3, 4, 1, 2])


def _weighted(ops: _Ops, node: ir.Node, weights: ir.Value, value: ir.Value, H: int, K: int, V: int) -> ir.Value:
    B, S = _leading(required(node, 0))
    value_BK1TV = ops.add("Unsqueeze", [value, ops.ints(2)], None)
    out_BKGSV = ops.add("MatMul", [weights, value_BK1TV], [B, K, H // K, S, V])
    out_BHSV = ops.add("Reshape", [out_BKGSV, ops.ints(0, H, -1, V)], [B, H, S, V])
    out_BSHV = ops.add("Transpose", [out_BHSV], [B, S, H, V], perm=[0, 2, 1, 3])
    return ops.add("Reshape", [out_BSHV, ops.ints(0, 0, H * V)], [B, S, H * V])


def _leading(x: ir.Value) -> tuple[Any, Any]:
    return (x.shape[0], x.shape[1]) if x.shape is not None else (None, None)


RULE = Rule(
    name="lower/attention",
    stage=Stage.LOWER,
    anchors=(ATTENTION,),
    removes=frozenset({ATTENTION, *(OpId("Attention", "", name) for name in FEATURES[ATTENTION])}),
    produces=frozenset(OpId(name) for name in PRIMITIVES),
    rewrite=rewrite,
    needs="a query of three axes, a mask of four",
    pattern="out = Attention(query, key, value, mask?, past_key?, past_value?)",
)

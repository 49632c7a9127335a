"""Norms of query and key before GroupQueryAttention -> its inputs q_norm_weight and k_norm_weight.

The kernel normalises each head before it rotates it, and does so only where it rotates at all. A norm after RoPE, over
all heads at once, or with a mean that is taken off, stays where it is.

Before::

    query = Reshape(RMSNormalization(Reshape(projected, [0, 0, H, D]), weight), [0, 0, H*D])    # key likewise
    out = GroupQueryAttention<do_rotary = 1>(query, key, value, ...)

After::

    out = GroupQueryAttention<do_rotary = 1>(projected, projected_key, value, ..., weight, key_weight)
"""

from __future__ import annotations

import dataclasses
from typing import NoReturn

import onnx_ir as ir

from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import attr, last_dim, made_by, rank, renewed, required, use_of, value_in
from workbench.types import MS_DOMAIN, OpId, Role, Stage

GQA = OpId("GroupQueryAttention", MS_DOMAIN)
RMS_NORMS = (OpId("RMSNormalization"), OpId("SimplifiedLayerNormalization"))
NORMS = (*RMS_NORMS, OpId("LayerNormalization"))
ROTARIES = (OpId("RotaryEmbedding"), OpId("RotaryEmbedding", MS_DOMAIN))
RESHAPE = OpId("Reshape")
THROUGH = (*ROTARIES, RESHAPE, OpId("Transpose"), OpId("Mul"))
"""What may stand between a norm of query or key and the attention."""
EPSILON = 1e-5
"""What both norms take where none is written."""
Q_WEIGHT = 14


@dataclasses.dataclass(frozen=True)
class _Normed:
    """What is normalised, ``[B, S, H*D]``, with which weight ``[D]``."""

    x: ir.Value
    weight: ir.Value
    epsilon: float


def rewrite(site: Site) -> Rewrite:
    """Both norms or none: the kernel takes the two weights together, and one epsilon."""
    node = site.node
    size = _head_size(node)
    query = _normed("query", node, 0, attr(node, "num_heads", 0), size)
    key = _normed("key", node, 1, attr(node, "kv_num_heads", 0), size)
    if query.epsilon != key.epsilon:
        raise Refusal(f"the norms of query and key differ in epsilon ({query.epsilon:g} and {key.epsilon:g})")
    if not attr(node, "do_rotary", 0):
        raise Refusal("the attention does not rotate, and the kernel normalises only where it rotates")
    inputs = [query.x, key.x, *(value_in(node, i) for i in range(2, Q_WEIGHT)), query.weight, key.weight]
    gqa = renewed(node, inputs, qk_norm_epsilon=query.epsilon)
    return Rewrite([gqa], dict(zip(node.outputs, gqa.outputs, strict=True)))


def _head_size(node: ir.Node) -> int:
    cached, heads, width = last_dim(value_in(node, 3)), attr(node, "num_heads", 0), last_dim(node.inputs[0])
    size = cached or (width // heads if width and heads else None)
    if size is None:
        raise Refusal("the size of a head is not known", kind="unmatched")
    return size


def _normed(name: str, node: ir.Node, index: int, heads: int, size: int) -> _Normed:
    """The norm of each head that makes an input of the attention."""
    value = required(node, index)
    rotary = made_by(value, *ROTARIES)
    if rotary is not None:
        raise Refusal(
            f"RoPE stands between the norm of {name} and the attention, and the kernel would normalise after it",
            at=rotary,
        )
    joined = made_by(value, RESHAPE)
    inner = required(joined, 0) if joined else value
    norm = made_by(inner, *NORMS)
    if norm is None:
        _refuse(name, inner)
    _check(name, inner, norm, heads, size)
    split = made_by(norm.inputs[0], RESHAPE)
    x = required(split, 0) if split and joined else required(norm, 0)
    if x.shape is None or value.shape is None or rank(x) != 3 or any(_open(d) for d in x.shape):
        raise Refusal(f"the shape of {name} before or after its norm is not known", kind="unmatched", at=value)
    if list(x.shape) != list(value.shape) or x.shape[2] != heads * size:
        raise Refusal(f"{name} is {x.shape} before its norm and {value.shape} after it", at=value)
    return _Normed(x, required(norm, 1), float(attr(norm, "epsilon", EPSILON)))


def _open(size: int | ir.SymbolicDim) -> bool:
    return not isinstance(size, int) and size.value is None


def _refuse(name: str, value: ir.Value) -> NoReturn:
    """No norm right there: one with a weight of its own for each head, one before RoPE, or none."""
    maker = value.producer()
    scaled = maker is not None and use_of(maker) == OpId("Mul")
    if maker is not None and scaled and any(made_by(v, *NORMS) for v in maker.inputs):
        raise Refusal(f"the norm of {name} has a weight for each head, and the kernel takes one for all", at=maker)
    if maker is None or _norm_behind(value) is None:
        raise Refusal(f"{name} is not normalised, and the kernel normalises both", at=maker or value)
    raise Refusal(f"{name} is made by {maker.op_type} after its norm", at=maker)


def _check(name: str, value: ir.Value, norm: ir.Node, heads: int, size: int) -> None:
    """Refuse a norm that the kernel does not compute."""
    if use_of(norm) not in RMS_NORMS:
        raise Refusal(f"{name} is normalised by {norm.op_type}, and the kernel by the root of the mean square", at=norm)
    x, weight = required(norm, 0), required(norm, 1)
    if rank(weight) != 1 or last_dim(weight) != size:
        width = last_dim(weight)
        if heads > 1 and width == heads * size:
            raise Refusal(f"the norm of {name} is over all heads at once, and the kernel's over each", at=norm)
        raise Refusal(f"the weight of the norm of {name} is {width} wide and a head {size}", kind="unmatched", at=norm)
    axes, axis = rank(x), attr(norm, "axis", -1)
    if axis != -1 and (axes is None or axis != axes - 1):
        raise Refusal(f"the norm of {name} is not over the last axis", at=norm)
    if attr(norm, "stash_type", 1) != ir.DataType.FLOAT or len({x.dtype, weight.dtype, value.dtype}) != 1:
        raise Refusal(f"the norm of {name} is not computed in float32, or changes the dtype", at=norm)


def _norm_behind(value: ir.Value | None) -> ir.Node | None:
    """The norm that a query or key went through, seen through what may stand between."""
    node = value.producer() if value is not None else None
    while node is not None and use_of(node) in THROUGH:
        first = next((v for v in node.inputs if v is not None and v.producer() is not None), None)
        node = first.producer() if first is not None else None
    return node if node is not None and use_of(node) in NORMS else None


def _is_candidate(node: ir.Node) -> bool:
    apart = value_in(node, 1) is not None and value_in(node, Q_WEIGHT) is None
    return apart and any(_norm_behind(value_in(node, index)) is not None for index in (0, 1))


PATTERN = """
? query_heads = Reshape(projected, _)
query_normal = RMSNormalization | SimplifiedLayerNormalization(query_heads, query_weight)
? query = Reshape(query_normal, _)
? key_heads = Reshape(projected_key, _)
key_normal = RMSNormalization | SimplifiedLayerNormalization(key_heads, key_weight)
? key = Reshape(key_normal, _)
out = com.microsoft.GroupQueryAttention(query, key, value)
"""

RULE = Rule(
    name="fuse/qk_norm",
    stage=Stage.FUSE,
    anchors=(GQA,),
    looks_at=_is_candidate,
    removes=frozenset(),
    produces=frozenset({OpId(GQA.op_type, MS_DOMAIN, "qk_norm")}),
    rewrite=rewrite,
    roles=frozenset({Role.DECODER}),
    after=("fuse/gqa",),
    needs="an attention that rotates, and a root-mean-square norm of each head right before it, for query and key",
    pattern=PATTERN,
)

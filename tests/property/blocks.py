"""More motifs: attention of encoders, experts, and what other tools have fused of both."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from tests.property.sketch import FLOAT, HEADS, INT64, B, H, S, Sketch, biased, projections, tables
from workbench.functions import PADDING_MASK

EXPERTS, CHOSEN, INNER = 4, 2, 8
INT32, PADDED = ir.DataType.INT32, "of_padding"


def encoder_attention(s: Sketch, x: ir.Value) -> ir.Value:
    """Everybody sees everybody that is real; with no mask, a bool one or a bias."""
    return _attention(s, projections(s, x, (H, H, H)))


def biased_attention(s: Sketch, x: ir.Value) -> ir.Value:
    """The same with biases, all of the usual form or each of some."""
    given = projections(s, x, (H, H, H))
    if s.rng.random() < 0.2:
        return _attention(s, [biased(s, value) for value in given])
    return _attention(s, [s.op("Add", *s.either(value, s.weight(H))) for value in given])


def _attention(s: Sketch, given: list[ir.Value]) -> ir.Value:
    kind = s.rng.choice(["none", "padding", "padding", "bias"])
    seen = None
    if kind == "padding":
        seen = s.op(PADDING_MASK.op_type, padding(s), like=(ir.DataType.BOOL, [B, 1, S, S]), domain=PADDING_MASK.domain)
    if kind == "bias":
        seen = bias(s)
    scale = {"scale": 0.5} if s.rng.random() < 0.3 else {}
    out = s.op("Attention", *given, seen, q_num_heads=HEADS, kv_num_heads=HEADS, **scale)
    return without_padding(s, out) if kind == "padding" else out


def padding(s: Sketch, dtype: ir.DataType = INT64) -> ir.Value:
    """Which tokens are real: all, or all but the last."""
    real = np.ones((B, S), dtype.numpy())
    real[:, -1] = s.rng.choice([0, 1])
    return s.input(f"padding.{dtype.name.lower()}", dtype, [B, S], real)


def without_padding(s: Sketch, x: ir.Value) -> ir.Value:
    """Nobody reads what an encoder makes of a token of padding, and kernels differ in it: the token stays as it was.

    Zeros would do as well, but for a router: its scores would be equal, and any expert the best.
    """
    column = s.op("Unsqueeze", padding(s), s.weight(array=np.array([2])), like=(INT64, [B, S, 1]))
    real = s.op("Cast", column, like=(ir.DataType.BOOL, [B, S, 1]), to=ir.DataType.BOOL)
    made = s.op("Where", real, x, s.x)
    made.producer().name += f"_{PADDED}"
    return made


def bias(s: Sketch) -> ir.Value:
    heads = s.rng.choice([1, HEADS])
    return s.weight(array=s.numbers.standard_normal((1, heads, S, S)).astype(np.float32))


def fused_encoder_attention(s: Sketch, x: ir.Value) -> ir.Value:
    """Three products in one node, or their projection as well."""
    padded = padding(s, INT32) if s.rng.random() < 0.4 else None
    more = bias(s) if s.rng.random() < 0.4 else None
    if s.rng.random() < 0.5:
        whole = [s.weight(H, 3 * H), s.weight(3 * H)]
        return s.ms("Attention", x, *whole, padded, None, more, num_heads=HEADS)
    given = projections(s, x, (H, H, H))
    own = s.weight(3 * H) if s.rng.random() < 0.4 else None
    return s.ms("MultiHeadAttention", *given, own, padded, more, num_heads=HEADS)


def experts(s: Sketch, x: ir.Value) -> ir.Value:
    """A mixture in its dense form: softmax over all, the best kept, divided by their sum or not."""
    column = s.op("Unsqueeze", s.op("Transpose", _routed(s, x), like=(FLOAT, [B, EXPERTS, S]), perm=[0, 2, 1]),
                  s.weight(array=np.array([-1])), like=(FLOAT, [B, EXPERTS, S, 1]))  # fmt: skip
    row = s.op("Unsqueeze", x, s.weight(array=np.array([1])), like=(FLOAT, [B, 1, S, H]))
    gate, up = s.op("Split", _each(s, row, H, 2 * INNER), like=[(FLOAT, [B, EXPERTS, S, INNER])] * 2, axis=-1,
                    num_outputs=2)  # fmt: skip
    gated = s.op("Mul", gate, s.op("Sigmoid", gate, like=gate), like=gate)
    out = _each(s, s.op("Mul", gated, up, like=gate), INNER, H)
    weighed = s.op("Mul", out, column, like=out)
    return s.op("ReduceSum", weighed, s.weight(array=np.array([1])), keepdims=0)


def _routed(s: Sketch, x: ir.Value) -> ir.Value:
    """Weights ``[B, S, N]``, zero where an expert is not chosen."""
    all_of, few = (FLOAT, [B, S, EXPERTS]), (FLOAT, [B, S, CHOSEN])
    scores = s.op("MatMul", x, s.weight(H, EXPERTS), like=all_of)
    likely = s.op("Softmax", scores, like=all_of, axis=-1)
    best, chosen = s.op("TopK", likely, s.weight(array=np.array([CHOSEN])), like=[few, (INT64, few[1])], axis=-1)
    if s.rng.random() < 0.5:
        last = s.weight(array=np.array([-1]))
        best = s.op("Div", best, s.op("ReduceSum", best, last, like=(FLOAT, [B, S, 1]), keepdims=1), like=few)
    zeros = s.op("Mul", likely, s.scalar(0.0), like=all_of)
    return s.op("ScatterElements", zeros, chosen, best, like=all_of, axis=-1)


def _each(s: Sketch, x: ir.Value, width: int, made: int) -> ir.Value:
    turned = s.op("Transpose", s.weight(EXPERTS, made, width), like=(FLOAT, [EXPERTS, width, made]), perm=[0, 2, 1])
    return s.op("MatMul", x, turned, like=(FLOAT, [B, EXPERTS, S, made]))


def fused_experts(s: Sketch, x: ir.Value) -> ir.Value:
    """A mixture in one node; rows of gate and up in turn."""
    scores = s.op("MatMul", x, s.weight(H, EXPERTS), like=(FLOAT, [B, S, EXPERTS]))
    flat = s.op("Reshape", scores, s.weight(array=np.array([-1, EXPERTS])), like=(FLOAT, [B * S, EXPERTS]))
    biases = [s.weight(EXPERTS, 2 * INNER), s.weight(EXPERTS, H)] if s.rng.random() < 0.4 else [None, None]
    return s.ms(
        "MoE", x, flat, s.weight(EXPERTS, 2 * INNER, H), biases[0], s.weight(EXPERTS, H, INNER), biases[1], k=CHOSEN,
        activation_type="swiglu", swiglu_fusion=1, normalize_routing_weights=s.rng.choice([0, 1]),
        activation_alpha=s.rng.choice([1.0, 1.5]), activation_beta=s.rng.choice([0.0, 1.0]),
    )  # fmt: skip


def fused_gelu(s: Sketch, x: ir.Value) -> ir.Value:
    kind = s.rng.choice(["Gelu", "BiasGelu", "FastGelu"])
    wants = kind == "BiasGelu" or (kind == "FastGelu" and s.rng.random() < 0.5)
    return s.ms(kind, x, *([s.weight(H)] if wants else []))


def fused_rotary(s: Sketch, x: ir.Value) -> ir.Value:
    """The kernel wants its positions before the tables."""
    cos, sin = tables(s)
    at = s.input("position_ids", INT64, [B, S], np.arange(2, 2 + S).reshape(B, S))
    return s.ms("RotaryEmbedding", x, at, cos, sin, num_heads=HEADS, interleaved=s.rng.choice([0, 1]))

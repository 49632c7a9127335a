"""Random small graphs out of what rules look for: each motif is a rule's pattern in one of its spellings.

Everything is drawn from one ``random.Random``, so a seed is a graph. Values flow as ``[1, 3, 32]``.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir

from workbench import functions
from workbench.functions import CAUSAL_MASK, KEY_LENGTHS, LONG_ROPE_TABLE, PADDING_MASK, SLIDING_WINDOW_MASK
from workbench.rules.graph import new
from workbench.types import MS_DOMAIN, ROTARY_OFFSET_KEY, OpId

B, S, P, H, HEADS, KV, D = 1, 3, 2, 32, 2, 1, 16
T = S + P
FLOAT, INT32, INT64, BOOL = ir.DataType.FLOAT, ir.DataType.INT32, ir.DataType.INT64, ir.DataType.BOOL
OPSET = 24
Motif = Callable[["Sketch", ir.Value], ir.Value]


class Sketch:
    """A graph that grows: values in, values out, weights and inputs as they are asked for."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.numbers = rng, np.random.default_rng(rng.randrange(2**32))
        self.nodes: list[ir.Node] = []
        self.inputs: dict[str, ir.Value] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self.weights: list[ir.Value] = []
        self.outputs: list[ir.Value] = []
        self.bodies: set[tuple[OpId, str]] = set()
        self.x = self.input("x", FLOAT, [B, S, H], self.numbers.standard_normal((B, S, H), np.float32))

    def input(self, name: str, dtype: ir.DataType, shape: list[int], array: np.ndarray) -> ir.Value:
        if name not in self.inputs:
            self.inputs[name] = ir.Value(name=name, shape=ir.Shape(shape), type=ir.TensorType(dtype))
            self.arrays[name] = array
        return self.inputs[name]

    def weight(self, *shape: int, scale: float = 0.3, array: np.ndarray | None = None) -> ir.Value:
        made = array if array is not None else (scale * self.numbers.standard_normal(shape)).astype(np.float32)
        tensor = ir.tensor(made, name=f"w{len(self.weights)}")
        value = ir.Value(name=tensor.name, shape=ir.Shape(list(made.shape)), type=ir.TensorType(tensor.dtype))
        value.const_value = tensor
        self.weights.append(value)
        return value

    def scalar(self, number: float) -> ir.Value:
        return self.weight(array=np.array(number, np.float32))

    def op(self, op_type: str, *inputs: ir.Value | None, like: Any = None, domain: str = "", **attributes: Any) -> Any:
        """A node; its output, or its outputs where ``like`` is a list of several."""
        likes = like if isinstance(like, list) else [like if like is not None else self.x]
        node = new(OpId(op_type, domain), list(inputs), like=likes, **attributes)
        node.name = f"n{len(self.nodes)}_{op_type}"
        for i, value in enumerate(node.outputs):
            value.name = f"{node.name}:{i}"
        self.nodes.append(node)
        if OpId(op_type, domain) in FUNCTIONS:
            self.bodies.add((OpId(op_type, domain), ""))
        return node.outputs[0] if len(likes) == 1 else node.outputs

    def ms(self, op_type: str, *inputs: ir.Value | None, like: Any = None, **attributes: Any) -> Any:
        return self.op(op_type, *inputs, like=like, domain=MS_DOMAIN, **attributes)

    def either(self, one: ir.Value, two: ir.Value) -> tuple[ir.Value, ir.Value]:
        return (one, two) if self.rng.random() < 0.5 else (two, one)

    def model(self, last: ir.Value) -> ir.Model:
        outputs = list(dict.fromkeys([last, *self.outputs]))
        graph = ir.Graph(
            list(self.inputs.values()), outputs, nodes=self.nodes, initializers=self.weights,
            opset_imports={"": OPSET, MS_DOMAIN: 1}, name="sketch",
        )  # fmt: skip
        model = ir.Model(graph, ir_version=10)
        for use, overload in sorted(self.bodies):
            functions.ensure(model, use, overload)
        return model


FUNCTIONS = {CAUSAL_MASK, SLIDING_WINDOW_MASK, PADDING_MASK, KEY_LENGTHS, LONG_ROPE_TABLE}


def matmul(s: Sketch, x: ir.Value, width: int = H, turned: bool | None = None) -> ir.Value:
    if s.rng.random() < 0.3 if turned is None else turned:
        turned = s.op("Transpose", s.weight(width, H), like=(FLOAT, [H, width]), perm=[1, 0])
        return s.op("MatMul", x, turned, like=(FLOAT, [B, S, width]))
    return s.op("MatMul", x, s.weight(H, width), like=(FLOAT, [B, S, width]))


def projections(s: Sketch, x: ir.Value, widths: tuple[int, ...]) -> list[ir.Value]:
    """Products of one value, mostly with weights that are stored alike."""
    turned = s.rng.random() < 0.3 if s.rng.random() < 0.8 else None
    return [matmul(s, x, width, turned) for width in widths]


def biased(s: Sketch, x: ir.Value, width: int = H) -> ir.Value:
    """A bias, mostly of one axis and behind the product."""
    made = s.weight(*s.rng.choice([(width,)] * 8 + [(1, 1, width), (1,)]))
    return s.op("Add", *((made, x) if s.rng.random() < 0.2 else (x, made)), like=x)


def rms_norm(s: Sketch, x: ir.Value) -> ir.Value:
    return _norm(s, "RMSNormalization", x, s.weight(H))


def simplified_norm(s: Sketch, x: ir.Value) -> ir.Value:
    return _norm(s, "SimplifiedLayerNormalization", x, s.weight(H))


def layer_norm(s: Sketch, x: ir.Value) -> ir.Value:
    return _norm(s, "LayerNormalization", x, s.weight(H), *([s.weight(H)] if s.rng.random() < 0.8 else []))


def _norm(s: Sketch, kind: str, *inputs: ir.Value) -> ir.Value:
    return s.op(kind, *inputs, axis=s.rng.choice([-1, -1, 2]), epsilon=s.rng.choice([1e-5, 1e-3]))


def skip_rms_norm(s: Sketch, x: ir.Value) -> ir.Value:
    return _skip(s, x, rms_norm)


def skip_layer_norm(s: Sketch, x: ir.Value) -> ir.Value:
    return _skip(s, x, layer_norm)


def _skip(s: Sketch, x: ir.Value, norm: Motif) -> ir.Value:
    """The sum of a residual, its norm, and often the sum itself further on."""
    total = s.op("Add", *s.either(x, matmul(s, x)))
    made = norm(s, total)
    return s.op("Add", *s.either(total, made)) if s.rng.random() < 0.6 else made


def fused_norm(s: Sketch, x: ir.Value) -> ir.Value:
    """A skip norm that another tool has fused already."""
    skip = matmul(s, x)
    outputs = [s.x, None, None, s.x] if s.rng.random() < 0.5 else [s.x]
    bias = s.weight(H) if s.rng.random() < 0.4 else None
    if s.rng.random() < 0.5:
        made = s.ms("SkipSimplifiedLayerNormalization", x, skip, s.weight(H), bias, like=outputs, epsilon=1e-5)
    else:
        made = s.ms("SkipLayerNormalization", x, skip, s.weight(H), s.weight(H), bias, like=outputs, epsilon=1e-5)
    if len(outputs) == 1:
        return made
    for index in (1, 2):
        made[index].name = ""
    return s.op("Add", made[0], made[3])


def gelu(s: Sketch, x: ir.Value) -> ir.Value:
    """Gelu written out, by erf or by tanh."""
    if s.rng.random() < 0.5:
        inner = s.op("Erf", s.op("Div", x, s.scalar(2**0.5)))
    else:
        cubed = s.op("Mul", s.op("Mul", x, x), x)
        inside = s.op("Add", x, s.op("Mul", s.scalar(0.044715), cubed))
        inner = s.op("Tanh", s.op("Mul", s.scalar((2 / np.pi) ** 0.5), inside))
    outer = s.op("Add", *s.either(inner, s.scalar(1.0)))
    if s.rng.random() < 0.5:
        return s.op("Mul", *s.either(s.op("Mul", x, s.scalar(0.5)), outer))
    return s.op("Mul", s.op("Mul", x, outer), s.scalar(0.5))


def bias_gelu(s: Sketch, x: ir.Value) -> ir.Value:
    return s.op("Gelu", biased(s, matmul(s, x)), approximate=s.rng.choice(["none", "tanh"]))


def positions(s: Sketch) -> ir.Value:
    return s.input("position_ids", INT64, [B, S], np.arange(P, T).reshape(B, S))


def mask(s: Sketch) -> ir.Value:
    return s.input("attention_mask", INT64, [B, T], np.ones((B, T), np.int64))


def tables(s: Sketch) -> tuple[ir.Value, ir.Value]:
    angles = s.numbers.standard_normal((16, D // 2)).astype(np.float32)
    return s.weight(array=np.cos(angles)), s.weight(array=np.sin(angles))


def cache(s: Sketch) -> tuple[ir.Value, ir.Value]:
    number = len([name for name in s.inputs if name.startswith("past")]) // 2
    made = [
        s.input(f"past.{number}.{word}", FLOAT, [B, KV, P, D], s.numbers.standard_normal((B, KV, P, D), np.float32))
        for word in ("key", "value")
    ]
    return made[0], made[1]


def attention(s: Sketch, x: ir.Value, normed: bool = False) -> ir.Value:
    """A decoder's attention as components write it; with ``normed`` query and key are normalised before RoPE."""
    rope, (cos, sin) = s.rng.random() < 0.8, tables(s)
    query, key, value = projections(s, x, (H, KV * D, KV * D))
    bias = s.rng.choice(["none", "none", "none", "value", "all"])
    if bias != "none":
        value = biased(s, value, KV * D)
    if bias == "all":
        query, key = biased(s, query), biased(s, key, KV * D)
    if rope and s.rng.random() < 0.2:
        cos, sin = both_chosen(s, cos, sin)
    if normed:
        query, key = head_norms(s, query, key)
    if rope:
        query = s.op("RotaryEmbedding", query, cos, sin, positions(s), like=query, num_heads=HEADS)
        key = s.op("RotaryEmbedding", key, cos, sin, positions(s), like=key, num_heads=KV)
    window = {"window": 3} if s.rng.random() < 0.3 else {}
    use = SLIDING_WINDOW_MASK if window else CAUSAL_MASK
    seen = s.op(use.op_type, mask(s), positions(s), like=(BOOL, [B, 1, S, T]), domain=use.domain, **window)
    present = (FLOAT, [B, KV, T, D])
    more = {"softcap": 2.0} if s.rng.random() < 0.2 else {}
    out, *caches = s.op(
        "Attention", query, key, value, seen, *cache(s), like=[s.x, present, present], q_num_heads=HEADS,
        kv_num_heads=KV, **more,
    )  # fmt: skip
    s.outputs += caches
    return out


def long_attention(s: Sketch, x: ir.Value) -> ir.Value:
    """A fused attention over LongRoPE's tables."""
    return fused_attention(s, x, long=True)


def turned_attention(s: Sketch, x: ir.Value) -> ir.Value:
    """A fused attention whose two tables are one, with the row where the second begins."""
    return fused_attention(s, x, turned=True)


def packed_attention(s: Sketch, x: ir.Value) -> ir.Value:
    return fused_attention(s, x, packed=True)


def fused_attention(s: Sketch, x: ir.Value, long: bool = False, turned: bool = False, packed: bool = False) -> ir.Value:
    """An attention that another tool has fused already, packed or not, with RoPE inside or not."""
    packed, rope = packed or s.rng.random() < 0.4, long or turned or s.rng.random() < 0.7
    positions(s)
    cos, sin = tables(s) if rope else (None, None)
    offset = s.rng.choice([4, 9]) if turned else 0
    if long:
        cos, sin = both_chosen(s, cos, sin)
    lengths = [(INT32, [B]), (INT32, [])]
    seqlens, total = s.op(KEY_LENGTHS.op_type, mask(s), like=lengths, domain=KEY_LENGTHS.domain)
    given = [matmul(s, x, H + 2 * KV * D), None, None] if packed else projections(s, x, (H, KV * D, KV * D))
    present = (FLOAT, [B, KV, T, D])
    out, *caches = s.ms(
        "GroupQueryAttention", *given, *cache(s), seqlens, total, cos, sin, like=[s.x, present, present],
        num_heads=HEADS, kv_num_heads=KV, do_rotary=int(rope),
    )  # fmt: skip
    if offset:
        out.producer().metadata_props[ROTARY_OFFSET_KEY] = str(offset)
    s.outputs += caches
    return out


def head_norms(s: Sketch, query: ir.Value, key: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Query and key normalised, mostly in the same spelling; now and then only the query."""
    kinds = ["RMSNormalization", "RMSNormalization", "RMSNormalization", "SimplifiedLayerNormalization"]
    kind, epsilon = s.rng.choice([*kinds, *kinds, "LayerNormalization"]), s.rng.choice([1e-5, 1e-3])
    query = head_norm(s, query, HEADS, kind, epsilon)
    if s.rng.random() < 0.05:
        kind, epsilon = s.rng.choice(kinds), 1e-5
    return query, key if s.rng.random() < 0.05 else head_norm(s, key, KV, kind, epsilon)


def head_norm(s: Sketch, x: ir.Value, heads: int, kind: str, epsilon: float) -> ir.Value:
    """Each head normalised by itself, with a weight for all."""
    by_head, whole = (s.weight(array=np.array(sizes, np.int64)) for sizes in ([0, 0, heads, D], [0, 0, heads * D]))
    split = s.op("Reshape", x, by_head, like=(FLOAT, [B, S, heads, D]))
    made = s.op(kind, split, s.weight(D), like=split, axis=-1, epsilon=epsilon)
    return s.op("Reshape", made, whole, like=x)


def normed_attention(s: Sketch, x: ir.Value, inside: bool = False) -> ir.Value:
    """A fused attention whose query and key are normalised before it, or by itself; or one as components write it."""
    if not inside and s.rng.random() < 0.3:
        return attention(s, x, normed=True)
    positions(s)
    query, key, value = projections(s, x, (H, KV * D, KV * D))
    weights = [*[None] * 5, s.weight(D), s.weight(D)] if inside else []
    if not inside:
        query, key = head_norms(s, query, key)
    lengths = [(INT32, [B]), (INT32, [])]
    seqlens, total = s.op(KEY_LENGTHS.op_type, mask(s), like=lengths, domain=KEY_LENGTHS.domain)
    present = (FLOAT, [B, KV, T, D])
    out, *caches = s.ms(
        "GroupQueryAttention", query, key, value, *cache(s), seqlens, total, *tables(s), *weights,
        like=[s.x, present, present], num_heads=HEADS, kv_num_heads=KV, do_rotary=1,
    )  # fmt: skip
    s.outputs += caches
    return out


def attention_norming_inside(s: Sketch, x: ir.Value) -> ir.Value:
    return normed_attention(s, x, inside=True)


def rotary(s: Sketch, x: ir.Value) -> ir.Value:
    cos, sin = tables(s)
    return s.op("RotaryEmbedding", x, cos, sin, positions(s), num_heads=HEADS, interleaved=s.rng.choice([0, 1]))


def long_rope(s: Sketch, x: ir.Value) -> ir.Value:
    (short, _), (long, sin) = tables(s), tables(s)
    cos = chosen(s, short, long, s.rng.choice([2, 64]))
    return s.op("RotaryEmbedding", x, cos, sin, positions(s), num_heads=HEADS)


def both_chosen(s: Sketch, cos: ir.Value | None, sin: ir.Value | None) -> tuple[ir.Value, ir.Value]:
    """LongRoPE: cosines and sines, each of a short and a long table."""
    original, (long_cos, long_sin) = s.rng.choice([2, 9]), tables(s)
    return chosen(s, cos, long_cos, original), chosen(s, sin, long_sin, original)


def chosen(s: Sketch, short: ir.Value | None, long: ir.Value, original: int) -> ir.Value:
    return s.op(
        LONG_ROPE_TABLE.op_type, positions(s), short, long, like=(FLOAT, [16, D // 2]),
        domain=LONG_ROPE_TABLE.domain, original=original,
    )  # fmt: skip


def length(s: Sketch, x: ir.Value) -> ir.Value:
    """A length read off an input."""
    found = s.op("Shape", positions(s), like=(INT64, [1]), start=1, end=2)
    return s.op("Div", x, s.op("Cast", found, like=(FLOAT, [1]), to=FLOAT))


def plain(s: Sketch, x: ir.Value) -> ir.Value:
    return s.op(s.rng.choice(["Relu", "Sigmoid", "Neg"]), x)


def one_gelu(s: Sketch, x: ir.Value) -> ir.Value:
    return s.op("Gelu", x, approximate=s.rng.choice(["none", "none", "tanh"]))

"""Bodies of com.microsoft operators against ONNX Runtime's CPU kernels: every variant, float32 and float16."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from tests.unit.rules.graphs import rule, run
from workbench.functions.contrib import CONTRIB
from workbench.rules.apply import apply
from workbench.rules.plan import Plan, Step
from workbench.types import MS_DOMAIN, WB_DOMAIN, OpId, Role

H, K, D = 4, 2, 16
LIMITS = {np.float32: 2e-6, np.float16: 1e-2}
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float16], ids=["float32", "float16"])
INLINE = pytest.mark.parametrize("inline", [False, True], ids=["call", "inlined"])
Arrays = dict[str, np.ndarray]


def one_node(op_type: str, given: list[tuple[str, np.ndarray] | None], outputs: int, **attributes: Any) -> ir.Model:
    """A graph of one com.microsoft node whose inputs are all inputs of the graph, of open size where two are 2."""
    inputs: list[ir.Value | None] = []
    for item in given:
        if item is None:
            inputs.append(None)
            continue
        name, array = item
        value = ir.Value(name=name, type=ir.TensorType(ir.DataType.from_numpy(array.dtype)))
        value.shape = ir.Shape(array.shape)
        inputs.append(value)
    node = ir.node(op_type, inputs, attributes or None, domain=MS_DOMAIN, num_outputs=outputs, name="it")
    first = next(v for v in inputs if v is not None)
    for number, value in enumerate(node.outputs):
        value.name, value.type = f"out{number}", first.type
    graph = ir.Graph(
        [v for v in inputs if v is not None], list(node.outputs), nodes=[node],
        opset_imports={"": 24, MS_DOMAIN: 1}, name="one",
    )  # fmt: skip
    return ir.Model(graph, ir_version=11)


def lowered(model: ir.Model, name: str, inline: bool, allows: str = "shape") -> ir.Model:
    clone = model.clone()
    plan = Plan("test", ir.DataType.FLOAT, Role.DECODER, "right", (), (), inline=inline)
    report = apply(clone, Step(rule(name), frozenset(allows.split()), "test"), plan)
    assert report.misses == () and report.applied == 1
    return clone


def operators(model: ir.Model) -> set[OpId]:
    return {OpId(n.op_type, n.domain) for n in ir.traversal.RecursiveGraphIterator(model.graph)}


def given_of(items: list[tuple[str, np.ndarray] | None]) -> Arrays:
    return dict(item for item in items if item is not None)


def drawn(rng: np.random.Generator, dtype: Any, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(dtype)


def tables(dtype: Any, rotated: int = D) -> tuple[np.ndarray, np.ndarray]:
    angles = np.outer(np.arange(64), 100.0 ** (-np.arange(0, rotated, 2) / rotated))
    return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


def gqa_inputs(dtype: Any, *, B: int, S: int, P: int, slots: int, lengths: list[int], **words: Any) -> list[Any]:
    """What GroupQueryAttention takes, in its order; ``lengths``: real tokens of each row, new ones included."""
    rng, size = np.random.default_rng(0), words.get("size", D)
    q, k, v = (drawn(rng, dtype, B, S, heads * size) for heads in (H, K, K))
    if words.get("packed"):
        found: list[Any] = [("query", np.concatenate([q, k, v], -1)), None, None]
    else:
        found = [("query", q), ("key", k), ("value", v)]
    total = max(lengths)
    if words.get("cache", True):
        found += [
            ("past_key", drawn(rng, dtype, B, K, slots, size)),
            ("past_value", drawn(rng, dtype, B, K, slots, size)),
        ]
    else:
        found += [None, None]
    found += [("seqlens_k", np.array(lengths, np.int32) - 1), ("total", np.array([total if P else S], np.int32))]
    if words.get("rotary"):
        cos, sin = tables(dtype, words.get("rotated", size))
        found += [("cos", cos), ("sin", sin)]
    else:
        found += [None, None]
    bias = drawn(rng, dtype, *words["bias"], S, total if P else S) if words.get("bias") else None
    found += [None, None if bias is None else ("bias", bias)]
    found += [("sink", drawn(rng, dtype, H))] if words.get("sink") else [None]
    while found[-1] is None:
        found.pop()
    return found


PROMPT = {"B": 1, "S": 6, "P": 0, "slots": 0, "lengths": [6]}
PADDED = {"B": 2, "S": 6, "P": 0, "slots": 0, "lengths": [6, 3]}
DECODE = {"B": 2, "S": 1, "P": 5, "slots": 5, "lengths": [6, 4]}
CHUNK = {"B": 1, "S": 3, "P": 5, "slots": 5, "lengths": [8]}
SHARED = {"B": 2, "S": 1, "P": 5, "slots": 12, "lengths": [6, 4]}
STEPS = {"prompt": PROMPT, "padded": PADDED, "decode": DECODE, "chunk": CHUNK, "shared": SHARED}
VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "scale": ({}, {"scale": 0.7}),
    "rotary": ({"rotary": True}, {"do_rotary": 1}),
    "interleaved": ({"rotary": True}, {"do_rotary": 1, "rotary_interleaved": 1}),
    "partly rotated": ({"rotary": True, "size": 32, "rotated": 16}, {"do_rotary": 1}),
    "packed": ({"packed": True, "rotary": True}, {"do_rotary": 1}),
    "softcap": ({}, {"softcap": 0.8}),
    "window": ({"rotary": True}, {"do_rotary": 1, "local_window_size": 3}),
    "bias": ({"bias": (1, 1)}, {}),
    "bias of each head": ({"bias": (1, H)}, {"softcap": 1.5}),
    "sink": ({"sink": True}, {}),
    "smooth": ({}, {"smooth_softmax": 1}),
    "all": (
        {"packed": True, "rotary": True, "bias": (1, 1), "sink": True},
        {"do_rotary": 1, "local_window_size": 4, "softcap": 2.0},
    ),
}  # fmt: skip


def real(found: Arrays, step: dict[str, Any]) -> list[np.ndarray]:
    """Rows' outputs and cache slots that hold real tokens; the others hold what they like."""
    parts = []
    for row, length in enumerate(step["lengths"]):
        new = step["S"] if step["P"] else min(length, step["S"])
        parts += [found["out0"][row, :new], found["out1"][row, :, :length], found["out2"][row, :, :length]]
    return parts


@DTYPES
@pytest.mark.parametrize(("inline", "allows"), [(False, "shape"), (True, "shape"), (True, "")])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", VARIANTS)
def test_grouped_query_attention(name: str, step: str, inline: bool, allows: str, dtype: Any) -> None:
    words, attributes = VARIANTS[name]
    inputs = gqa_inputs(dtype, **STEPS[step], **words)
    model = one_node("GroupQueryAttention", inputs, 3, num_heads=H, kv_num_heads=K, **attributes)
    after = lowered(model, "lower/gqa_to_standard", inline, allows)
    assert {use.domain for use in operators(after)} == ({""} if inline else {WB_DOMAIN})
    assert not inline or (OpId("Shape") in operators(after)) == bool(allows)
    assert OpId("CastLike") not in operators(after)
    kernel, body = (run(graph, given_of(inputs)) for graph in (model, after))
    assert {o: a.shape for o, a in kernel.items()} == {o: a.shape for o, a in body.items()}
    pairs = zip(real(kernel, STEPS[step]), real(body, STEPS[step]), strict=True)
    assert max(float(np.abs(a.astype(np.float64) - b).max()) for a, b in pairs) <= LIMITS[dtype]


@DTYPES
def test_without_a_cache(dtype: Any) -> None:
    inputs = gqa_inputs(dtype, **PADDED, cache=False, rotary=True)
    model = one_node("GroupQueryAttention", inputs, 3, num_heads=H, kv_num_heads=K, do_rotary=1)
    kernel, body = (run(g, given_of(inputs)) for g in (model, lowered(model, "lower/gqa_to_standard", True)))
    pairs = zip(real(kernel, PADDED), real(body, PADDED), strict=True)
    assert max(float(np.abs(a.astype(np.float64) - b).max()) for a, b in pairs) <= LIMITS[dtype]


@DTYPES
@pytest.mark.parametrize("step", ["prompt", "padded", "decode"])
def test_normalised_queries_and_keys(step: str, dtype: Any) -> None:
    """The CPU kernel refuses the norms, so they stand before it: RMS of each head, then rotation inside."""
    inputs = gqa_inputs(dtype, **STEPS[step], rotary=True)
    rng, epsilon = np.random.default_rng(9), 1e-3
    scales = [1 + drawn(rng, dtype, D) / 4 for _ in range(2)]
    fused = [*inputs, *[None] * (14 - len(inputs)), ("q_scale", scales[0]), ("k_scale", scales[1])]
    outside = list(inputs)
    for index, scale in enumerate(scales):
        name, x = inputs[index]
        heads = x.astype(np.float32).reshape(*x.shape[:2], -1, D)
        unit = heads / np.sqrt((heads**2).mean(-1, keepdims=True) + epsilon)
        outside[index] = (name, (unit * scale.astype(np.float32)).reshape(x.shape).astype(dtype))
    words = {"num_heads": H, "kv_num_heads": K, "do_rotary": 1}
    body = lowered(
        one_node("GroupQueryAttention", fused, 3, qk_norm_epsilon=epsilon, **words), "lower/gqa_to_standard", True
    )
    kernel = one_node("GroupQueryAttention", outside, 3, **words)
    expected, found = run(kernel, given_of(outside)), run(body, given_of(fused))
    pairs = zip(real(expected, STEPS[step]), real(found, STEPS[step]), strict=True)
    assert max(float(np.abs(a.astype(np.float64) - b).max()) for a, b in pairs) <= LIMITS[dtype]


def _distance(model: ir.Model, name: str, inputs: list[Any], inline: bool) -> float:
    kernel, body = (run(g, given_of(inputs)) for g in (model, lowered(model, name, inline)))
    return max(float(np.abs(kernel[o].astype(np.float64) - body[o]).max()) for o in kernel)


MHA = {
    "plain": ([], {}),
    "scale": ([], {"scale": 0.4}),
    "bias": ([("bias", (3 * H * D,))], {}),
    "mask": ([None, ("mask", "mask")], {}),
    "attention bias": ([None, None, ("more", (1, 1, 6, 6))], {}),
    "attention bias of each row and head": ([None, None, ("more", (2, H, 6, 6))], {}),
    "all": ([("bias", (3 * H * D,)), ("mask", "mask"), ("more", (2, H, 6, 6))], {"scale": 0.3}),
}


@DTYPES
@INLINE
@pytest.mark.parametrize("name", MHA)
def test_multi_head_attention(name: str, inline: bool, dtype: Any) -> None:
    rng, (more, attributes) = np.random.default_rng(2), MHA[name]
    inputs: list[Any] = [(word, drawn(rng, dtype, 2, 6, H * D)) for word in ("query", "key", "value")]
    mask = np.array([[1] * 6, [1] * 4 + [0] * 2], np.int32)
    inputs += [i and (i[0], mask if i[1] == "mask" else drawn(rng, dtype, *i[1])) for i in more]
    model = one_node("MultiHeadAttention", inputs, 1, num_heads=H, **attributes)
    assert _distance(model, "lower/ms_to_standard", inputs, inline) <= LIMITS[dtype]


@DTYPES
@pytest.mark.parametrize("axes", [3, 4])
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("rotated", [16, 32])
@pytest.mark.parametrize("opset", [22, 24])
def test_rotary_embedding(axes: int, interleaved: int, rotated: int, opset: int, dtype: Any) -> None:
    """One operator from opset 23 on, spelled out before."""
    rng, size = np.random.default_rng(5), 32
    cos, sin = tables(dtype, rotated)
    x = drawn(rng, dtype, *((2, 5, H * size) if axes == 3 else (2, H, 5, size)))
    inputs = [("x", x), ("at", np.array([[0, 1, 2, 3, 4], [7, 8, 9, 10, 11]])), ("cos", cos), ("sin", sin)]
    partly = {"rotary_embedding_dim": rotated, "num_heads": H} if rotated < size else {}
    model = one_node("RotaryEmbedding", inputs, 1, interleaved=interleaved, **partly)
    model.graph.opset_imports[""] = opset
    assert _distance(model, "lower/ms_to_standard", inputs, True) <= LIMITS[dtype]


@DTYPES
@pytest.mark.parametrize("op_type", ["Gelu", "BiasGelu", "FastGelu", "FastGelu with a bias"])
def test_activations(op_type: str, dtype: Any) -> None:
    rng = np.random.default_rng(6)
    inputs = [("x", drawn(rng, dtype, 2, 3, 8))] + [("bias", drawn(rng, dtype, 8))] * ("ias" in op_type)
    model = one_node(op_type.split()[0], inputs, 1)
    assert _distance(model, "lower/ms_to_standard", inputs, True) <= (2e-6 if dtype is np.float32 else 5e-3)


@DTYPES
@pytest.mark.parametrize("op_type", ["SkipSimplifiedLayerNormalization", "SkipLayerNormalization"])
@pytest.mark.parametrize("bias", [False, True])
def test_norms_with_a_skip_input(op_type: str, bias: bool, dtype: Any) -> None:
    """These are lowered by a rule of their own; the body is the reference for both."""
    from workbench import functions
    from workbench.functions import contrib

    rng = np.random.default_rng(7)
    inputs: list[Any] = [(n, drawn(rng, dtype, 2, 3, 8)) for n in ("x", "skip")] + [("gamma", drawn(rng, dtype, 8))]
    inputs += [("beta", drawn(rng, dtype, 8))] if op_type == "SkipLayerNormalization" else []
    inputs += [("bias", drawn(rng, dtype, 8))] if bias else []
    model = one_node(op_type, inputs, 4, epsilon=1e-3)
    model.graph.outputs[:] = [model.graph.outputs[0], model.graph.outputs[3]]
    for unused in model.graph.node("it").outputs[1:3]:
        unused.name = ""
    features = {"sum", *(["bias"] if bias else []), *(["beta"] if op_type == "SkipLayerNormalization" else [])}
    use, overload = contrib.stand_in(OpId(op_type, MS_DOMAIN)), contrib.variant(features)
    call = model.clone()
    node = call.graph.node("it")
    made = ir.node(
        use.op_type, list(node.inputs), {"epsilon": 1e-3}, domain=WB_DOMAIN, overload=overload, num_outputs=2
    )
    for new, old in zip(made.outputs, (node.outputs[0], node.outputs[3]), strict=True):
        new.name, new.type, new.shape = old.name, old.type, old.shape
    call.graph.outputs[:] = list(made.outputs)
    call.graph.remove(node)
    call.graph.append(made)
    functions.ensure(call, use, overload)
    kernel, body = run(model, given_of(inputs)), run(call, given_of(inputs))
    assert max(float(np.abs(kernel[o].astype(np.float64) - body[o]).max()) for o in kernel) <= LIMITS[dtype]


def test_every_operator_that_rules_produce_has_a_body() -> None:
    from workbench.rules import RULES

    produced = {use.op for made in RULES for use in made.produces | made.optional if use.domain == MS_DOMAIN}
    assert {str(use) for use in produced} <= {str(use) for use in CONTRIB}

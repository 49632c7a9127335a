"""lower/rms_norm, lower/layer_norm, lower/skip_norms: number by number against the kernels, and in float16."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from tests.unit.rules.graphs import Arrays, applied, distance, only_miss, parsed, run

RNG = np.random.default_rng(6)
SCALE, BIAS = RNG.standard_normal(8, np.float32), RNG.standard_normal(8, np.float32)
HALF = np.float16


def graph(
    body: str, opset: int = 24, inputs: str = "", outputs: str = "float[b, s, 8] y", word: str = "float"
) -> ir.Model:
    given = f"{word}[b, s, 8] x, {word}[8] scale, {word}[8] bias{inputs}"
    return parsed(
        f'<ir_version: 10, opset_import: ["" : {opset}, "com.microsoft" : 1]> g ({given}) => '
        f"({outputs.replace('float[', word + '[')}) {{ {body} }}"
    )


def arrays(dtype: type = np.float32, times: float = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    x = (times * rng.standard_normal((2, 3, 8))).astype(dtype)
    return {"x": x, "skip": (2 * x[::-1]).astype(dtype), "scale": SCALE.astype(dtype), "bias": BIAS.astype(dtype)}


def rms(given: Arrays, epsilon: float) -> np.ndarray:
    x = given["x"].astype(np.float64)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * given["scale"].astype(np.float64)


def layer(given: Arrays, epsilon: float) -> np.ndarray:
    x = given["x"].astype(np.float64)
    centred = x - x.mean(-1, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + epsilon)
    return normal * given["scale"].astype(np.float64) + given["bias"].astype(np.float64)


RMS = "y = RMSNormalization <axis = -1, epsilon = 0.01> (x, scale)"
LAYER = "y = LayerNormalization <axis = -1, epsilon = 0.01> (x, scale, bias)"
NORMS = {
    "lower/rms_norm": (RMS, rms, ["Mul", "ReduceMean", "Add", "Sqrt", "Div", "Mul"]),
    "lower/layer_norm": (
        LAYER, layer, ["ReduceMean", "Sub", "Mul", "ReduceMean", "Add", "Sqrt", "Div", "Mul", "Add"],
    ),
}  # fmt: skip


def kinds(model: ir.Model) -> list[str]:
    return [node.op_type for node in model.graph if node.op_type != "Constant"]


@pytest.mark.parametrize("name", NORMS)
def test_primitives(name: str) -> None:
    body, formula, expected = NORMS[name]
    model, given = graph(body), arrays()
    after, report = applied(model, name)
    assert (report.candidates, report.applied) == (1, 1)
    assert kinds(after) == expected
    assert distance(model, after, given) <= 2e-6
    assert np.abs(run(after, given)["y"] - formula(given, 0.01)).max() <= 2e-6


@pytest.mark.parametrize("name", NORMS)
def test_squares_of_float16_do_not_overflow(name: str) -> None:
    """300 squared is no float16: between the Casts everything is float32, node by node in its declared dtype."""
    body, formula, expected = NORMS[name]
    model, given = graph(body, word="float16"), arrays(HALF, times=3000)
    after, report = applied(model, name, dtype=ir.DataType.FLOAT16)
    assert report.applied == 1
    assert kinds(after)[0] == "Cast" and kinds(after).count("Cast") == 2
    inside = [v.dtype for node in after.graph if node.op_type in ("ReduceMean", "Sqrt", "Div") for v in node.outputs]
    assert set(inside) == {ir.DataType.FLOAT}
    found, wanted = run(after, given)["y"], formula(given, 0.01)
    assert found.dtype == HALF
    assert np.abs(found - wanted).max() <= 4e-3 * np.abs(wanted).max()


@pytest.mark.parametrize("name", NORMS)
def test_bfloat16_has_its_casts_too(name: str) -> None:
    after, report = applied(graph(NORMS[name][0], word="bfloat16"), name, dtype=ir.DataType.BFLOAT16)
    assert report.applied == 1
    assert kinds(after).count("Cast") == 2
    assert after.graph.outputs[0].dtype == ir.DataType.BFLOAT16


@pytest.mark.parametrize("axis", [1, 2, -1, -2])
@pytest.mark.parametrize("op", ["RMSNormalization", "LayerNormalization"])
def test_any_axis(op: str, axis: int) -> None:
    shape = "[3, 8]" if axis in (1, -2) else "[8]"
    model = parsed(
        f'<ir_version: 10, opset_import: ["" : 24]> g (float[b, 3, 8] x, float{shape} scale) => (float[b, 3, 8] y) '
        f"{{ y = {op} <axis = {axis}> (x, scale) }}"
    )
    given = arrays() | {"scale": RNG.standard_normal((3, 8) if axis in (1, -2) else 8, np.float32)}
    after, report = applied(model, "lower/rms_norm" if op.startswith("RMS") else "lower/layer_norm")
    assert report.applied == 1
    assert distance(model, after, {k: given[k] for k in ("x", "scale")}) <= 2e-6


def test_onnx_runtimes_older_name() -> None:
    model = graph("y = SimplifiedLayerNormalization <axis = -1, epsilon = 0.01, stash_type = 1> (x, scale)", opset=17)
    after, report = applied(model, "lower/rms_norm")
    assert report.applied == 1
    assert kinds(after) == NORMS["lower/rms_norm"][2]
    assert all(len(node.inputs) == 1 for node in after.graph if node.op_type == "ReduceMean")  # axes: an attribute
    assert distance(model, after, arrays()) <= 2e-6


def test_layer_norm_without_bias_and_with_statistics() -> None:
    model = graph(
        "y, mean, inverse = LayerNormalization <axis = -1, epsilon = 0.01> (x, scale)", opset=17,
        outputs="float[b, s, 8] y, float[b, s, 1] mean, float[b, s, 1] inverse",
    )  # fmt: skip
    after, report = applied(model, "lower/layer_norm")
    assert report.applied == 1
    assert [value.name for value in after.graph.outputs] == ["y", "mean", "inverse"]
    assert distance(model, after, arrays()) <= 2e-6


def test_statistics_in_float16_are_refused() -> None:
    model = graph("y = RMSNormalization <axis = -1, stash_type = 10> (x, scale)", word="float16")
    miss = only_miss(applied(model, "lower/rms_norm")[1])
    assert (miss.kind, miss.reason) == ("precondition", "stash_type is not float32")


# --- skip norms -----------------------------------------------------------------------------------------
SKIP_INPUTS = ", float[b, s, 8] skip"


@pytest.mark.parametrize("opset", [17, 22, 24])
@pytest.mark.parametrize("bias", ["", ", bias"])
@pytest.mark.parametrize("total", [True, False])
def test_skip_rms_norm(opset: int, bias: str, total: bool) -> None:
    """The bias is part of the sum that others read; without RMSNormalization in the opset the norm is spelled out."""
    outputs = "y, , , total" if total else "y"
    model = graph(
        f"{outputs} = com.microsoft.SkipSimplifiedLayerNormalization <epsilon = 0.01> (x, skip, scale{bias})", opset,
        SKIP_INPUTS, "float[b, s, 8] y" + (", float[b, s, 8] total" if total else ""),
    )  # fmt: skip
    after, report = applied(model, "lower/skip_norms")
    assert (report.candidates, report.applied) == (1, 1)
    assert not [node for node in after.graph if node.domain]
    assert kinds(after).count("RMSNormalization") == (1 if opset >= 23 else 0)
    assert distance(model, after, arrays()) <= 2e-6


@pytest.mark.parametrize("beta", ["", "scale"])
@pytest.mark.parametrize("bias", ["", "bias"])
def test_skip_layer_norm(beta: str, bias: str) -> None:
    inputs = f"(x, skip, scale, {beta}, {bias})" if bias else f"(x, skip, scale{', ' + beta if beta else ''})"
    model = graph(
        f"y, , , total = com.microsoft.SkipLayerNormalization <epsilon = 0.01> {inputs}", 17, SKIP_INPUTS,
        "float[b, s, 8] y, float[b, s, 8] total",
    )  # fmt: skip
    after, report = applied(model, "lower/skip_norms")
    assert report.applied == 1
    assert kinds(after) == ["Add"] * (2 if bias else 1) + ["LayerNormalization"]
    assert distance(model, after, arrays()) <= 2e-6


def test_what_was_fused_comes_apart_again() -> None:
    for norm in (RMS, LAYER):
        body = f"sum = Add (x, skip) {norm.replace('(x,', '(sum,')} z = Add (sum, y)"
        model = graph(body, 24, SKIP_INPUTS, "float[b, s, 8] y, float[b, s, 8] z")
        fuse = "fuse/skip_rms_norm" if norm is RMS else "fuse/skip_layer_norm"
        after, _ = applied(model, fuse, "lower/skip_norms")
        assert sorted(kinds(after)) == sorted(kinds(model))
        assert distance(model, after, arrays()) <= 1e-5


def test_an_opset_without_the_norm_is_refused() -> None:
    body = "y = com.microsoft.SkipLayerNormalization (x, skip, scale, bias)"
    miss = only_miss(applied(graph(body, 14, SKIP_INPUTS), "lower/skip_norms")[1])
    assert miss.reason == "the graph is of opset 14, and the standard has the norm from 17 on"


def test_statistics_of_the_kernel_are_refused() -> None:
    body = "y, mean = com.microsoft.SkipSimplifiedLayerNormalization (x, skip, scale)"
    model = graph(body, 24, SKIP_INPUTS, "float[b, s, 8] y, float[b, s, 1] mean")
    miss = only_miss(applied(model, "lower/skip_norms")[1])
    assert (miss.kind, miss.reason) == ("precondition", "somebody reads the mean or the deviation")

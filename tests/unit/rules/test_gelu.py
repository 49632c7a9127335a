"""fuse/gelu, fuse/bias_gelu, lower/gelu_to_ms: every spelling that computes Gelu, and none that does not."""

from __future__ import annotations

import math
import re

import numpy as np
import onnx_ir as ir
import pytest

from tests.unit.rules.graphs import applied, distance, nodes, only_miss, parsed, run
from workbench.types import FLOAT_DTYPES, MS_DOMAIN

CONSTANTS = (
    "float half = {0.5}, float one = {1}, float two = {2}, float three = {3}, float c = {0.044715}, "
    "float k = {0.7978845608}, float r2 = {1.41421356}, float ir2 = {0.70710678}, float kc = {0.0356774081}"
)
CUBE = "x2 = Mul (x, x) x3 = Mul (x2, x)"
POWER = "x3 = Pow (x, three)"
INNER = "a = Mul (c, x3) b = Add (x, a) d = Mul (k, b) t = Tanh (d)"

TANH = {
    "half last": f"{POWER} {INNER} u = Add (t, one) v = Mul (x, u) y = Mul (half, v)",
    "half on the sum": f"{POWER} {INNER} u = Add (t, one) v = Mul (half, u) y = Mul (x, v)",
    "half on x, cube by products": f"{CUBE} {INNER} u = Add (one, t) v = Mul (x, half) y = Mul (v, u)",
    "multiplied out": f"{CUBE} {INNER} h = Mul (x, half) i = Mul (h, t) y = Add (i, h)",
    "x taken out": "x2 = Mul (x, x) e = Mul (kc, x2) f = Add (k, e) d = Mul (x, f) t = Tanh (d) u = Add (t, one) "
    "v = Mul (x, u) y = Div (v, two)",
    "constants by nodes": "c1 = Constant <value_float = 0.044715> () x2 = Mul (x, x) x3 = Mul (x2, x) a = Mul (x3, c1) "
    "b = Add (a, x) d = Mul (b, k) t = Tanh (d) u = Add (t, one) v = Mul (u, x) y = Mul (v, half)",
}
ERF = {
    "half last": "e = Div (x, r2) f = Erf (e) g = Add (one, f) h = Mul (x, g) y = Mul (h, half)",
    "half first": "e = Mul (x, ir2) f = Erf (e) g = Add (f, one) h = Mul (half, x) y = Mul (h, g)",
    "half on the sum": "e = Div (x, r2) f = Erf (e) g = Add (f, one) h = Mul (g, half) y = Mul (x, h)",
    "half inside": "e = Div (x, r2) f = Erf (e) i = Mul (f, half) g = Add (i, half) y = Mul (x, g)",
    "root in the graph": "s = Sqrt (two) e = Div (x, s) f = Erf (e) g = Add (one, f) h = Mul (x, g) y = Div (h, two)",
    "odd function": "n = Neg (x) e = Div (n, r2) f = Erf (e) g = Sub (one, f) h = Mul (x, g) y = Mul (h, half)",
}
X = {"x": np.linspace(-7, 7, 96, dtype=np.float32).reshape(2, 6, 8)}


def graph(body: str, opset: int = 20, constants: str = CONSTANTS, outputs: str = "float[b, s, 8] y") -> ir.Model:
    return parsed(
        f'<ir_version: 10, opset_import: ["" : {opset}]> g (float[b, s, 8] x) => ({outputs}) <{constants}> {{ {body} }}'
    )


def formula(x: np.ndarray, approximate: str) -> np.ndarray:
    wide = x.astype(np.float64)
    if approximate == "tanh":
        return 0.5 * wide * (1 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)))
    return 0.5 * wide * (1 + np.vectorize(math.erf)(wide / math.sqrt(2)))


@pytest.mark.parametrize(
    ("approximate", "body"),
    [*(("tanh", body) for body in TANH.values()), *(("none", body) for body in ERF.values())],
    ids=[*(f"tanh, {name}" for name in TANH), *(f"erf, {name}" for name in ERF)],
)
def test_every_spelling(approximate: str, body: str) -> None:
    """One node, the right formula of the two (they differ by 4.7e-4), and nothing of the spelling left."""
    model = graph(body)
    after, report = applied(model, "fuse/gelu")
    assert (report.candidates, report.applied) == (1, 1)
    (node,) = (n for n in after.graph if n.op_type != "Constant")
    assert (node.op_type, node.attributes["approximate"].value) == ("Gelu", approximate)
    assert distance(model, after, X) <= 2e-6
    assert np.abs(run(after, X)["y"] - formula(X["x"], approximate)).max() <= 2e-6


def test_two_results_around_one_tanh() -> None:
    body = f"{POWER} {INNER} u = Add (t, one) v = Mul (x, u) y = Mul (half, v) w = Mul (half, u) z = Mul (x, w)"
    model = graph(body, outputs="float[b, s, 8] y, float[b, s, 8] z")
    after, report = applied(model, "fuse/gelu")
    assert (report.candidates, report.applied) == (1, 1)
    assert [n.op_type for n in after.graph] == ["Gelu", "Gelu"]
    assert [value.name for value in after.graph.outputs] == ["y", "z"]
    assert distance(model, after, X) <= 2e-6


def test_a_part_that_somebody_else_reads_stays() -> None:
    model = graph(ERF["half last"], outputs="float[b, s, 8] y, float[b, s, 8] g")
    after, report = applied(model, "fuse/gelu")
    assert report.applied == 1
    assert sorted(n.op_type for n in after.graph) == ["Add", "Div", "Erf", "Gelu"]
    assert distance(model, after, X) <= 2e-6


def test_what_follows_is_not_taken() -> None:
    """As in a gated feed-forward, with an identity behind."""
    model = graph(f"{ERF['half last'].replace('y =', 'z =')} w = Identity (z) y = Mul (w, x)")
    after, report = applied(model, "fuse/gelu")
    assert report.applied == 1
    assert sorted(n.op_type for n in after.graph) == ["Gelu", "Identity", "Mul"]
    assert distance(model, after, X) <= 1e-5


@pytest.mark.parametrize("word", ["float16", "bfloat16"])
def test_constants_rounded_to_half_precision(word: str) -> None:
    model, dtype = graph(TANH["half last"]), FLOAT_DTYPES[word]
    for value in model.graph.initializers.values():
        assert value.const_value is not None
        value.const_value = ir.tensor(value.const_value.numpy().astype(dtype.numpy()), name=value.name)
    for value in (*model.graph.initializers.values(), *model.graph.inputs, *model.graph.outputs):
        value.dtype = dtype
    after, report = applied(model, "fuse/gelu", dtype=dtype)
    assert report.applied == 1
    assert [n.op_type for n in after.graph] == ["Gelu"]


NEAR_MISSES = {
    "no half": (
        "e = Div (x, r2) f = Erf (e) g = Add (one, f) y = Mul (x, g)",
        "it computes 2 times Gelu: a factor is missing, or one too many",
    ),
    "no half, tanh": (
        f"{POWER} {INNER} u = Add (t, one) y = Mul (x, u)",
        "it computes 2 times Gelu: a factor is missing, or one too many",
    ),
    "another constant": (TANH["half last"].replace("(c,", "(half,"), "tanh"),
    "a constant one percent off": (f"c2 = Sub (c, tiny) {TANH['half last'].replace('(c,', '(c2,')}", "tanh"),
    "not divided by the root of two": ("f = Erf (x) g = Add (one, f) h = Mul (x, g) y = Mul (h, half)", "none"),
    "one taken off": ("e = Div (x, r2) f = Erf (e) g = Sub (f, one) h = Mul (x, g) y = Mul (h, half)", "none"),
    "the inside of one, the function of the other": (TANH["half last"].replace("Tanh", "Erf"), "none"),
    "silu": ("a = Mul (x, half) t = Tanh (a) u = Add (t, one) v = Mul (x, u) y = Mul (half, v)", "tanh"),
}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_a_near_miss_is_left_alone_with_the_reason(name: str) -> None:
    """The reason gives a point, what the graph computes there and what Gelu gives: all three are true."""
    body, expected = NEAR_MISSES[name]
    model = graph(body, constants=f"{CONSTANTS}, float tiny = {{0.0005}}")
    before = [node.op_type for node in model.graph]
    after, report = applied(model, "fuse/gelu")
    miss = only_miss(report)
    assert (report.candidates, miss.kind) == (1, "precondition")
    assert [node.op_type for node in after.graph] == before
    if not expected.startswith("it computes"):
        said = re.fullmatch(r"it computes (\S+) at x = (\S+), where Gelu gives (\S+)", miss.reason)
        assert said, miss.reason
        found, x, wanted = map(float, said.groups())
        assert wanted == pytest.approx(formula(np.array(x), expected), rel=1e-3)
        assert found == pytest.approx(run(model, {"x": np.full((1, 1, 8), x, np.float32)})["y"][0, 0, 0], rel=1e-3)
        assert abs(found - wanted) > 1e-4
    else:
        assert miss.reason == expected


def test_an_old_opset_has_no_gelu() -> None:
    _, report = applied(graph(ERF["half last"], opset=17), "fuse/gelu")
    assert only_miss(report).reason == "the graph is of opset 17, and the standard has Gelu from 20 on"


def test_a_constant_that_adds_axes() -> None:
    constants = CONSTANTS.replace("float half = {0.5}", "float[1, 1, 1, 1] half = {0.5}")
    _, report = applied(graph(ERF["half last"], constants=constants, outputs="float[1, b, s, 8] y"), "fuse/gelu")
    miss = only_miss(report)
    assert (miss.kind, miss.reason) == ("unmatched", "a constant gives the result more axes than its input has")


@pytest.mark.parametrize(
    "body",
    ["y = Tanh (x)", "y = Erf (x)", "a = Div (x, two) t = Tanh (a) y = Mul (t, two)", "t = Tanh (x) y = Add (t, one)"],
    ids=["tanh", "erf", "soft cap", "sigmoid-like"],
)
def test_other_uses_of_the_functions_are_no_candidates(body: str) -> None:
    _, report = applied(graph(body), "fuse/gelu")
    assert (report.candidates, report.misses) == (0, ())


def test_a_gate_from_elsewhere_is_no_candidate() -> None:
    model = parsed(
        '<ir_version: 10, opset_import: ["" : 20]> g (float[b, 8] x, float[b, 8] up) => (float[b, 8] y) '
        "{ t = Tanh (x) y = Mul (t, up) }"
    )
    assert applied(model, "fuse/gelu")[1].candidates == 0


# --- bias_gelu ------------------------------------------------------------------------------------------
BIAS = "float[8] bias = {1, -2, 3, 0.5, 0.1, 0, 0.2, -1}"


@pytest.mark.parametrize("order", ["x, bias", "bias, x"])
@pytest.mark.parametrize(("approximate", "op_type"), [("none", "BiasGelu"), ("tanh", "FastGelu")])
def test_bias_and_gelu_become_one_node(approximate: str, op_type: str, order: str) -> None:
    model = graph(f'a = Add ({order}) y = Gelu <approximate = "{approximate}"> (a)', constants=BIAS)
    after, report = applied(model, "fuse/bias_gelu")
    assert (report.candidates, report.applied) == (1, 1)
    (node,) = after.graph
    assert (node.op_type, node.domain) == (op_type, MS_DOMAIN)
    assert [value.name for value in node.inputs] == ["x", "bias"]
    bias = np.array([1, -2, 3, 0.5, 0.1, 0, 0.2, -1], np.float32)
    assert np.abs(run(after, X)["y"] - formula(X["x"] + bias, approximate)).max() <= 2e-6
    assert distance(model, after, X) <= 2e-6


def test_from_a_spelling_to_one_node() -> None:
    model = graph(f"z = Add (x, bias) {ERF['half last'].replace('(x,', '(z,')}", constants=f"{CONSTANTS}, {BIAS}")
    after, _ = applied(model, "fuse/gelu", "fuse/bias_gelu")
    assert [n.op_type for n in after.graph] == ["BiasGelu"]
    assert distance(model, after, X) <= 2e-6


BIAS_MISSES = {
    "scalar": ("float bias = {0.5}", "a = Add (x, bias) y = Gelu (a)", "the bias is not one number per entry"),
    "two axes": (
        "float[1, 8] bias = {1, 2, 3, 4, 5, 6, 7, 8}", "a = Add (x, bias) y = Gelu (a)",
        "the bias is not one number per entry",
    ),
    "another reader": (
        BIAS, "a = Add (x, bias) g = Gelu (a) y = Mul (a, g)",
        "somebody else reads the biased value, which the kernel does not give",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BIAS_MISSES)
def test_a_bias_that_the_kernel_cannot_take(name: str) -> None:
    constants, body, reason = BIAS_MISSES[name]
    _, report = applied(graph(body, constants=constants), "fuse/bias_gelu")
    miss = only_miss(report)
    assert (miss.kind, miss.reason.startswith(reason)) == ("precondition", True)


def test_a_residual_sum_is_no_bias() -> None:
    assert applied(graph("a = Add (x, x) y = Gelu (a)"), "fuse/bias_gelu")[1].candidates == 0


@pytest.mark.parametrize(("approximate", "op_type"), [("none", "Gelu"), ("tanh", "FastGelu")])
def test_gelu_by_its_older_name(approximate: str, op_type: str) -> None:
    model = graph(f'y = Gelu <approximate = "{approximate}"> (x)')
    after, report = applied(model, "lower/gelu_to_ms")
    assert report.applied == 1
    assert len(nodes(after, op_type, MS_DOMAIN)) == len(after.graph) == 1
    assert distance(model, after, X) <= 2e-6

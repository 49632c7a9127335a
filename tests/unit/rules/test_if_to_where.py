"""lower/if_to_where on an If of any graph: both branches are computed, unless one of them must not be."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from tests.unit.rules.graphs import applied, distance, nodes, only_miss, parsed
from workbench import optimize
from workbench.ep import execution_providers

RULE = "lower/if_to_where"


def graph(
    yes: str = "a = Neg (x)", no: str = "b = Mul (x, x)", sizes: tuple[str, str] = ("n, 3", "n, 3"), more: str = "",
    condition: str = "bool", dtypes: tuple[str, str] = ("float", "float"),
) -> ir.Model:  # fmt: skip
    return parsed(f"""<ir_version: 10, opset_import: ["" : 21]>
      g (float[n, 3] x, {condition} c, int64[2] at) => (float[n, 3] y) {{
        z = If (c) <
          then_branch = yes () => ({dtypes[0]}[{sizes[0]}] a) {{ {yes} }},
          else_branch = no () => ({dtypes[1]}[{sizes[1]}] b) {{ {no} }}>
        {more} y = Relu (z) }}""")


def arrays(choice: bool, condition: str = "bool") -> dict[str, np.ndarray]:
    x = np.random.default_rng(4).standard_normal((2, 3), np.float32)
    return {"x": x, "c": np.array([choice] if "[" in condition else choice), "at": np.array([0, 1])}


MATCHES = {
    "two formulas": {},
    "what is there already": {"yes": "a = Identity (x)", "no": "b = Sin (x)"},
    "several nodes": {"yes": "t = Exp (x) a = Sqrt (t)", "no": "k = Constant <value_float = 2.0> () b = Mul (x, k)"},
    "a condition of one axis": {"condition": "bool[1]"},
}


@pytest.mark.parametrize("choice", [True, False])
@pytest.mark.parametrize("name", MATCHES)
def test_a_choice_is_computed(name: str, choice: bool) -> None:
    model = graph(**MATCHES[name])
    after, report = applied(model, RULE)
    assert (report.candidates, report.applied, len(nodes(after, "Where"))) == (1, 1, 1)
    assert not nodes(after, "If")
    assert distance(model, after, arrays(choice, MATCHES[name].get("condition", ""))) == 0.0


@pytest.mark.parametrize("choice", [True, False])
def test_initializers_of_a_branch_and_several_outputs(choice: bool) -> None:
    model = parsed("""<ir_version: 10, opset_import: ["" : 21]>
      g (float[n, 3] x, bool c) => (float[n, 3] y, float[n, 3] z) {
        y, z = If (c) <
          then_branch = yes () => (float[n, 3] a, float[n, 3] b) <float[3] w = {1, 2, 3}>
            { a = Add (x, w) b = Neg (a) },
          else_branch = no () => (float[n, 3] d, float[n, 3] e) <float[3] w = {4, 5, 6}>
            { d = Mul (x, w) e = Sin (d) }>
      }""")
    after, report = applied(model, RULE)
    assert (report.applied, len(nodes(after, "Where"))) == (1, 2)
    assert distance(model, after, {n: a for n, a in arrays(choice).items() if n != "at"}) == 0.0


@pytest.mark.parametrize("name", execution_providers())
def test_no_if_remains_where_none_may(name: str) -> None:
    model = graph()
    made = optimize(model, execution_provider=name).model
    assert len(nodes(made, "If")) == (name in ("cpu", "cuda", "default", "onnx-standard"))
    for choice in (True, False):
        assert distance(model, made, arrays(choice)) <= 1e-6


NEAR_MISSES = {
    "an index out of range": (
        {"no": "b = Gather <axis = 0> (x, at)"}, "precondition",
        "its else branch holds Gather, which may fail or differ where it is not to be computed",
    ),
    "chance": (
        {"yes": "a = RandomNormalLike (x)"}, "precondition",
        "its then branch holds RandomNormalLike, which may fail or differ where it is not to be computed",
    ),
    "other shapes": (
        {"no": "b = ReduceMax <keepdims = 1> (x)", "sizes": ("n, 3", "1, 1")}, "precondition",
        "branches differ in the shape of output 0 ([n,3] and [1,1])",
    ),
    "sizes without names": (
        {"sizes": ("?, 3", "?, 3")}, "precondition",
        "the sizes of output 0 have no names: nobody knows whether they agree",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_a_near_miss_is_left_alone_with_the_reason(name: str) -> None:
    words, kind, reason = NEAR_MISSES[name]
    after, report = applied(graph(**words), RULE)
    miss = only_miss(report)
    assert (report.candidates, miss.kind, miss.reason) == (1, kind, reason)
    assert len(nodes(after, "If")) == 1


def test_planted() -> None:
    """Three choices, one of which may fail: 2 of 3 and one reason."""
    one = """If (c) < then_branch = y{i} () => (float[n, 3] a{i}) {{ a{i} = Neg (x) }},
      else_branch = n{i} () => (float[n, 3] b{i}) {{ b{i} = {op} }}>"""
    ops = ("Exp (x)", "Gather <axis = 0> (x, at)", "Sin (x)")
    body = " ".join(f"o{i} = {one.format(i=i, op=op)}" for i, op in enumerate(ops))
    model = parsed(f"""<ir_version: 10, opset_import: ["" : 21]> g (float[n, 3] x, bool c, int64[2] at)
      => (float[n, 3] o0, float[n, 3] o1, float[n, 3] o2) {{ {body} }}""")
    for number, node in enumerate(model.graph):
        node.name = f"choice_{number}"
    after, report = applied(model, RULE)
    assert (report.candidates, report.applied, [m.kind for m in report.misses]) == (3, 2, ["precondition"])
    assert (len(nodes(after, "If")), len(nodes(after, "Where"))) == (1, 2)
    assert distance(model, after, arrays(True)) == distance(model, after, arrays(False)) == 0.0

"""Why nodes went and came: each explanation has a graph that it fits and one that it does not."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from tests.unit.analysis.diff.graphs import FLOAT, chain, model, node, pair, recipe, value, weight
from tests.unit.analysis.diff.variants import renamed
from workbench.analysis.diff import GraphDiff, diff
from workbench.ep import get_ep
from workbench.optimize import optimize


def steps(found: GraphDiff) -> list[tuple[str, list[str], list[str]]]:
    def ops(indices: tuple[int, ...]) -> list[str]:
        return [found.info(found.entries[i]).op_type for i in indices]

    return [(group.rule, ops(group.before), ops(group.after)) for group in found.groups]


def matmul(*, turned: bool, other: bool = False) -> ir.Model:
    x, stored = value("x", ["B", 2]), np.arange(6, dtype=np.float32).reshape(3, 2)
    w = weight("w", stored) if turned else weight("w.T", stored.T.copy() + other)
    nodes = [node("Transpose", [w], "t", perm=[1, 0])] if turned else []
    nodes.append(node("MatMul", [x, nodes[0].outputs[0] if turned else w], "m"))
    nodes[-1].outputs[0].shape = ir.Shape(["B", 3])
    return model([x], [nodes[-1].outputs[0]], nodes, [w])


def test_a_transpose_that_went_into_a_weight() -> None:
    found = diff(matmul(turned=True), matmul(turned=False))
    assert steps(found) == [("fold", ["Transpose"], [])] and found.counts["same"] == 1
    assert steps(diff(matmul(turned=False), matmul(turned=True))) == [("fold", [], ["Transpose"])]


def test_identities_and_merged_nodes() -> None:
    x = value("x")
    one, two = node("Relu", [x], "one"), node("Relu", [x], "two")
    add = node("Add", [one.outputs[0], two.outputs[0]], "add")
    last = node("Identity", [add.outputs[0]], "id")
    end = node("Neg", [last.outputs[0]], "neg")
    before = model([x], [end.outputs[0]], [one, two, add, last, end])
    after = before.clone()
    nodes = {n.name: n for n in after.graph}
    nodes["add"].replace_input_with(1, nodes["one"].outputs[0])
    nodes["neg"].replace_input_with(0, nodes["add"].outputs[0])
    for name in ("two", "id"):
        after.graph.remove(nodes[name], safe=True)
    found = diff(before, after, provenance=False)
    assert sorted(steps(found)) == [("cse", ["Relu"], []), ("identity", ["Identity"], [])]
    assert found.counts["changed"] == 0


def test_a_node_without_readers_is_unused() -> None:
    before = chain("Relu", "Exp")
    before.graph.append(node("Neg", [before.graph[0].outputs[0]], "dead"))
    assert steps(diff(before, chain("Relu", "Exp"))) == [("unused", ["Neg"], [])]


def test_a_removed_node_that_did_something_is_not_explained() -> None:
    found = diff(chain("Relu", "Neg", "Exp"), chain("Relu", "Exp"), provenance=False)
    assert not found.groups and [found.info(e).op_type for e in found.unexplained] == ["Neg"]
    assert found.counts["changed"] == 0


def test_a_region_between_the_same_values_is_replaced() -> None:
    before, after = chain("Relu", "Neg", "Exp", "Abs"), chain("Relu", "Softplus", "Abs")
    found = diff(before, after, provenance=False)
    assert steps(found) == [("replaced", ["Neg", "Exp"], ["Softplus"])] and not found.unexplained


@pytest.mark.parametrize(("length", "explained"), [(15, True), (16, False)])
def test_how_large_a_region_may_be(length: int, explained: bool) -> None:
    found = diff(chain("Relu", *["Neg"] * length, "Abs"), chain("Relu", "Softplus", "Abs"), provenance=False)
    assert bool(found.groups) == explained


def with_function(*, inlined: bool) -> ir.Model:
    x = value("x")
    a = value("a")
    body = [n1 := node("Sigmoid", [a], "b0"), n2 := node("Mul", [a, n1.outputs[0]], "b1")]
    function = ir.Function("mine", "Swish", "", graph=ir.Graph([a], [n2.outputs[0]], nodes=body), attributes=[])
    first = node("Relu", [x], "first")
    if inlined:
        inner = [m1 := node("Sigmoid", [first.outputs[0]], "i0"), node("Mul", [first.outputs[0], m1.outputs[0]], "i1")]
    else:
        inner = [node("Swish", [first.outputs[0]], "call", domain="mine")]
    last = node("Abs", [inner[-1].outputs[0]], "last")
    functions = [] if inlined else [function]
    return model([x], [last.outputs[0]], [first, *inner, last], functions=functions, opsets={"": 23, "mine": 1})


def test_a_call_that_was_replaced_by_its_body() -> None:
    found = diff(with_function(inlined=False), with_function(inlined=True))
    assert steps(found) == [("inline", ["Swish", "Sigmoid", "Mul"], ["Sigmoid", "Mul"])]
    assert {info.graph for info in found.a} == {"", "function mine.Swish"}


def test_our_rules_name_what_they_made_of_what() -> None:
    found = diff(*pair("llama", "cpu", "default"))
    by_rule = {str(step) for step in found.summary().steps}
    assert "fuse/skip_rms_norm x 4: Add, RMSNormalization -> com.microsoft.SkipSimplifiedLayerNormalization" in by_rule
    fused = [s for s in found.summary().steps if s.rule == "fuse/gqa fuse/pack_qkv"]
    assert sum(s.count for s in fused) == 2 and all("3 MatMul" in s.before for s in fused)
    assert not found.unexplained


def test_two_providers_graphs_are_compared_through_the_generic_one() -> None:
    found = diff(pair("llama", "cpu")[1], pair("llama", "dml")[1])
    assert found.method == "provenance" and not found.unexplained
    assert any(" | " in group.rule for group in found.groups)


def test_the_report_of_optimize_is_taken_too() -> None:
    generic = pair("llama", "cpu")[0]
    found = diff(generic, optimize(generic, execution_provider="cpu"))
    assert found.labels == (generic.graph.name, "cpu") and found.groups and not found.unexplained


def test_a_foreign_rewriters_rule_name_is_taken() -> None:
    before, after = chain("Relu", *["Neg"] * 20, "Abs"), chain("Relu", "Softplus", "Abs")
    for one in before.graph:
        one.metadata_props["namespace"] = ""
    for one in after.graph:
        one.metadata_props["namespace"] = ""
    after.graph[1].metadata_props["pkg.onnxscript.rewriter.rule_name"] = "NegsToSoftplus, Other"
    found = diff(before, after)
    assert [group.rule for group in found.groups] == ["NegsToSoftplus Other"]


def test_layers_that_differ_alike_stand_together() -> None:
    made = recipe("llama", num_hidden_layers=6)
    package = made.package(get_ep("dml"), FLOAT)
    generic, after = package.generic["model"], package.model
    runs = diff(generic, after).runs
    assert [(run.prefix, run.indices) for run in runs] == [("model.layers", (0,)), ("model.layers", (1, 2, 3, 4, 5))]
    other = after.clone()
    victim = next(n for n in other.graph if n.name and "layers.4/mlp/Sigmoid" in n.name)
    victim.attributes["odd"] = ir.AttrInt64("odd", 1)
    assert [run.indices for run in diff(generic, other).runs] == [(0,), (1, 2, 3, 5), (4,)]
    assert not diff(renamed(generic), renamed(after)).runs  # no scopes, no layers

"""The nearest miss and the nodes around it, from the final graph and from the recorded moment."""

from __future__ import annotations

import functools
import itertools

import onnx_ir as ir
import pytest

from tests.unit.rules import test_gqa, test_pack_qkv
from tests.unit.rules.graphs import config, each, llama
from workbench import optimize
from workbench.analysis.fusion_details import COLUMNS, PARTIAL, FusionDetails, fusion_details
from workbench.analysis.near_miss import MOST_NODES, NearMiss, near_miss
from workbench.analysis.rebuilt import rebuilt
from workbench.optimize import Optimized
from workbench.rules.report import Miss

LAYERS = 2
WANTS = "pattern wants ep_workbench.CausalMask or ep_workbench.SlidingWindowMask"


@functools.cache
def missed(execution_provider: str = "webgpu", record: bool = True, name: str = "negated mask") -> Optimized:
    model = each(llama(), "Attention", test_gqa.NEAR_MISSES[name][0])
    for number, node in enumerate(n for n in model.graph if n.op_type == "Not"):
        node.name = f"not/{number}"
    return optimize(model, execution_provider=execution_provider, record=record)


@functools.cache
def between() -> Optimized:
    model = llama()
    test_pack_qkv.NEAR_MISSES["something between"][0](model)
    return optimize(model, execution_provider="cpu")


def first(made: Optimized) -> NearMiss:
    return near_miss(made.report.misses[0], made.model, recording=made.recording)


def test_the_moment_when_the_rule_looked() -> None:
    """webgpu takes the attention apart later, so that the final graph has no such node."""
    made = missed()
    assert made.report.misses[0].node not in {node.name for node in made.model.graph}
    found = first(made)
    assert (found.moment, found.op, found.kind) == ("when the rule looked", "Attention", "unmatched")
    assert [pair.state for pair in found.alignment.pairs] == ["mismatch", "ok", "ok", "ok"]
    assert found.verdict == f"3 of 4 lines agree; {WANTS}, graph has Not 'not/0'."
    assert found.at == "not/0"


def test_without_a_recording_a_node_that_is_gone_is_said_to_be() -> None:
    made = missed(record=False)
    found = first(made)
    assert (found.moment, found.nodes, found.alignment.pairs) == ("", (), ())
    assert found.verdict.startswith(f"The node is not in the final graph, it became '{found.node}/attention/")
    assert found.verdict.endswith("With record=True the graph is kept as the rule saw it.")


def test_the_final_graph_serves_where_the_node_is_still_there() -> None:
    made = between()
    assert made.recording is None
    found = first(made)
    assert found.moment == "the final graph"
    assert "pattern wants MatMul, graph has Neg" in found.verdict


def test_everything_agrees_and_the_reason_says_what_does_not() -> None:
    made = missed("cpu", True, "causal twice")
    assert first(made).verdict == (
        "Every line of the pattern agrees. What the rule refused is none of its shape: is_causal is set beside a mask."
    )


@pytest.mark.parametrize("made", [missed, between])
def test_the_nodes_around_the_anchor(made: object) -> None:
    found = first(made())
    marks = {node.name: node.mark for node in found.nodes}
    assert 3 < len(found.nodes) <= MOST_NODES
    assert found.nodes[0].name == found.node and marks[found.node] == "anchor"
    assert list(marks.values()).count("differs") == 1
    places = set(itertools.chain.from_iterable((edge.source, edge.target) for edge in found.edges))
    assert places == set(range(len(found.nodes))), "a node without a line to any other"


def test_the_edges_are_those_of_the_graph() -> None:
    made = between()
    found = first(made)
    makers = {value.name: node.name for node in made.model.graph for value in node.outputs}
    readers = {(value.name, node.name) for node in made.model.graph for value in node.inputs if value is not None}
    for edge in found.edges:
        assert makers[edge.value] == found.nodes[edge.source].name
        assert (edge.value, found.nodes[edge.target].name) in readers


def test_a_graph_input_where_a_node_is_wanted() -> None:
    found = first(missed("cpu", True, "float bias"))
    (end,) = (node for node in found.nodes if node.mark == "differs")
    assert (end.name, end.op) == ("bias", "graph input")
    assert [found.nodes[edge.target].op for edge in found.edges if edge.value == "bias"] == ["Attention"]


def test_a_rule_of_somebody_else_has_no_pattern() -> None:
    made = between()
    node = next(iter(made.model.graph)).name or ""
    found = near_miss(Miss("fuse/mine", node, "", "fact", "no"), made.model)
    assert found.verdict == "The rule has no pattern to read; the reason is all there is."
    assert found.nodes and "This rule has no pattern to read." in found._repr_html_()


def test_texts() -> None:
    found = first(missed())
    assert repr(found) == f"NearMiss(fuse/gqa at {found.node}: {found.verdict})"
    assert str(found).splitlines()[1].startswith("  ≠ mask = ep_workbench.CausalMask | ")
    html = found._repr_html_()
    assert "≠" in html and "graph has Not &#x27;not/0&#x27;" in html
    assert list(found.to_frame()["state"]) == ["mismatch", "ok", "ok", "ok"]


def test_a_rebuilt_graph_is_that_of_the_moment() -> None:
    model = llama()
    made = optimize(model, execution_provider="cpu", record=True)
    assert made.recording is not None
    graph = rebuilt(made.recording, 0)
    assert [(n.name, n.op_type, n.domain) for n in graph] == [(n.name, n.op_type, n.domain) for n in model.graph]
    held = {v.name for v in graph.initializers.values()}
    assert held == {v.name for n in model.graph for v in n.inputs if v is not None and v.is_initializer()}
    assert {v.name for v in graph.inputs} == {v.name for v in model.graph.inputs if v.uses()}
    assert isinstance(graph, ir.Graph)


# --- details --------------------------------------------------------------------------------------------
@functools.cache
def details() -> FusionDetails:
    """Two providers: webgpu misses each attention; cpu keeps RoPE outside, and onnx-standard plans nothing of it."""
    wide = optimize(llama(config(head_dim=24)), execution_provider="cpu", record=True)
    made = {"webgpu": missed(), "cpu": wide}
    recordings = {name: o.recording for name, o in made.items() if o.recording is not None}
    reports = {name: o.report for name, o in made.items()}
    return fusion_details(reports, {name: o.model for name, o in made.items()}, recordings)


def test_layers_are_folded() -> None:
    fold = details().folds[0]
    assert (fold.execution_provider, fold.rule, fold.kind) == ("webgpu", "fuse/gqa", "unmatched")
    assert fold.where == "model.layers.0-1.self_attn (2)"
    assert fold.scopes == ("model.layers.0.self_attn", "model.layers.1.self_attn")
    assert len(fold.nodes) == LAYERS and fold.near.node == fold.nodes[0]


def test_what_stayed_outside_is_partial() -> None:
    (fold,) = (f for f in details().folds if f.kind == PARTIAL)
    assert fold.reason == "RoPE stays outside: its tables are 12 wide and the kernel needs a multiple of 8"
    assert fold.near.moment == "when the rule looked" and fold.near.alignment.complete
    (line,) = (x for x in details().lines if x.execution_provider == "cpu" and x.rule == "fuse/gqa")
    assert (line.candidates, line.applied, line.partial) == (LAYERS, LAYERS, LAYERS)


def test_the_numbers_are_those_of_the_reports() -> None:
    frame = details().to_frame()
    assert list(frame.columns) == COLUMNS
    row = frame[(frame["execution_provider"] == "webgpu") & (frame["rule"] == "fuse/gqa")].iloc[0]
    assert row["unmatched"] == LAYERS == row["candidates"] and row["applied"] == 0


def test_details_print_and_display() -> None:
    assert repr(details()).startswith("FusionDetails(applied/candidates)\n  webgpu: fuse/gqa 0/2, ")
    assert "  webgpu fuse/gqa: model.layers.0-1.self_attn (2): unmatched: attn_mask is made by Not" in repr(details())
    html = details()._repr_html_()
    assert "Nearest misses" in html and "Rewrites applied of candidates" in html and "3 of 4 lines agree" in html


def test_nothing_planned_and_nothing_missed() -> None:
    made = optimize(llama(), execution_provider="cpu")
    found = fusion_details({"cpu": made.report}, {"cpu": made.model})
    assert found.folds == () and "no misses" in found._repr_html_() and "Nearest misses" not in found._repr_html_()
    assert fusion_details({}).execution_providers == ()

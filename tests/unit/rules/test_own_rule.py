"""A rule of one's own: planned from facts like the built-in ones, fired on every layer, with the same numbers."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

import onnx_ir as ir
import pytest

from tests.unit.rules.graphs import config, distance, feeds, llama, nodes
from workbench import ArgumentError, get_ep, optimize, register_ep
from workbench.analysis.fusion_details import fusion_details
from workbench.ep import execution_providers, unregister_ep
from workbench.ep.base import kernel
from workbench.errors import FusionError, UnknownNameError, WorkbenchError
from workbench.rules import RULES, Refusal, Rewrite, Rule, Site
from workbench.rules.graph import made_by, new, required
from workbench.types import MS_DOMAIN, OpId, Stage

MUL, SIGMOID, QUICK_GELU = OpId("Mul"), OpId("Sigmoid"), OpId("QuickGelu", MS_DOMAIN)


def rewrite(site: Site) -> Rewrite:
    x, gate = required(site.node, 0), required(site.node, 1)
    sigmoid = made_by(gate, SIGMOID)
    if sigmoid is None or required(sigmoid, 0) is not x:
        raise Refusal("the second factor is not a Sigmoid of the first", kind="unmatched")
    fused = new(QUICK_GELU, [x], like=[site.node.outputs[0]], alpha=1.0)
    return Rewrite([fused], {site.node.outputs[0]: fused.outputs[0]})


def is_gated(node: ir.Node) -> bool:
    return any(made_by(value, SIGMOID) for value in node.inputs)


SILU = Rule(
    name="fuse/silu", stage=Stage.FUSE, anchors=(MUL,), looks_at=is_gated, removes=frozenset({MUL, SIGMOID}),
    produces=frozenset({QUICK_GELU}), rewrite=rewrite, needs="a Mul of x and Sigmoid(x)",
)  # fmt: skip


@pytest.fixture
def cpu_with_quick_gelu() -> Iterator[str]:
    cpu = get_ep("cpu")
    fact = kernel(ir.DataType.FLOAT, source="ran here", confidence="measured")
    record = dataclasses.replace(cpu, name="cpu-quick-gelu", kernels={**cpu.kernels, QUICK_GELU: fact})
    register_ep(record)
    yield record.name
    unregister_ep(record.name)


def test_a_rule_whose_operator_nobody_vouches_for_is_not_planned() -> None:
    report = optimize(llama(config()), execution_provider="cpu", rules=(*RULES, SILU)).report
    assert ("fuse/silu", "cpu does not run com.microsoft.QuickGelu in float32") in report.skipped


def test_it_fires_on_every_layer_and_keeps_the_numbers(cpu_with_quick_gelu: str) -> None:
    generic = llama(config())
    made = optimize(generic, execution_provider=cpu_with_quick_gelu, rules=(*RULES, SILU))
    row = made.report.to_frame().set_index("rule").loc["fuse/silu"]
    layers = config().num_hidden_layers
    assert (row.candidates, row.applied, row.unmatched) == (layers, layers, 0)
    assert "QuickGelu" in {node.op_type for node in made.model.graph}
    assert distance(generic, made.model, feeds(config())) < 1e-5


def test_without_rules_nothing_is_done_to_the_nodes() -> None:
    made = optimize(llama(config()), execution_provider="cpu", rules=())
    assert made.report.rules == () and "GroupQueryAttention" not in {n.op_type for n in made.model.graph}


@pytest.mark.parametrize(
    ("rules", "said"),
    [(SILU, "rules"), ("fuse/gqa", "rules"), ([rewrite], "each of rules"), ((*RULES, RULES[0]), "'fuse/gqa' twice")],
)
def test_what_is_no_list_of_rules(rules: object, said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        optimize(llama(config()), execution_provider="cpu", rules=rules)


def test_the_registry_is_left_as_it_was() -> None:
    assert "cpu-quick-gelu" not in execution_providers()


# --- with a pattern -------------------------------------------------------------------------------------
READABLE = dataclasses.replace(SILU, pattern="gate = Sigmoid(x)\nout = Mul(x, gate)")


def test_its_nearest_miss_is_shown_with_its_own_pattern(cpu_with_quick_gelu: str) -> None:
    """The factors stand the other way round: a Mul of Sigmoid(x) and x, which this rule does not know."""
    model = llama(config())
    for node in nodes(model, "Mul"):
        first, second = node.inputs
        if any(made_by(value, SIGMOID) for value in node.inputs):
            node.replace_input_with(0, second)
            node.replace_input_with(1, first)
    made = optimize(model, execution_provider=cpu_with_quick_gelu, rules=(*RULES, READABLE))
    (fold,) = fusion_details({"mine": made.report}, {"mine": made.model}).folds
    assert (fold.rule, len(fold.nodes)) == ("fuse/silu", config().num_hidden_layers)
    gate, out = fold.near.alignment.pairs
    assert gate.sentence.startswith("pattern wants Sigmoid, graph has MatMul ")
    assert out.ok


def test_a_pattern_that_ends_elsewhere_is_refused() -> None:
    with pytest.raises(
        WorkbenchError,
        match="The pattern of rule 'fuse/silu' ends with Sigmoid, and the rule starts from Mul. The last",
    ):
        dataclasses.replace(SILU, pattern="out = Sigmoid(x)")


def test_a_pattern_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(WorkbenchError, match="Line 1 of a pattern is not understood"):
        dataclasses.replace(SILU, pattern="Mul x Sigmoid")


def answering(rewrite: Callable[[Site], Any], **words: Any) -> Rule:
    words = {"anchors": (SIGMOID,), "looks_at": lambda node: True, "produces": frozenset(), "rewrite": rewrite} | words
    return dataclasses.replace(SILU, **words)


def fails(site: Site) -> Rewrite:
    raise KeyError("a slip")


def reads_itself(site: Site) -> Rewrite:
    made = new(OpId("Neg"), [site.node.outputs[0]], like=[site.node.outputs[0]])
    return Rewrite([made], {site.node.outputs[0]: made.outputs[0]})


def looks_wrong(node: ir.Node) -> bool:
    raise ZeroDivisionError


WRONG: dict[str, tuple[Callable[[Site], Any], str]] = {
    "no answer": (lambda site: None, "answered NoneType; a rewrite returns a Rewrite, or raises Refusal"),
    "an old node": (lambda site: Rewrite([site.node], {}), r"\(Sigmoid\) as new, which is in a graph already"),
    "a ghost": (
        lambda site: Rewrite([], {site.node.outputs[0]: ir.Value(name="ghost")}), "puts 'ghost' in .* nothing makes it",
    ),
    "a cycle": (reads_itself, "Rule 'fuse/silu' made a cycle"),
}  # fmt: skip


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("kind", WRONG)
def test_an_answer_that_would_break_the_graph_is_refused(kind: str, record: bool) -> None:
    rewrite, text = WRONG[kind]
    given = llama(config())
    made = optimize(given, execution_provider="cpu", rules=(answering(rewrite),), record=record)
    (found,) = [d for d in made.report.diagnostics if d.code == "rule.raised"]
    assert re.search(text, found.message), found.message
    assert len(made.model.graph) == len(optimize(given, execution_provider="cpu", rules=()).model.graph)
    with pytest.raises(FusionError, match=text):
        optimize(given, execution_provider="cpu", rules=(answering(rewrite),), record=record, strict=True)


@pytest.mark.parametrize(
    ("rule", "said"),
    [(answering(fails), "raised KeyError: 'a slip'"), (answering(rewrite, looks_at=looks_wrong), "ZeroDivisionError")],
)
@pytest.mark.parametrize("record", [False, True])
def test_an_error_in_a_rule_is_told_with_the_rule(rule: Rule, said: str, record: bool) -> None:
    made = optimize(llama(config()), execution_provider="cpu", rules=(rule,), record=record)
    (found,) = [d for d in made.report.diagnostics if d.code == "rule.raised"]
    assert "fuse/silu" in found.message and said in found.message and "Refusal" in found.hint


def test_misses_have_one_of_three_kinds() -> None:
    with pytest.raises(UnknownNameError, match="Unknown kind of a miss 'nonsense'"):
        Refusal("because", kind="nonsense")


def test_a_pattern_is_text() -> None:
    with pytest.raises(ArgumentError, match="pattern must be a text of lines"):
        dataclasses.replace(SILU, pattern=7)


@pytest.mark.parametrize("field", ["removes", "produces", "optional"])
def test_facts_that_are_no_set_are_refused(field: str) -> None:
    change: dict[str, Any] = {field: (MUL,)}
    with pytest.raises(ArgumentError, match=f"{field} of the rule 'fuse/silu' must be a frozenset of OpIds; found tup"):
        dataclasses.replace(SILU, **change)


def test_rules_without_an_order_are_refused() -> None:
    rules: Any = {SILU}
    with pytest.raises(ArgumentError, match="rules must be a list of rules, .*; found set"):
        optimize(llama(config()), execution_provider="cpu", rules=rules)

"""Stages one can stop after, and rules that raise: a stage is done whole or not at all."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import onnx_ir as ir
import pytest

from tests.unit.rules.graphs import config, distance, feeds, llama, nodes, parsed
from tests.unit.rules.graphs import rule as built_in
from workbench import optimize
from workbench.ep import execution_providers
from workbench.errors import FusionError, UnknownNameError
from workbench.rules import RULES, Refusal, Rewrite, Rule, Site
from workbench.rules.graph import new, required
from workbench.types import OpId, Stage

STAGES = ("cleanup", "fuse", "lower", "fold")


# --- stop_after -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", execution_providers())
def test_a_stopped_run_is_the_beginning_of_a_whole_one(name: str) -> None:
    whole = optimize(llama(), execution_provider=name, record=True)
    assert whole.recording is not None and whole.report.stopped_after == ""
    lengths = []
    for stage in STAGES:
        made = optimize(llama(), execution_provider=name, record=True, stop_after=stage)
        assert made.recording is not None
        steps = made.recording.steps
        assert steps == whole.recording.steps[: len(steps)]
        assert {step.stage for step in steps} <= set(STAGES[: STAGES.index(stage) + 1])
        assert made.recording.end == whole.recording.end or stage != "fold"
        assert sorted(made.recording.end) == sorted(node.name or "" for node in made.model.graph)
        assert made.report.nodes_after == made.recording.counts[-1] == len(made.model.graph)
        lengths.append(len(steps))
    assert lengths == sorted(lengths) and lengths[-1] == len(whole.recording.steps)


@pytest.mark.parametrize("stage", STAGES)
def test_every_graph_in_between_computes_the_same(stage: str) -> None:
    made = optimize(llama(), execution_provider="webgpu", stop_after=stage)
    assert distance(llama(), made.model, feeds(config())) < 1e-5
    assert made.report.stopped_after == ("" if stage == "fold" else stage)
    assert ("stopped after" in repr(made)) == (stage != "fold")


def test_before_fold_nothing_is_called_illegal() -> None:
    text = """<ir_version: 10, opset_import: ["" : 20]> g (float[A, B, C] x) => (int64[3] y) { y = Shape (x) }"""
    codes = [d.code for d in optimize(parsed(text), execution_provider="webgpu", stop_after="fuse").report.diagnostics]
    assert codes == []
    assert optimize(parsed(text), execution_provider="webgpu").report.diagnostics[0].code == "legality.forbidden"


def test_an_unknown_stage() -> None:
    with pytest.raises(UnknownNameError, match="Unknown stage 'fused'. Did you mean 'fuse'?"):
        optimize(llama(), execution_provider="cpu", stop_after="fused")


# --- rules that raise -------------------------------------------------------------------------------------
MUL = OpId("Mul")


def _at_once(site: Site) -> Rewrite:
    raise RuntimeError("a bug")


def _after_one(site: Site) -> Rewrite:
    """Rewrites one, spoils the graph by hand, then fails."""
    done = sum("/bad/" in (node.name or "") for node in site.model.graph)
    if done == 1:
        site.model.graph.remove(nodes(site.model, "Gather")[0])
        raise KeyError("the second")
    made = new(MUL, list(site.node.inputs), like=[site.node.outputs[0]])
    return Rewrite([made], {site.node.outputs[0]: made.outputs[0]})


def _no_rewrite(site: Site) -> Rewrite:
    return None


def _of_elsewhere(site: Site) -> Rewrite:
    """A node that reads what no graph makes."""
    lost = new(MUL, list(site.node.inputs), like=[site.node.outputs[0]])
    made = new(MUL, [lost.outputs[0], required(site.node, 1)], like=[site.node.outputs[0]])
    return Rewrite([made], {site.node.outputs[0]: made.outputs[0]})


def _a_circle(site: Site) -> Rewrite:
    """A node that reads what is made from its own result."""
    after = next(use.node for use in site.node.outputs[0].uses())
    made = new(MUL, [after.outputs[0], required(site.node, 1)], like=[site.node.outputs[0]])
    return Rewrite([made], {site.node.outputs[0]: made.outputs[0]})


def _stands_already(site: Site) -> Rewrite:
    return Rewrite([site.node], {})


BAD: dict[str, tuple[Callable[[Site], Rewrite], str]] = {
    "at once": (_at_once, "raised RuntimeError: a bug"),
    "in the middle": (_after_one, "raised "),
    "no rewrite": (_no_rewrite, "answered NoneType"),
    "reads from elsewhere": (_of_elsewhere, "which no node of the graph makes"),
    "a circle": (_a_circle, "made a cycle"),
    "a node that stands already": (_stands_already, "in a graph already"),
}


def bad(rewrite: Callable[[Site], Rewrite]) -> Rule:
    return Rule("fuse/bad", Stage.FUSE, (MUL,), frozenset({MUL}), frozenset(), rewrite, "nothing")


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("case", BAD)
def test_a_rule_that_raises_leaves_no_trace(case: str, first: bool) -> None:
    rewrite, said = BAD[case]
    rules = (bad(rewrite), *RULES) if first else (*RULES, bad(rewrite))
    given = llama()
    before = ir.to_proto(given).SerializeToString(deterministic=True)
    made = optimize(given, execution_provider="webgpu", rules=rules, record=True)
    plain = optimize(given, execution_provider="webgpu", record=True)
    assert ir.to_proto(given).SerializeToString(deterministic=True) == before
    one, two = (ir.to_proto(m.model).SerializeToString(deterministic=True) for m in (made, plain))
    assert one == two
    assert (made.recording, made.report.rules) == (plain.recording, plain.report.rules)
    (finding,) = (d for d in made.report.diagnostics if d.code == "rule.raised")
    assert finding.severity == "error" and said in finding.message and finding.message.startswith("fuse/bad raised")
    assert finding.where in {node.name for node in given.graph} or case in ("a circle", "in the middle")
    assert "fuse/bad" in dict(made.report.skipped)


def test_a_lowering_that_raises() -> None:
    """What it should have taken away is still there, and said so."""
    broken = tuple(
        dataclasses.replace(rule, rewrite=_at_once) if rule.name == "lower/rms_norm" else rule for rule in RULES
    )
    made = optimize(llama(), execution_provider="trt-rtx", dtype="float32", rules=broken)
    whole = optimize(llama(), execution_provider="trt-rtx", dtype="float32")
    assert made.report.diagnostics[0].code == "rule.raised"
    assert nodes(made.model, "RMSNormalization") and not nodes(whole.model, "RMSNormalization")
    assert distance(llama(), made.model, feeds(config())) < 1e-5


def test_strict_raises_for_it() -> None:
    with pytest.raises(FusionError, match="fuse/bad raised RuntimeError: a bug; the graph is as if"):
        optimize(llama(), execution_provider="cpu", rules=(*RULES, bad(_at_once)), strict=True)


def test_two_rules_that_raise_and_one_that_follows() -> None:
    """What needs a rule that is gone goes too; all others run."""
    one = bad(_at_once)
    two = dataclasses.replace(bad(_no_rewrite), name="fuse/worse")
    after = dataclasses.replace(built_in("fuse/pack_qkv"), after=("fuse/bad",))
    rules = (one, *(after if rule.name == after.name else rule for rule in RULES), two)
    report = optimize(llama(), execution_provider="cpu", rules=rules).report
    assert [d.message.split(" raised")[0] for d in report.diagnostics] == ["fuse/bad", "fuse/worse"]
    assert dict(report.skipped)["fuse/pack_qkv"].startswith("it follows fuse/bad, and it raised RuntimeError")
    assert {r.rule for r in report.rules if r.applied} == {"fuse/gqa", "fuse/skip_rms_norm"}


def test_an_interrupt_is_no_bug_of_a_rule() -> None:
    def stop(site: Site) -> Rewrite:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        optimize(llama(), execution_provider="cpu", rules=(*RULES, bad(stop)))


def test_a_refused_rewrite_leaves_no_reader_behind() -> None:
    """What a rule had made before it refused would else read the mask for ever, and no input would be unused."""
    capped = llama(config(attn_logit_softcapping=2.0))
    made = optimize(capped, execution_provider="webgpu", stop_after="fuse")
    assert [rule.rule for rule in made.report.rules if rule.misses] == ["fuse/gqa"]
    graph = made.model.graph
    values = [*graph.inputs, *graph.initializers.values(), *(v for node in graph for v in node.outputs)]
    assert [value.name for value in values if any(use.node.graph is None for use in value.uses())] == []


# --- rules that anybody writes ----------------------------------------------------------------------------
CHAIN = """<ir_version: 10, opset_import: ["" : 20]>
g (float[2] x) => (float[2] y, float[2] z) { a = Abs (x) s = Sigmoid (a) b = Abs (s) z = Abs (b) y = Neg (b) }"""


def test_a_value_that_was_there_before_keeps_its_name() -> None:
    """Numbers here are not negative: Abs may go. The input stays x, and z is a copy."""

    def leave_out(site: Site) -> Rewrite:
        return Rewrite([], {site.node.outputs[0]: required(site.node, 0)})

    mine = Rule("fuse/no_abs", Stage.FUSE, (OpId("Abs"),), frozenset(), frozenset(), leave_out, "numbers above zero")
    made = optimize(parsed(CHAIN), execution_provider="cpu", rules=(mine,), record=True)
    assert [value.name for value in (*made.model.graph.inputs, *made.model.graph.outputs)] == ["x", "y", "z"]
    assert sorted(node.op_type for node in made.model.graph) == ["Identity", "Neg", "Sigmoid"]
    assert distance(parsed(CHAIN), made.model, {"x": np.array([0.5, 2.0], np.float32)}) == 0


def test_a_refusal_that_has_changed_something() -> None:
    def spoil(site: Site) -> Rewrite:
        new_one = new(OpId("Exp"), [site.node.inputs[0]], like=[site.node.outputs[0]])
        site.node.replace_input_with(0, new_one.outputs[0])
        raise Refusal("no")

    mine = Rule("fuse/spoil", Stage.FUSE, (OpId("Abs"),), frozenset(), frozenset(), spoil, "nothing")
    made = optimize(parsed(CHAIN), execution_provider="cpu", rules=(mine,))
    assert "it refused a node and had changed" in made.report.diagnostics[0].message
    assert [n.op_type for n in made.model.graph] == [n.op_type for n in parsed(CHAIN).graph]


def test_what_a_rule_meets_that_walks_the_graph() -> None:
    """Nodes that are on their way out say so."""
    met: list[list[str]] = []

    def walk(site: Site) -> Rewrite:
        met.append([f"{n.op_type} {len([v for v in n.inputs if v])}" for n in site.model.graph if n.graph is None])
        made = new(OpId("Exp"), [site.node.inputs[0]], like=[site.node.outputs[0]])
        return Rewrite([made], {site.node.outputs[0]: made.outputs[0]})

    mine = Rule("fuse/walk", Stage.FUSE, (OpId("Abs"),), frozenset(), frozenset(), walk, "nothing")
    optimize(parsed(CHAIN), execution_provider="cpu", rules=(mine,))
    assert met == [["Abs 0"] * count for count in range(3)]

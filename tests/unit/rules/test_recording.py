"""The recorded pipeline: the deltas give the graph that was made, for every family and provider."""

from __future__ import annotations

import dataclasses
import functools
import re

import onnx
import onnx_ir as ir
import pytest

import workbench
from tests.golden_ops import words
from tests.unit.rules.graphs import applied, config, llama, nodes
from workbench import optimize
from workbench.ep import execution_providers, get_ep
from workbench.errors import ArgumentError, UnknownNameError
from workbench.models import SPECS, lookup
from workbench.optimize import run_plan
from workbench.passes.cleanup import cleanup
from workbench.recipe import PLAIN, Recipe
from workbench.rules import RULES
from workbench.rules.plan import plan
from workbench.rules.recording import COLUMNS, RecordedNode, Recording
from workbench.tasks import get_task

LAYERS = 2
FAMILIES = [spec.model_type for spec in SPECS]
Wiring = set[tuple[str, str, str, tuple[str, ...], tuple[str, ...]]]


@functools.cache
def recipe(family: str) -> Recipe:
    spec = lookup(family)
    return Recipe(spec.module, spec.read(words(spec)), get_task(spec.task))


def wiring(model: ir.Model) -> Wiring:
    def names(values: object) -> tuple[str, ...]:
        return tuple(value.name or "" if value is not None else "" for value in values)

    return {(n.name or "", n.op_type, n.domain, names(n.inputs), names(n.outputs)) for n in model.graph}


def recorded(live: tuple[RecordedNode, ...]) -> Wiring:
    return {(n.name, n.op_type, n.domain, n.inputs, n.outputs) for n in live}


def of(made: object) -> Recording:
    recording = made.recording
    assert isinstance(recording, Recording)
    return recording


@pytest.mark.parametrize("name", execution_providers())
@pytest.mark.parametrize("family", FAMILIES)
def test_the_deltas_give_the_final_graph(family: str, name: str) -> None:
    ep = get_ep(name)
    task = get_task(lookup(family).task)
    generic = recipe(family).generic(ep.default_dtype, PLAIN)[0]["model"]
    before = wiring(generic)
    made = run_plan(generic, plan(ep, ep.default_dtype, task.roles["model"], RULES), ep, record=True)
    recording = of(made)
    assert wiring(generic) == before
    assert recorded(recording.at(0)) == before
    live = recording.at(len(recording.steps))
    assert recorded(live) == wiring(made.model) and len(live) == len(made.model.graph)
    assert recording.counts[0] == made.report.nodes_before and recording.counts[-1] == made.report.nodes_after
    assert recording.start == tuple(node.name for node in generic.graph)


@pytest.mark.parametrize("name", execution_providers())
def test_recording_changes_nothing(name: str) -> None:
    plain, watched = (optimize(llama(), execution_provider=name, record=record) for record in (False, True))
    assert plain.recording is None
    assert plain.report == watched.report
    one, two = (ir.to_proto(made.model).SerializeToString(deterministic=True) for made in (plain, watched))
    assert one == two


def test_in_the_middle_it_is_the_graph_of_that_moment() -> None:
    """No pass has a look at everything between the rewrites: their own deltas have to be right."""
    model = llama()
    recording = of(optimize(model, execution_provider="cpu", record=True))
    cleaned = model.clone()
    cleanup(cleaned)
    for rules in (("fuse/gqa",), ("fuse/gqa", "fuse/pack_qkv"), ("fuse/gqa", "fuse/pack_qkv", "fuse/skip_rms_norm")):
        last = max(step.index for step in recording.steps if step.rule == rules[-1])
        assert recorded(recording.at(last)) == wiring(applied(cleaned, *rules)[0])


def test_a_step_is_a_rewrite() -> None:
    recording = of(optimize(llama(), execution_provider="cpu", record=True))
    gqa = [step for step in recording.steps if step.rule == "fuse/gqa"]
    assert [(step.stage, step.scope) for step in gqa] == [
        ("fuse", f"model.layers.{i}.self_attn") for i in range(LAYERS)
    ]
    assert sorted(n.op for n in gqa[0].removed) == ["Attention", "RotaryEmbedding", "RotaryEmbedding"]
    assert gqa[0].anchor in {node.name for node in gqa[0].removed}
    assert sorted(n.op for n in gqa[0].added) == ["com.microsoft.GroupQueryAttention", "ep_workbench.KeyLengths"]
    (made,) = (n for n in gqa[0].added if n.op_type == "GroupQueryAttention")
    assert dict(made.attributes)["num_heads"] == "4"
    assert (gqa[0].gain, gqa[1].gain) == (-1, -2)  # the causal mask went with the last of its readers
    assert (gqa[0].file, gqa[0].line > 10) == ("workbench/rules/fuse/gqa.py", True)
    assert all(step.seconds >= 0 for step in recording.steps)


def test_passes_that_change_nothing_are_kept() -> None:
    recording = of(optimize(llama(), execution_provider="cpu", record=True))
    assert [step.rule for step in recording.steps if step.stage == "cleanup"] == [
        f"cleanup/{word}" for word in ("sort", "unused", "identities", "repeated", "names")
    ]
    idle = [step for step in recording.steps if step.rule == "cleanup/sort"]
    assert [(step.removed, step.added, step.file) for step in idle] == [((), (), "workbench/passes/cleanup.py")]
    last = [step.rule for step in recording.steps][-4:]
    assert last == [f"fold/{word}" for word in ("repeated", "inline", "weights", "unused")]


FOREIGN = """<ir_version: 10, opset_import: ["" : 20]> g (float[8] x) => (float[8] y) {
    dead = Neg (x) a = Identity (x) b = Relu (a) c = Relu (a) y = Add (b, c) }"""


def test_passes_tell_what_they_did_and_to_which_nodes() -> None:
    """Nodes without names get one: the same node, under another name or over another input."""
    recording = of(optimize(onnx.parser.parse_model(FOREIGN), execution_provider="cpu", record=True))
    step = {step.rule: step for step in recording.steps}
    assert [node.op_type for node in step["cleanup/unused"].removed] == ["Neg"]
    identities = step["cleanup/identities"]
    assert sorted(n.op_type for n in identities.removed) == ["Identity", "Relu", "Relu"]
    assert {n.inputs for n in identities.added} == {("x",)} and len(identities.rewired) == 2
    repeated = step["cleanup/repeated"]
    assert (repeated.gain, len(repeated.rewired)) == (-1, 1)  # the Add reads one Relu twice
    assert sorted(n.name for n in step["cleanup/names"].added) == ["Add_1", "Relu_1"]
    assert recording.counts == (5, 5, 4, 3, 2, 2, 2, 2, 2, 2, 2)
    assert recording.end == ("Relu_1", "Add_1")


def test_misses_know_when_the_rule_looked() -> None:
    of_wide = config(head_dim=24)  # tables 12 wide: RoPE stays outside, which a partial miss says
    recording = of(optimize(llama(of_wide), execution_provider="cpu", record=True))
    attention = nodes(llama(of_wide), "Attention")[1].name or ""
    index = recording.looked("fuse/gqa", attention)
    assert index is not None
    assert attention in {n.name for n in recording.at(index)} - {n.name for n in recording.at(index + 1)}
    assert recording.looked("fuse/gqa", "nowhere") is None


def test_texts() -> None:
    recording = of(optimize(llama(), execution_provider="cpu", record=True))
    rewrites = "; fuse/gqa 2, fuse/pack_qkv 2, fuse/skip_rms_norm 4, fuse/repeated 1)"
    assert repr(recording).startswith(f"Recording(cpu float32: {len(recording.steps)} steps, 53 -> ")
    assert rewrites in repr(recording)
    assert repr(recording.steps[5]).startswith("RecordedStep(6 fuse fuse/gqa at ")
    again = of(optimize(llama(), execution_provider="cpu", record=True))
    assert (repr(again), again._repr_html_()) == (repr(recording), recording._repr_html_())
    assert again == recording  # seconds do not count
    html = recording._repr_html_()
    assert "<table>" in html and "<svg" in html and "fuse/pack_qkv" in html and "second" not in html


def test_the_frame() -> None:
    recording = of(optimize(llama(), execution_provider="cpu", record=True))
    frame = recording.to_frame()
    assert list(frame.columns) == COLUMNS and len(frame) == len(recording.steps)
    assert frame["node"].iloc[-1] == recording.counts[-1]
    assert (frame["node"].diff().dropna() == (frame["added"] - frame["removed"]).iloc[1:]).all()


def test_runs_fold_the_steps() -> None:
    recording = of(optimize(llama(), execution_provider="cpu", record=True))
    runs = recording.runs()
    assert sum(run.steps for run in runs) == len(recording.steps)
    assert [run.nodes for run in runs][-1] == recording.counts[-1]
    (gqa,) = (run for run in runs if run.rule == "fuse/gqa")
    assert (gqa.steps, gqa.removed, gqa.added, gqa.rewired) == (LAYERS, 3 * LAYERS + 1, 2 * LAYERS, 0)


@pytest.mark.parametrize("index", [-1, 10_000, True, "1"])
def test_a_step_that_is_none(index: object) -> None:
    recording = of(optimize(llama(), execution_provider="cpu", record=True))
    with pytest.raises(ArgumentError, match=re.escape("0 (the start) to")):
        recording.at(index)


def test_a_recording_is_frozen() -> None:
    recording = of(optimize(llama(), execution_provider="cpu", record=True))
    with pytest.raises(dataclasses.FrozenInstanceError):
        recording.steps = ()


# --- of a comparison ------------------------------------------------------------------------------------
@functools.cache
def comparison() -> workbench.Comparison:
    spec = lookup("llama")
    return workbench.compare(spec.read(words(spec)), execution_providers=["cpu", "webgpu"], load_weights=False)


@pytest.mark.parametrize("name", ["cpu", "webgpu"])
def test_a_comparison_replays_its_graphs(name: str) -> None:
    recording = comparison().replay(name)
    package = comparison()[name]
    assert recorded(recording.at(len(recording.steps))) == wiring(package.model)
    assert (recording.execution_provider, recording.dtype) == (name, package.report.dtype)


def test_a_provider_that_is_not_compared() -> None:
    with pytest.raises(UnknownNameError, match="cpu"):
        comparison().replay("cuda")

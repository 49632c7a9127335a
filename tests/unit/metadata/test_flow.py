"""Documents as maps: order and nesting, what steps do to state, caches by layer, diagnostics in place."""

from __future__ import annotations

import pytest

from tests.unit.metadata.fixtures import Fixture, base, of_kind
from tests.unit.metadata.layers import decoder
from tests.unit.metadata.runs import EVIL, broken, hostile
from workbench.metadata import WorkflowMap, state_lifetimes, validate, value_table, workflow_map
from workbench.metadata.flow import FlowNode, PortRow, runs
from workbench.metadata.flow.text import values


def node(found: WorkflowMap, title: str) -> FlowNode:
    return next(one for one in found.nodes if one.title == title)


def test_steps_stand_in_the_order_in_which_they_run() -> None:
    found = workflow_map(base("dec"))
    assert [(one.depth, one.kind, one.title) for one in found.nodes] == [
        (0, "workflow", "workflow"), (1, "inputs", "inputs"), (1, "loop", "loop"), (2, "while", "while active"),
        (2, "invoke", "lm"), (2, "invoke", "policy"), (2, "emit", "emit tokens"), (2, "carry", "next round"),
    ]  # fmt: skip
    assert [one.parent for one in found.nodes] == [-1, 0, 0, 2, 2, 2, 2, 2]
    assert found.artifacts == {"lm": "lm.onnx"}


def test_cases_are_frames_and_a_path_leads_to_the_step_in_one() -> None:
    found = workflow_map(base("branch"))
    titles = [(one.depth, one.title) for one in found.nodes]
    assert titles[2:8] == [
        (1, "branch on has_picture"), (2, "case true"), (3, "see"), (2, "default"), (3, "blank"), (2, "takes out"),
    ]  # fmt: skip
    see = node(found, "see")
    assert found.at((*see.path, "inputs", "x")) == see and found.at(("model",)).kind == "workflow"
    assert [(row.port, row.value) for row in node(found, "takes out").reads] == [
        ("case true", "a.feat"), ("default", "b.feat"),
    ]  # fmt: skip


def test_values_lead_to_their_makers() -> None:
    found = workflow_map(base("dec"))
    makers = {
        row.value: found.nodes[row.maker].title for row in (*node(found, "lm").reads, *node(found, "policy").reads)
    }
    assert makers == {"prompt": "inputs", "mask": "inputs", "k0": "loop", "v0": "loop", "s.scores": "lm"}
    (scores, *_) = node(found, "policy").reads
    assert scores == PortRow("scores", "s.scores", "float32[batch, seq, 258] request_aligned", 4)


@pytest.mark.parametrize("layers", [1, 4, 100])
def test_what_steps_do_to_a_cache(layers: int) -> None:
    found = workflow_map(decoder(layers))
    place = next(index for index, lane in enumerate(found.lanes) if lane.name == "kv")
    marks = {one.title: mark for one in found.nodes for mark in one.marks if mark.lane == place}
    assert set(marks) == {"loop", "lm", "next round"} and len(found.lanes[place].cells) == 2 * layers
    assert (marks["loop"].starts, marks["next round"].carries) == (2 * layers, 2 * layers)
    assert (marks["lm"].reads, marks["lm"].makes) == (2 * layers, 2 * layers)


@pytest.mark.parametrize("fixture", of_kind("valid"))
def test_marks_agree_with_the_analyses(fixture: Fixture) -> None:
    """Two ways to the same counts: lifetimes and the value table are made from the scope walk alone."""
    found = workflow_map(fixture.path)
    if len(found.nodes) == 1:
        return
    carried = [entry for entry in state_lifetimes(fixture.path).entries for _ in entry.carried]
    for what in ("starts", "carries"):
        assert sum(getattr(mark, what) for one in found.nodes for mark in one.marks) == len(carried)
    state = [row.value for row in value_table(fixture.path).entries if row.value.producer in ("carry", "loop")]
    reads = [use for value in state for use in value.uses if use.how in ("port", "condition", "predicate", "join",
             "emit", "when", "valid_length", "limit")]  # fmt: skip
    assert sum(mark.reads for one in found.nodes for mark in one.marks) == len(reads)
    assert found.pins == () and "nothing defines it" not in found.to_text()


def test_caches_by_layer() -> None:
    (table,) = workflow_map(decoder(100)).aliases
    assert (table.group, table.component, table.layers, len(table.rows)) == ("kv", "lm", 100, 200)
    assert table.note.startswith("100 layers × key/value, float32[batch, 2, past, 16]")
    assert [(row.layer, row.role, row.past, row.present) for row in table.rows[:2]] == [
        (0, "key", "past.0.key", "present.0.key"), (0, "value", "past.0.value", "present.0.value"),
    ]  # fmt: skip


def test_rows_that_differ_in_numbers_fold() -> None:
    rows = node(workflow_map(decoder(100)), "lm").reads
    assert [(run.port, run.value, len(run.rows)) for run in runs(rows)] == [
        ("ids", "prompt", 1), ("mask", "mask", 1), ("past.*.key", "k*", 100), ("past.*.value", "v*", 100),
    ]  # fmt: skip
    assert values(rows) == "prompt, mask, k* ×100, v* ×100"
    assert [len(runs(node(workflow_map(decoder(n)), "lm").reads)) for n in (2, 3)] == [6, 4], "two stand one by one"


def test_a_value_of_many_ports_is_named_once() -> None:
    empty = [PortRow(f"past.{n}.{role}", "start.empty") for role in ("key", "value") for n in range(30)]
    assert [str(run) for run in runs(empty)] == ["start.empty", "start.empty"]
    assert values((PortRow("ids", "prompt"), *empty)) == "prompt, start.empty"


# --- what goes from step to step --------------------------------------------------------------------------------
def named(found: WorkflowMap) -> list[tuple[str, str, tuple[str, ...]]]:
    titles = [one.title for one in found.nodes]
    return [(titles[link.source], titles[link.target], link.values) for link in found.links]


def test_links_lead_from_the_step_that_makes_a_value_to_those_that_read_it() -> None:
    assert named(workflow_map(decoder(100))) == [
        ("inputs", "loop", ("yes", "no", "zero", "kv0")), ("inputs", "while active", ("limit",)),
        ("inputs", "lm", ("prompt", "mask")), ("lm", "policy", ("s.scores",)), ("policy", "emit tokens", ("s.tok",)),
        ("lm", "next round", ("n.k* ×100", "n.v* ×100")),
        ("policy", "next round", ("n.active", "n.done", "n.accepted")),
    ]  # fmt: skip


def test_links_to_what_a_frame_gives_out() -> None:
    """A branch gives by its outputs, a loop its number of the round by its test; a cell after the loop by the loop."""
    branch, image = named(workflow_map(base("branch"))), named(workflow_map(base("image")))
    assert ("takes out", "head", ("feat",)) in branch and ("see", "takes out", ("a.feat",)) in branch
    assert ("while go", "den", ("t",)) in image and ("loop", "vae", ("lat",)) in image
    assert ("loop", "den", ("lat",)) not in image, "that is in the lane"


def test_steps_of_one_title_are_told_apart() -> None:
    document = base("branch")
    flow = document["pipeline"]["workflow"]
    flow["steps"] = [flow["steps"][0], *[flow["steps"][1]] * 2, {"kind": "sequence", "steps": [flow["steps"][1]]}]
    found = workflow_map(document)
    assert found.names[4] == "see" and len(set(found.names)) == len(found.nodes)
    assert found.names[-4:] == ("workflow/head #1", "workflow/head #2", "sequence", "sequence/head")
    assert "  takes out -> sequence/head: feat" in found.to_text().splitlines()


# --- diagnostics ------------------------------------------------------------------------------------------------
def test_diagnostics_stand_on_what_they_are_about() -> None:
    found = workflow_map(broken())
    placed = {pin.diagnostic.code: (found.nodes[pin.node].title, pin.lane) for pin in found.pins}
    lane = [one.name for one in found.lanes].index("kv")
    assert placed == {
        "B14": ("workflow", -1),
        "N199": ("lm", -1),
        "N215": ("next round", -1),
        "H101": ("workflow", lane),
    }


@pytest.mark.parametrize("fixture", of_kind("invalid"))
def test_every_diagnostic_has_a_place(fixture: Fixture) -> None:
    found = workflow_map(fixture.path)
    assert [pin.diagnostic for pin in found.pins] == list(validate(fixture.path))
    for pin in found.pins:
        path = pin.diagnostic.path
        if path[2:3] == ("steps",) and len(found.nodes) > 1 and len(path) > 3:
            at = found.nodes[pin.node].path
            assert pin.node and at[:4] == path[:4], "on the step that it is in"


@pytest.mark.parametrize("source", ["", "a: [", "[]", "{}", "schema_version: v1", "pipeline: {workflow: 3}"])
def test_what_cannot_be_drawn_is_one_node_with_its_faults(source: str) -> None:
    found = workflow_map(source or "x")
    assert len(found.nodes) == 1 and found.nodes[0].kind == "workflow" and found.to_text()
    assert [pin.diagnostic for pin in found.pins] == list(validate(source or "x"))


def test_either_dialect_is_drawn_alike() -> None:
    from workbench.metadata import convert

    there = convert(base("dec"), "v1")
    ours, theirs = workflow_map(base("dec")), workflow_map(there.data, dialect="v1")
    assert [one.title for one in theirs.nodes] == [one.title for one in ours.nodes]
    assert [one.marks for one in theirs.nodes] == [one.marks for one in ours.nodes]


# --- faces ------------------------------------------------------------------------------------------------------
def test_the_text_says_what_the_picture_shows() -> None:
    text = workflow_map(broken()).to_text()
    wanted = (
        "  inputs (prompt, limit, mask, yes, no and 2 more)",
        "    lm (ONNX lm.onnx, onnx-genai.autoregressive-decode) !N199",
        "      prompt, maskk, k0, v0 -> s.scores, n.k0, n.v0",
        "    lm: 1 layer × key/value, float32[batch, 2, past, 16] request_aligned",
        "data",
        "  inputs -> lm: prompt",
        "  lm -> policy: s.scores",
    )
    assert [line for line in wanted if line not in text.splitlines()] == []
    assert "!H101" in next(line for line in text.splitlines() if line.startswith("  kv"))


def test_faces_of_a_map() -> None:
    found = workflow_map(decoder(100))
    assert repr(found) == "WorkflowMap(4 steps, 4 lanes, 0 errors)" == repr(workflow_map(decoder(100)))
    frame = found.to_frame()
    assert list(frame.columns) == list(found.COLUMNS) and len(frame) == len(found.nodes)
    assert frame[frame.step == "lm"].state.item() == "reads 200, makes next of 200 of kv"
    assert found._repr_html_().count("<tr>") == 1 + len(found.nodes)


def test_text_of_a_document_stays_text() -> None:
    found = workflow_map(hostile())
    assert EVIL not in found._repr_html_() and EVIL not in found.to_svg()
    assert EVIL in found.to_text()

"""WorkflowView and DocumentTable without a browser: what the browser gets, what runs, what is refused."""

from __future__ import annotations

import json
import struct
import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from tests.unit.metadata.fixtures import base
from tests.unit.metadata.layers import decoder
from tests.unit.metadata.runs import EVIL, broken, document, forgetful, graph, hostile, lm, recorded, stepped
from workbench.errors import ArgumentError, ModelFileError, UnknownNameError
from workbench.metadata import cache_dependencies, diff, state_lifetimes, value_table, workflow_map
from workbench.widgets import DocumentTable, Report, WorkflowView, link, workflow, workflow_report
from workbench.widgets.flow_view import MOST_ROWS, FlowView, folded_at_first, keys
from workbench.widgets.graph_diff import GraphView


def numbers(view: Any, name: str) -> list[int]:
    kind, start, length = view._header[name][:3]
    return list(np.frombuffer(view._blob, f"<{kind}", length, start).tolist())


def texts(view: Any, name: str) -> list[str]:
    _, start, length, at = view._header[name]
    ends = struct.unpack_from(f"<{length + 1}i", view._blob, start)
    return [view._blob[at + a : at + b].decode() for a, b in zip(ends, ends[1:])]


def test_the_columns_hold_every_port_once() -> None:
    found = workflow_map(decoder(100))
    view = found.widget().view
    values = texts(view, "value")
    for node, sent in zip(found.nodes, view._facts["nodes"], strict=True):
        for rows, runs in ((node.reads, sent["reads"]), (node.writes, sent["writes"])):
            shown = [values[start + i] for start, count, *_ in runs for i in range(count)]
            assert sorted(shown) == sorted(row.value for row in rows)
    assert len(texts(view, "alias_cell")) == len(numbers(view, "alias_layer")) == 200
    assert len(json.dumps(view._facts)) < 8_000, "a hundred layers are short: what is folded travels as columns"


def test_nodes_go_by_their_paths_each_by_its_own() -> None:
    for name in ("dec", "branch", "spec", "image"):
        names = keys(workflow_map(base(name)))
        assert len(set(names)) == len(names)


def test_long_workflows_open_folded() -> None:
    long = base("branch")
    (branch, *rest) = long["pipeline"]["workflow"]["steps"]
    long["pipeline"]["workflow"]["steps"] = [branch] * 20 + rest
    found = workflow_map(long)
    folded = set(folded_at_first(found))
    shut = {node.index for node, key in zip(found.nodes, keys(found), strict=True) if key in folded}
    hidden: set[int] = set()
    for node in found.nodes:
        hidden |= {node.index} if node.parent in hidden | shut else set()
    assert len(found.nodes) > MOST_ROWS >= len(found.nodes) - len(hidden) > MOST_ROWS - 8
    assert folded_at_first(workflow_map(decoder(100))) == []


# --- graphs behind steps ----------------------------------------------------------------------------------------
def test_a_component_opens_its_graph(tmp_path: Path) -> None:
    ir.save(graph(), tmp_path / "lm.onnx")
    for models in ({"lm": graph()}, {"lm.onnx": graph()}, tmp_path, str(tmp_path)):
        view = WorkflowView(document(), models=models)
        assert view.view._facts["opens"] == ["lm"] and repr(view.show_graph("lm")) == "OneGraph(lm: 2 nodes)"
        assert isinstance(view.graph.children[0], GraphView)
    assert WorkflowView(document()).view._facts["opens"] == []


def test_the_folder_of_a_package_is_its_own(tmp_path: Path) -> None:
    (tmp_path / "inference_metadata.json").write_text(json.dumps(document()), encoding="utf-8")
    ir.save(graph(), tmp_path / "lm.onnx")
    assert WorkflowView(tmp_path).view._facts["opens"] == ["lm"]


def test_what_describe_makes_is_shown_with_the_graphs_of_its_package() -> None:
    from tests.cases import CASES
    from workbench import build
    from workbench.describe import describe

    package = build(dict(CASES["gqa"].hf), execution_provider="cpu", load_weights=False)
    view = WorkflowView(describe(package), models=package)
    assert view.view._facts["opens"] == ["decoder"] and not view.result.pins
    assert any("GroupQueryAttention" in info.op for info in view.show_graph("decoder").result.b)


@pytest.mark.parametrize("artifact", ["../lm.onnx", "nowhere.onnx", "."])
def test_no_file_outside_of_the_package_is_opened(artifact: str, tmp_path: Path) -> None:
    ir.save(graph(), tmp_path / "lm.onnx")
    (tmp_path / "package").mkdir()
    found = document()
    found["pipeline"]["workflow"]["components"]["lm"]["implementation"]["artifact"] = artifact
    assert WorkflowView(found, models=tmp_path / "package").view._facts["opens"] == []


def test_a_graph_that_is_not_there_is_said() -> None:
    with pytest.raises(UnknownNameError, match="component with a graph"):
        WorkflowView(document(), models={"lm": graph()}).show_graph("policy")


def test_a_click_on_a_damaged_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "lm.onnx").write_bytes(b"no graph")
    view = WorkflowView(document(), models=tmp_path)
    view._asked({"do": "graph", "component": "lm"})
    assert "lm.onnx" in view.said.value and view.graph.children == ()
    with pytest.raises(ModelFileError):
        view.show_graph("lm")


@pytest.mark.parametrize(("name", "options"), [("run", {"run": 3}), ("models", {"models": 3})])
def test_other_things_are_refused(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=f"{name} must be"):
        WorkflowView(document(), **options)


# --- runs -------------------------------------------------------------------------------------------------------
def test_a_recorded_run_travels_whole() -> None:
    run = recorded()
    view = WorkflowView(document(), run=run).view
    assert view._facts["moments"] == len(run.trace) == len(numbers(view, "moment_node")) and not view._facts["live"]
    sides = [len(record.reads) + len(record.writes) for record in run.trace]
    assert np.diff(numbers(view, "moment_from")).tolist() == sides
    view.moment = 10_000
    assert view.moment == len(run.trace) - 1


def press(view: WorkflowView, what: str) -> None:
    """As the browser does, and what runs in the background to its end."""
    view._asked({"do": what})
    assert view.wait(30) and not view.view.busy


def test_a_stepper_runs_on_when_it_is_asked() -> None:
    with stepped() as run:
        view = WorkflowView(document(), run=run)
        assert (view.view._facts["moments"], view.view._facts["live"]) == (0, True)
        press(view, "step")
        assert (view.view._facts["moments"], view.view.moment) == (1, 0)
        view.view.breakpoints = ["value:s.tok"]
        press(view, "on")
        assert run.current is not None and run.current.title == "policy" and view.view.moment == run.position == 4
        view.view.breakpoints = [keys(view.result)[7]]
        view.go_on(to_stop=True)
        assert run.current.kind == "carry" and not view.view.busy
        view.view.breakpoints = []
        press(view, "on")
        assert run.finished and not view.view._facts["live"] and view.view._facts["moments"] == len(run.trace)
        press(view, "step")
        assert view.view.moment == len(run.trace) - 1 and view.view.run_said == ""


class Slow:
    """``lm`` that waits in its second round until it is let go on."""

    def __init__(self) -> None:
        self.entered, self.let, self.calls = threading.Event(), threading.Event(), 0

    def __call__(self, feeds: Any) -> dict[str, Any]:
        self.calls += 1
        if self.calls == 2:
            self.entered.set()
            assert self.let.wait(30)
        return lm(feeds)


@pytest.mark.parametrize("run", [None, "recorded"])
def test_without_a_stepper_nothing_goes_on(run: Any) -> None:
    view = WorkflowView(document(), run=recorded() if run else None)
    with pytest.raises(ArgumentError, match="run must be a WorkflowStepper to go on with; found .*interpret.stepper"):
        view.go_on()
    view.start()
    assert view.wait(0) and not view.view.busy


def test_a_run_is_cancelled_between_two_steps() -> None:
    slow = Slow()
    with stepped(lm=slow) as run:
        view = WorkflowView(document(), run=run)
        view._asked({"do": "on"})
        assert slow.entered.wait(30) and view.view.busy
        view._asked({"do": "step"})
        view._asked({"do": "cancel"})
        assert view.view.busy and view.view.run_said == "Stopping after this step ..."
        slow.let.set()
        assert view.wait(30) and not view.view.busy and view.view.run_said == "Cancelled: what has run stays."
        assert run.current is not None and (run.current.title, run.current.iteration) == ("lm", (1,))
        assert view.view.moment == run.position == len(run.trace) - 1 and view.view._facts["live"]
        press(view, "on")
        assert run.finished and run.run.outputs["tokens"].tolist() == recorded().outputs["tokens"].tolist()


def test_closing_the_view_stops_its_run() -> None:
    slow = Slow()
    with stepped(lm=slow) as run:
        view = WorkflowView(document(), run=run)
        view._asked({"do": "on"})
        assert slow.entered.wait(30)
        view.close()
        slow.let.set()
        assert view.wait(30) and not run.finished and slow.calls == 2


def test_a_long_run_is_shown_while_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow, "_SHOWN_EACH", -1)
    with stepped() as run:
        view, seen = WorkflowView(document(), run=run), []
        view.view.observe(lambda change: seen.append(change["new"]), "moment")
        press(view, "on")
        assert seen == list(range(1, len(run.trace)))


def test_a_run_that_breaks_off_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(error: Exception) -> Any:
        raise error

    with stepped() as run:
        view = WorkflowView(document(), run=run)
        monkeypatch.setattr(view.view, "stops_at", lambda record, stops: raises(KeyError("ours")))
        with pytest.raises(KeyError):
            view.go_on(to_stop=True)
        assert view.view.run_said == "The run broke off." and not view.view.busy
        monkeypatch.setattr(view.view, "stops_at", lambda record, stops: raises(ModelFileError("x.onnx is gone")))
        press(view, "on")
        assert view.view.run_said == "x.onnx is gone" and view.view.moment == run.position == 1


def test_what_went_wrong_is_a_finding_of_the_step() -> None:
    with stepped(lm=forgetful) as made:
        view = WorkflowView(document(), run=made.finish()).view
    (fault,) = view._facts["faults"]
    assert fault["code"] == "run.growth" and view._facts["nodes"][4]["faults"] == [0]
    assert "run.growth" in texts(view, "moment_fault")[-1]


# --- tables -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "result", [value_table(base("dec")), cache_dependencies(base("dec")), diff(base("dec"), broken()),
               state_lifetimes(base("dec")), diff(base("dec"), base("dec"))], ids=lambda result: type(result).__name__
)  # fmt: skip
def test_a_table_holds_the_rows(result: Any) -> None:
    view = result.widget()
    rows = result.rows()
    for i, name in enumerate(view._facts["columns"]):
        assert texts(view, f"c{i}") == ["" if row[name] is None else str(row[name]) for row in rows]
    data, _ = view._repr_mimebundle_()
    assert data["text/html"] == result._repr_html_()
    assert data["text/plain"] == result.to_text() and data["text/plain"].startswith(repr(result))


def test_what_is_behind_a_row() -> None:
    facts = cache_dependencies(base("dec"))
    told = texts(DocumentTable(facts), "told")
    assert [len(lines.split("\x1f")) for lines in told] == [len(entry.why) for entry in facts.entries]
    values = value_table(base("dec"))
    assert [len(list(filter(None, lines.split("\x1f")))) for lines in texts(DocumentTable(values), "told")] == [
        len(entry.users) for entry in values.entries
    ]
    changes = texts(DocumentTable(diff(base("dec"), broken())), "told")
    assert "before: 4\x1fafter: 5" in changes


def test_a_table_and_the_steps_go_together() -> None:
    workflow, table = WorkflowView(document()), DocumentTable(value_table(document()))
    link(workflow, table)
    table.node = "pipeline.workflow.steps[0].steps[0].outputs.scores"
    assert workflow.view.node == table.node


@pytest.mark.parametrize("bad", [None, 3, "text", {}])
def test_what_has_no_rows_is_refused(bad: Any) -> None:
    with pytest.raises(ArgumentError, match="result must be a result with rows; found"):
        DocumentTable(bad)


# --- without a kernel -------------------------------------------------------------------------------------------
def test_static_faces() -> None:
    view = WorkflowView(document(), models={"lm": graph()})
    data = view._repr_mimebundle_()
    assert data["text/plain"] == view.result.to_text() and data["image/svg+xml"] == view.result.to_svg()
    assert view.view.state()["_facts"]["opens"] == [] and repr(view) == repr(view.result)


def test_a_page_of_a_document(tmp_path: Path) -> None:
    whole = workflow_report(document(), run=recorded(), title="Decoder")
    assert [heading for heading, _ in whole.parts] == [
        "Steps", "Values", "State", "What a cached result depends on", "Capabilities",
    ]  # fmt: skip
    assert whole.save_html(tmp_path / "page.html").stat().st_size < 400_000
    assert [heading for heading, _ in workflow_report("x: [").parts] == ["Steps"]


def test_a_page_keeps_all_of_them(tmp_path: Path) -> None:
    parts = [WorkflowView(hostile(), run=None), DocumentTable(value_table(hostile()))]
    page = Report("Workflow", *parts).save_html(tmp_path / "page.html").read_text(encoding="utf-8")
    assert EVIL not in page and page.count("</script>") == page.count("<script")
    assert page.count("start('view-") == 2
    assert isinstance(parts[0].view, FlowView) and workflow_map(document()).save_html(tmp_path / "one.html").is_file()

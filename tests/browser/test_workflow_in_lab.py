"""Workflows in a real JupyterLab, light and dark: looked at by pixels, driven by keys, run step by step, filtered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.checks import clipped, keep, overlapping, shot, unpainted, violations
from tests.browser.lab import Lab, background, colours, contrast

pytestmark = pytest.mark.browser

RUN = """
from tests.unit.metadata.layers import decoder
from tests.unit.metadata.runs import broken, document, graph, stepped
from workbench.metadata import cache_dependencies, diff, value_table
from workbench.widgets import DocumentTable, WorkflowView, link
run = stepped()
workflow = WorkflowView(document(), run=run, models={"lm": graph()})
workflow
"""
LAYERS = "layers = WorkflowView(decoder(100))\nlayers"
BROKEN = "WorkflowView(broken())"
TABLES = """
changed = broken()
values = DocumentTable(value_table(document()))
link(workflow, values)
from ipywidgets import VBox
VBox([values, cache_dependencies(document()).widget(), diff(decoder(4), decoder(9)).widget()])
"""
SLOW = """
import time
from tests.unit.metadata.runs import lm
slow = WorkflowView(document(), run=stepped(lm=lambda feeds: (time.sleep(4), lm(feeds))[1]))
slow
"""
STEPS = ["workflow", "inputs", "loop", "while active", "lm", "policy", "emit tokens", "next round"]
BOXES = ".wb-flow-box, .wb-lane-head button, .wb-flow .wb-bar button, .wb-flow-details td, .wb-flow-details p"


@pytest.fixture(scope="module", autouse=True)
def opened(lab: Lab) -> None:
    lab.run("workflow", RUN, LAYERS, BROKEN, TABLES, SLOW)
    lab.page.locator(".wb-flow").nth(3).wait_for()
    lab.page.locator(".wb-doc").nth(2).wait_for()


@pytest.fixture(autouse=True)
def quiet(lab: Lab) -> Iterator[None]:
    """No test may leave an error in the console or ask another machine for anything."""
    yield
    lab.check()


def view(lab: Lab, which: int = 0) -> Any:
    return lab.page.locator(".wb-flow").nth(which)


def row(lab: Lab, title: str, which: int = 0) -> Any:
    return view(lab, which).locator(".wb-flow-row").filter(has=lab.page.get_by_text(title, exact=True)).first


def choose(lab: Lab, title: str, which: int = 0) -> None:
    if row(lab, title, which).get_attribute("aria-selected") != "true":
        row(lab, title, which).click()


def said(lab: Lab, text: str, which: int = 0) -> None:
    view(lab, which).locator(".wb-status").first.get_by_text(text).wait_for()


def titles(lab: Lab, which: int = 0) -> list[str]:
    found: list[str] = view(lab, which).locator(".wb-flow-title").all_inner_texts()
    return found


def focused(lab: Lab) -> str:
    found: str = lab.page.evaluate("document.activeElement.querySelector('.wb-flow-title')?.textContent ?? ''")
    return found


def test_the_steps_stand_beside_their_state(lab: Lab, theme: str) -> None:
    page = lab.page
    assert titles(lab) == STEPS
    said(lab, "The run has not begun.")
    assert view(lab).locator(".wb-lane-head button").all_inner_texts() == ["active", "done", "accepted", "kv\n2 cells"]
    cells = row(lab, "policy").locator(".wb-lane")
    assert cells.nth(0).get_attribute("aria-label") == "active: makes the next value of it"
    assert row(lab, "lm").locator(".wb-lane").nth(3).get_attribute("aria-label") == (
        "kv: reads 2 cells, makes the next value of 2 cells"
    )
    frames = row(lab, "lm").locator(".wb-frame").evaluate_all("all => all.map((e) => e.getBoundingClientRect().width)")
    assert len(frames) == 2 and frames[0] > frames[1], "the step lies in the loop, the loop in the workflow"
    png = shot(page, ".wb-flow-scroll")
    assert colours(png) > 20 and unpainted(png, ["added"]) == [], "the loop's own edge is painted"
    ink = page.locator(".wb-flow .wb-flow-title").first.evaluate("e => getComputedStyle(e).color")
    behind = background(page, ".wb-flow .wb-flow-title")
    assert contrast(ink, behind) > 7 and (contrast(behind, "rgb(0, 0, 0)") < 4) == (theme == "dark")
    keep(page, f"workflow-{theme}-1", ".wb-flow")


def test_it_is_sound(lab: Lab) -> None:
    for which in range(4):
        choose(lab, "lm", which)
    assert violations(lab.page, ".wb-flow") == []
    assert violations(lab.page, ".wb-doc") == []
    assert clipped(lab.page, BOXES) == []
    assert overlapping(lab.page, BOXES) == []


def test_keys(lab: Lab) -> None:
    page = lab.page
    row(lab, "workflow").focus()
    for key, there in (("ArrowDown", "inputs"), ("ArrowDown", "loop"), ("End", "next round"), ("ArrowLeft", "loop")):
        page.keyboard.press(key)
        assert focused(lab) == there
    page.keyboard.press("ArrowLeft")
    assert titles(lab) == STEPS[:3] and focused(lab) == "loop"
    assert row(lab, "loop").get_attribute("aria-expanded") == "false"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert titles(lab) == STEPS and focused(lab) == "while active"
    page.keyboard.press("Enter")
    details = view(lab).locator(".wb-flow-details")
    assert "pipeline.workflow.steps[0].continue_when" in details.inner_text()
    assert "bool[batch] request_aligned" in details.inner_text()
    page.keyboard.press("Escape")
    assert "Choose a step" in details.inner_text()
    cells = page.locator(".jp-Cell").count()
    stop = row(lab, "while active").locator(".wb-flow-break")
    for state in ("visible", "detached"):
        page.keyboard.press("b")
        stop.wait_for(state=state)
    assert page.locator(".jp-Cell").count() == cells, "the notebook's own keys rest where the view has keys"


def test_a_step_leads_to_its_values_and_its_graph(lab: Lab, theme: str) -> None:
    page = lab.page
    choose(lab, "policy")
    details = view(lab).locator(".wb-flow-details")
    assert row(lab, "lm").locator(".wb-flow-link").all_inner_texts() == ["↳ gives s.scores"]
    assert row(lab, "emit tokens").locator(".wb-flow-link").all_inner_texts() == ["↰ takes s.tok"]
    assert row(lab, "next round").locator(".wb-flow-link").all_inner_texts() == ["↰ takes n.active, n.done and 1 more"]
    details.get_by_role("button", name="s.scores", exact=True).click()
    assert row(lab, "lm").get_attribute("aria-selected") == "true", "the value leads to the step that makes it"
    linked = page.locator(".wb-doc").first.locator("[aria-expanded=true]")
    linked.get_by_text("s.scores", exact=True).wait_for()  # the table that is linked goes there too
    details.get_by_role("button", name="Open lm.onnx in the graph view").click()
    graph = page.locator(".wb-graph")
    graph.wait_for()
    page.wait_for_timeout(300)
    keep(page, f"workflow-{theme}-2-graph")
    box = graph.first.bounding_box()
    assert box is not None and 0 <= box["y"] < 800, "who opens a graph is taken there"
    assert graph.get_attribute("aria-label") == "Graph lm: 2 nodes"
    seen = f"{graph.inner_text()} {graph.locator('[aria-label]').evaluate_all('all => all.map((e) => e.ariaLabel)')}"
    for word in ("diff", "same", "added", "removed", "changed", "rule", "→"):
        assert word not in seen.lower(), "one graph: no word about another"
    table = graph.get_by_text("Nodes as a table (2)")
    table.click()
    graph.locator("tbody .wb-link").last.click()
    said_of = graph.locator(".wb-status")
    assert said_of.inner_text().startswith("Relu, ") and "Reads from" in graph.locator(".wb-details").inner_text()
    assert violations(page, ".wb-graph") == []
    keep(page, f"workflow-{theme}-9-graph", ".wb-graph")
    table.click()
    page.keyboard.press("Escape")


def ends(lab: Lab, which: int = 0) -> list[tuple[str, str]]:
    """From which step to which other a strong line leads."""
    names = dict(enumerate(STEPS))
    found = (
        view(lab, which)
        .locator(".wb-wires-strong [data-from]")
        .evaluate_all("all => all.map((e) => [e.dataset.from, e.dataset.to])")
    )
    pairs = {(int(a), int(b)) for a, to in found for b in to.split()}
    return [(names[a], names[b]) for a, b in sorted(pairs)]


def test_lines_lead_to_and_from_a_step(lab: Lab, theme: str) -> None:
    page = lab.page
    choose(lab, "lm")
    page.mouse.move(2, 2)
    into, out = [("inputs", "lm"), ("loop", "lm")], [("lm", "policy"), ("lm", "next round")]
    assert ends(lab) == [*into, *out]
    page.wait_for_timeout(200)
    keep(page, f"workflow-{theme}-7-lines", ".wb-flow")
    png = shot(page, ".wb-wires-strong")
    assert unpainted(png, ["added", "#009e73"], 1e-3) == [], "what comes in and what goes out"
    dashes = [
        view(lab).locator(f".wb-wires-{side} .wb-wire").first.evaluate("e => getComputedStyle(e).strokeDasharray")
        for side in ("in", "out")
    ]
    assert dashes[0] == "none" and dashes[1] != "none", "told apart without colours"
    row(lab, "policy").hover()
    assert ends(lab) == [("lm", "policy"), ("policy", "emit tokens"), ("policy", "next round")]
    page.mouse.move(2, 2)
    row(lab, "workflow").focus()
    assert ends(lab) == [], "the workflow itself"
    page.keyboard.press("ArrowDown")
    assert [end for _, end in ends(lab)] == ["loop", "while active", "lm"]
    label = row(lab, "policy").get_attribute("aria-label") or ""
    assert "reads from lm" in label and "goes to emit tokens, next round" in label


def test_lines_lie_beside_all_texts(lab: Lab) -> None:
    for which, title in ((0, "lm"), (1, "next round"), (2, "policy")):
        choose(lab, title, which)
        lab.page.mouse.move(2, 2)
        assert view(lab, which).locator(".wb-wires .wb-wires-pale .wb-wire").count() >= 6
        over = view(lab, which).evaluate(
            """view => {
              const boxes = (what) => [...view.querySelectorAll(what)].map((e) => [e, e.getBoundingClientRect()]);
              const lines = boxes(".wb-wire"), texts = boxes(".wb-flow-row .wb-flow-box, .wb-flow-row .wb-lane");
              const shared = (a, b, from, to) => Math.min(a[to], b[to]) - Math.max(a[from], b[from]);
              return lines.flatMap(([, a]) => texts.filter(([, b]) =>
                shared(a, b, "left", "right") > 1 && shared(a, b, "top", "bottom") > 1).map(([e]) => e.textContent));
            }"""
        )
        assert over == []


def test_lines_follow_what_is_folded(lab: Lab) -> None:
    page = lab.page
    choose(lab, "inputs")
    row(lab, "loop").focus()
    page.keyboard.press("ArrowLeft")
    assert ends(lab) == [("inputs", "loop")], "what is in it is its own"
    assert row(lab, "loop").locator(".wb-flow-link").inner_text() == "↰ takes kv0, yes and 5 more"
    page.keyboard.press("ArrowRight")
    assert view(lab).locator(".wb-wires .wb-wires-pale .wb-wire").count() == 7
    page.keyboard.press("Escape")


def test_a_run_is_stepped_through(lab: Lab, theme: str) -> None:
    """The kernel runs a step when the end of what was recorded is reached."""
    page = lab.page
    bar = view(lab).get_by_role("toolbar")
    bar.get_by_role("button", name="Next step").click()
    said(lab, "Moment 1 of 1 so far: inputs")
    choose(lab, "emit tokens")
    bar.get_by_role("button", name="Stop at emit tokens").click()
    bar.get_by_role("button", name="Run on to the next breakpoint").click()
    said(lab, "Moment 6 of 6 so far: emit tokens")
    assert row(lab, "emit tokens").get_attribute("aria-current") == "step"
    moment = view(lab).locator(".wb-moment")
    assert moment.locator("tr", has_text="s.tok").locator("td").nth(1).inner_text().split("\n") == ["8", "int64[1, 1]"]
    bar.get_by_role("button", name="Run on to the next breakpoint").click()
    said(lab, "Moment 11 of 11 so far: emit tokens")
    assert "round 1" in view(lab).locator(".wb-status").first.inner_text()
    bar.get_by_role("button", name="Back one step").click()
    said(lab, "Moment 10 of 11 so far: policy")
    row(lab, "policy").focus()
    page.keyboard.press("]")
    said(lab, "Moment 11 of 11")
    keep(page, f"workflow-{theme}-3-run", ".wb-flow")
    bar.get_by_role("button", name="Do not stop at emit tokens").click()
    moment.get_by_role("button", name="Stop when s.tok is made").click()
    bar.get_by_role("button", name="Run on to the next breakpoint").click()
    said(lab, "Moment 15 of 15 so far: policy, round 2")
    moment.get_by_role("button", name="Stop when s.tok is made").click()
    bar.get_by_role("button", name="Run on to the next breakpoint").click()
    said(lab, "Moment 19 of 19: loop")
    assert bar.get_by_role("button", name="Next step").is_disabled()
    assert violations(page, ".wb-moment") == []


def test_a_live_run_is_cancelled(lab: Lab, theme: str) -> None:
    """Four seconds a call: the kernel answers while it runs, and the run stops after the step that is running."""
    page = lab.page
    bar = view(lab, 3).get_by_role("toolbar")
    on, cancel = bar.get_by_role("button", name="Run on to the next"), bar.get_by_role("button", name="Stop after")
    assert bar.get_by_role("button", name="Stop after").is_disabled() and view(lab).get_by_text("Cancel").count() == 1
    on.focus()
    page.keyboard.press("Enter")
    said(lab, "Running ... Moment 4 of 4 so far: lm, round 0", 3)  # shown before the end
    assert on.is_disabled() and focused_button(lab) == "Run to stop ▶▶"
    keep(page, f"workflow-{theme}-8-running")
    assert violations(page, ".wb-run-bar") == []
    cancel.click()
    said(lab, "Stopping after this step ...", 3)
    said(lab, "Cancelled: what has run stays.", 3)
    assert "lm, round 1" in view(lab, 3).locator(".wb-status").first.inner_text()
    assert row(lab, "lm", 3).get_attribute("aria-current") == "step"
    assert cancel.is_disabled() and on.is_enabled()
    bar.get_by_role("button", name="Next step").click()
    said(lab, "so far: policy, round 1", 3)
    bar.get_by_role("button", name="Back one step").click()
    assert "lm, round 1" in view(lab, 3).locator(".wb-status").first.inner_text()


def focused_button(lab: Lab) -> str:
    found: str = lab.page.evaluate("document.activeElement.textContent")
    return found


def test_a_hundred_layers_open_folded(lab: Lab, theme: str) -> None:
    page = lab.page
    assert titles(lab, 1) == STEPS
    assert view(lab, 1).locator("*").count() < 400, "what is folded is not there"
    caches = view(lab, 1).locator(".wb-flow-below .wb-alias")
    assert "100 layers × key/value, float32[batch, 2, past, 16]" in caches.inner_text()
    caches.locator("summary").click()
    assert caches.locator("tbody tr").count() == 100
    assert "past.99.value → present.99.value" in caches.locator("tbody tr").last.inner_text()
    choose(lab, "lm", 1)
    details = view(lab, 1).locator(".wb-flow-details")
    details.get_by_role("button", name="past.*.key ×100").click()
    assert "past.99.key" in details.inner_text()
    keep(page, f"workflow-{theme}-4-layers")
    caches.locator("summary").click()


def test_findings_stand_on_what_they_are_about(lab: Lab, theme: str) -> None:
    page = lab.page
    assert "N199" in row(lab, "lm", 2).inner_text() and "N215" in row(lab, "next round", 2).inner_text()
    assert "H101" in view(lab, 2).locator(".wb-lane-head").last.inner_text()
    row(lab, "workflow", 2).focus()
    page.keyboard.press("n")
    page.keyboard.press("n")
    details = view(lab, 2).locator(".wb-flow-details")
    assert "'maskk' is read here" in details.inner_text() and "Is 'mask' meant?" in details.inner_text()
    assert unpainted(shot(page, ".wb-flow:has(.wb-faulty) .wb-flow-scroll"), ["removed"]) == []
    keep(page, f"workflow-{theme}-5-findings")


def test_tables_are_filtered(lab: Lab, theme: str) -> None:
    page = lab.page
    values, facts, changes = (page.locator(".wb-doc").nth(i) for i in range(3))
    values.get_by_role("searchbox").fill("n.active")
    assert values.locator(".wb-doc-row").all_inner_texts() == ["active", "n.active", "active"]
    facts.locator(".wb-doc-row").first.click()
    assert "carried cell" in facts.locator("ol").inner_text()
    assert "implementation lm" in facts.locator("ol").inner_text()
    first = changes.locator(".wb-doc-row").first
    assert first.inner_text().split() == ["▸", "5", "×", "+added"], "five layers more, folded"
    first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert "after:" in changes.locator(".wb-doc-told").inner_text()
    assert (
        "after:\ndtype: float32\nrank: 4\nshape: [batch, 2, past, 16]\n" in changes.locator(".wb-doc-told").inner_text()
    )
    keep(page, f"workflow-{theme}-6-tables", ".wb-doc >> nth=2")
    changes.locator("tr", has_text="pipeline.workflow.state.k").first.click()
    long = changes.locator("td[title]").first  # what a cell has no room for
    assert long.inner_text().endswith("…") and "\nservice_group: kv" in (long.get_attribute("title") or "")
    assert [word for word in ("None", "False", "{'") if word in changes.inner_text()] == []

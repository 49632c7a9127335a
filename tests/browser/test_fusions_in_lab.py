"""FusionReport and PipelineReplay in a real JupyterLab, light and dark: by mouse, by keyboard, by their pixels."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser import checks
from tests.browser.checks import violations
from tests.browser.lab import Lab, background, colours, contrast

pytestmark = pytest.mark.browser

FUSIONS = """
from tests.widgets.results import details
from workbench.widgets.fusion_report import FusionReport
view = FusionReport(details())
view
"""
CHOSEN = "print([view.execution_provider, view.rule, view.scope, view.node])"
REPLAY = """
from tests.widgets.results import evil_recording, long_recording, recording
from workbench.widgets.replay import PipelineReplay
replay = PipelineReplay(recording())
replay
"""
LONG = "long = PipelineReplay(long_recording())\nlong"
EVIL = "PipelineReplay(evil_recording(), step=1)"
EMPTY = """
from tests.unit.rules.graphs import llama
from workbench import optimize
from workbench.analysis.fusion_details import fusion_details
from workbench.widgets.fusion_report import FusionReport
from IPython.display import display
display(FusionReport(optimize(llama(), execution_provider="cpu")), FusionReport(fusion_details({})))
"""


@pytest.fixture
def keep(lab: Lab) -> Any:
    return lambda name: checks.keep(lab.page, f"{lab.theme}-{name}")


def clean(lab: Lab) -> None:
    """No complaint about access, nothing on the console, nobody else asked."""
    assert violations(lab.page) == []
    lab.check()


def readable(lab: Lab, view: Any, selector: str) -> None:
    ink = view.locator(selector).first.evaluate("e => getComputedStyle(e).color")
    assert contrast(ink, background(lab.page, f".wb-view {selector}")) > 4.5, selector


def status(view: Any) -> str:
    return str(view.get_by_role("status").inner_text())


def focused(page: Any) -> str:
    return str(page.evaluate("document.activeElement.textContent"))


def test_why_a_fusion_did_not_fire(lab: Lab, keep: Any) -> None:
    page = lab.run("fusions", FUSIONS, CHOSEN)
    view = page.locator(".wb-fusions")
    view.wait_for(timeout=30_000)
    assert "Open a rule to see why." in status(view)
    keep("fusions-0")
    rules = view.locator("tbody").first.get_by_role("row")
    everything = rules.count()

    opener = view.get_by_role("button", name="fuse/gqa").first
    opener.click()
    assert opener.get_attribute("aria-expanded") == "true"
    view.get_by_text("attn_mask is made by Not").first.click()
    near = view.locator(".wb-near")
    assert near.get_by_text("3 of 4 lines agree").is_visible()
    signs = near.locator(".wb-pairs tbody .wb-sign").all_inner_texts()
    assert [text.split()[0] for text in signs] == ["≠", "=", "=", "="]
    graph = near.locator("svg")
    graph.scroll_into_view_if_needed()
    assert colours(graph.screenshot()) > 20, "a blank picture"
    assert graph.locator(".wb-mark-differs text").first.inner_html() == "≠ Not"
    for selector in (".wb-pairs code", ".wb-near p", "td.wb-zero"):
        readable(lab, view, selector)
    keep("fusions-1-near-miss")

    near.get_by_label("Which of them").select_option("1")
    near.get_by_role("button", name="Show in graph").click()
    assert status(view).startswith("Chosen: model/layers.1/self_attn/Attention")
    page.locator(".jp-CodeCell").nth(1).locator(".jp-InputArea-editor").click()
    page.keyboard.press("Control+Enter")
    page.get_by_text(
        "['webgpu', 'fuse/gqa', 'model.layers.1.self_attn', 'model/layers.1/self_attn/Attention"
    ).wait_for()

    view.get_by_label("Kind of miss").select_option("partial")
    assert status(view) == "1 rule, 2 of 2 candidates rewritten, 2 partial. Open a rule to see why."
    view.get_by_label("Kind of miss").select_option("fact")
    assert status(view) == "No miss of the kind fact."
    view.get_by_label("Kind of miss").select_option("")
    view.get_by_label("Execution provider", exact=True).select_option("onnx-standard")
    assert status(view) == "No rule for onnx-standard has a candidate."
    view.get_by_label("rules without candidates").check()
    assert status(view).endswith("0 of 0 candidates rewritten: no misses.")
    view.get_by_label("rules without candidates").uncheck()
    view.get_by_text("rules not planned, and why").click()
    assert view.get_by_text("onnx-standard does not run").first.is_visible()
    keep("fusions-2-not-planned")
    view.get_by_label("Execution provider", exact=True).select_option("")
    assert view.locator("tbody").first.get_by_role("row").count() > everything  # what was opened is open again
    clean(lab)


def test_fusions_by_keyboard(lab: Lab, keep: Any) -> None:
    page = lab.page
    view = page.locator(".wb-fusions")
    view.get_by_role("button", name="candidates", exact=True).focus()
    page.keyboard.press("Enter")
    head = view.get_by_role("columnheader", name="candidates", exact=True)
    assert head.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    opener = view.get_by_role("button", name="fuse/pack_qkv").first
    opener.focus()
    page.keyboard.press("Enter")
    assert focused(page).endswith("fuse/pack_qkv"), "the focus is lost when a row opens"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    near = view.locator(".wb-near")
    assert near.get_by_text("Nearest miss: fuse/pack_qkv").is_visible()
    first = near.locator("svg [tabindex='0']")
    first.focus()
    page.keyboard.press("ArrowRight")
    other = near.locator("svg [tabindex='0']")
    assert other.evaluate("e => e === document.activeElement")
    assert (
        other.get_attribute("aria-label") != first.get_attribute("aria-label")
        or near.locator("svg g[tabindex]").count() > 1
    )
    keep("fusions-3-keyboard")
    clean(lab)


def test_the_pipeline_step_by_step(lab: Lab, keep: Any) -> None:
    page = lab.run("replay", REPLAY, LONG)
    view = page.locator(".wb-replay").first
    view.wait_for(timeout=30_000)
    assert status(view).startswith("Start, before step 1 of ")
    assert view.get_by_role("button", name="Previous").is_disabled()
    keep("replay-0-start")
    view.get_by_role("button", name="fuse/gqa × 3").click()
    assert status(view).startswith("Step 6 of ") and "fuse/gqa, −3 +2, " in status(view)
    graphs = view.locator(".wb-sides svg")
    assert graphs.count() == 2
    for i, mark in enumerate(("removed", "added")):
        graphs.nth(i).scroll_into_view_if_needed()
        assert colours(graphs.nth(i).screenshot()) > 20, f"{mark}: a blank picture"
        assert graphs.nth(i).locator(f".wb-mark-{mark}").count() == (3 if mark == "removed" else 2)
    dash = graphs.first.locator("rect").first.evaluate("e => getComputedStyle(e).strokeDasharray")
    assert dash.startswith("6px")
    assert view.get_by_text("workbench/rules/fuse/gqa.py:").is_visible()
    graphs.nth(1).get_by_role("button").last.click()
    details = view.get_by_label("Chosen node")
    assert details.get_by_text("com.microsoft.GroupQueryAttention").is_visible()
    assert details.get_by_text("do_rotary = 1").is_visible()
    for selector in (".wb-values code", "dt", ".wb-step .wb-quiet"):
        readable(lab, view, selector)
    keep("replay-1-gqa")
    view.get_by_role("button", name="fold/weights").click()
    assert view.get_by_text("renamed or rewired").first.is_visible()
    view.get_by_role("button", name="cleanup/sort").click()
    assert view.get_by_text("It changed nothing.").is_visible()
    keep("replay-2-nothing")
    clean(lab)


def test_the_pipeline_by_keyboard(lab: Lab, keep: Any) -> None:
    page = lab.page
    view = page.locator(".wb-replay").first
    view.get_by_role("button", name="Next").focus()
    page.keyboard.press("Home")
    assert status(view).startswith("Start, ")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert status(view).startswith("Step 2 of ")
    page.keyboard.press("End")
    assert "fold/unused" in status(view)
    slider = view.get_by_role("slider")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert "fold/weights" in status(view)
    assert slider.get_attribute("aria-valuetext", timeout=1000).startswith("step ")
    view.get_by_label("Only steps of this rule").select_option("fuse/skip_rms_norm")
    assert "(1 of 6 of fuse/skip_rms_norm)" in status(view)
    view.get_by_role("button", name="Next").focus()
    page.keyboard.press("End")
    assert "(6 of 6 of fuse/skip_rms_norm)" in status(view)
    rules = view.get_by_label("Only steps of this rule")
    rules.focus()
    page.keyboard.press("ArrowUp")
    assert "(1 of 3 of fuse/pack_qkv)" in status(view)
    page.keyboard.press("ArrowDown")
    view.get_by_role("button", name="Next").focus()
    page.keyboard.press("End")
    keep("replay-3-filtered")
    step = view.locator(".wb-run [aria-current]")
    step.focus()
    page.keyboard.press("ArrowLeft")
    assert "(5 of 6 of fuse/skip_rms_norm)" in status(view)
    assert view.locator(".wb-run [aria-current]").evaluate("e => e === document.activeElement")
    clean(lab)


def test_thousands_of_steps(lab: Lab, keep: Any) -> None:
    page = lab.page
    view = page.locator(".wb-replay").nth(1)
    view.scroll_into_view_if_needed()
    assert status(view) == "Start, before step 1 of 3,000: 9,000 nodes"
    view.get_by_role("button", name="fuse/b × 1,000").click()
    assert view.locator(".wb-step").count() < 60, "not a row for each step"
    view.get_by_role("button", name="… 979 more").click()
    assert status(view).startswith("Step 1,022 of 3,000")
    view.get_by_role("button", name="Next").focus()
    page.keyboard.press("End")
    assert status(view) == "Step 3,000 of 3,000: fuse/c, −3 +1, 3,000 nodes"
    keep("replay-4-long")
    clean(lab)


def test_text_of_a_graph_stays_text(lab: Lab, keep: Any) -> None:
    dialogs: list[str] = []
    lab.page.on(
        "dialog", lambda d: d.accept() if d.type == "beforeunload" else (dialogs.append(d.message), d.dismiss())
    )
    page = lab.run("evil", REPLAY.replace("\nreplay\n", "\n"), EVIL)
    view = page.locator(".wb-replay")
    view.wait_for(timeout=30_000)
    assert view.locator(".wb-replay-step").get_by_text("<script>alert('x')</script>").first.is_visible()
    assert view.evaluate("e => e.scrollWidth - e.clientWidth") <= 1, "a long name makes the view wider than its place"
    assert dialogs == []
    keep("replay-5-evil")
    clean(lab)


def test_nothing_planned_and_nothing_missed(lab: Lab, keep: Any) -> None:
    page = lab.run("empty", EMPTY)
    views = page.locator(".wb-fusions")
    views.nth(1).wait_for(timeout=30_000)
    assert status(views.nth(0)).endswith("candidates rewritten: no misses.")
    assert status(views.nth(1)) == "No rule has a candidate."
    assert views.nth(1).get_by_text("No execution provider is compared.").is_visible()
    keep("fusions-4-empty")
    clean(lab)

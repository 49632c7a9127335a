"""EpCompare, EpMatrix and OpHistogram in a real JupyterLab, light and dark: clicked, driven by keyboard, looked at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser.checks import PALETTE, clipped, keep, overlapping, shot, unpainted, violations
from tests.browser.lab import Lab

pytestmark = pytest.mark.browser

MAKE = """
import workbench
from tests.cases import CASES
from tests.unit.analysis.results import report
from workbench.widgets import EpCompare, EpMatrix, OpHistogram, link
made = workbench.compare(dict(CASES["gqa"].hf), load_weights=False)
table = made.widget(report())
table
"""
OTHERS = ["matrix = made.matrix().widget()\nmatrix", "bars = OpHistogram(made)\nlink(table, matrix, bars)\nbars"]
DESCRIBED = "document.activeElement.getAttribute('aria-label')"


@pytest.fixture(scope="module", autouse=True)
def opened(lab: Lab) -> None:
    lab.run("eps", MAKE, *OTHERS)
    lab.page.locator(".wb-ops").wait_for()


@pytest.fixture(autouse=True)
def quiet(lab: Lab) -> Iterator[None]:
    yield
    lab.check()


def cell(lab: Lab, row: str, name: str) -> Any:
    return lab.page.locator(f".wb-ep button[data-row='{row}'][data-name='{name}']")


def below(lab: Lab) -> Any:
    """What stands below the table of the panel."""
    return lab.page.locator(".wb-compare > .widget-vbox").last


def test_the_table_opens_what_is_behind_a_cell(lab: Lab, theme: str) -> None:
    page = lab.page
    keep(page, f"eps-{theme}-1-table")
    assert page.locator(".wb-ep th[scope=col]").count() == 8 and page.locator(".wb-ep th[scope=row]").count() == 12

    cell(lab, "inputs", "cuda").click()
    below(lab).get_by_text("past_key_values.0.key").wait_for()
    assert "position_ids" in page.locator(".wb-ep-facts").inner_text()
    keep(page, f"eps-{theme}-2-inputs")

    cell(lab, "size", "cuda").click()
    below(lab).get_by_text("model.embed_tokens.weight").wait_for()
    keep(page, f"eps-{theme}-3-weights")

    cell(lab, "parity", "dml").click()
    below(lab).locator("img").nth(1).wait_for()
    assert below(lab).get_by_text("Parity against generic float32").is_visible()
    keep(page, f"eps-{theme}-4-parity")

    cell(lab, "fusions", "trt-rtx").click()
    below(lab).get_by_text("fuse/gqa").first.wait_for()
    keep(page, f"eps-{theme}-5-fusions")

    cell(lab, "ops", "cuda").click()
    below(lab).locator(".wb-ops").wait_for()
    assert unpainted(shot(page, ".wb-compare .wb-ops"), ["added", "removed"]) == []
    keep(page, f"eps-{theme}-6-operators")

    cell(lab, "nodes", "cuda").click()
    page.wait_for_timeout(500)
    page.wait_for_function("document.querySelector('#jp-main-statusbar').innerText.includes('| Idle')")
    below(lab).locator(".wb-view").first.wait_for()
    assert unpainted(shot_of(below(lab)), ["added", "removed"]) == []
    keep(page, f"eps-{theme}-7-nodes")
    assert violations(page, ".wb-ep") == []
    assert clipped(page, ".wb-ep td button, .wb-ep th") == []
    assert overlapping(page, ".wb-ep td button, .wb-ep-facts") == []


def test_the_table_by_keyboard(lab: Lab) -> None:
    page = lab.page
    cell(lab, "inputs", "cpu").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate(DESCRIBED).startswith("cuda, Inputs: 8")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    below(lab).get_by_text("present.0.key").wait_for()
    assert cell(lab, "outputs", "cuda").get_attribute("aria-pressed") == "true"
    page.keyboard.press("Control+End")
    assert page.evaluate(DESCRIBED).startswith("onnx-standard, Parity")
    page.keyboard.press("Home")
    assert page.evaluate(DESCRIBED).startswith("generic, Parity")
    assert page.locator(".wb-ep table [tabindex='0']").count() == 1, "one tab stop"


def test_another_dtype_builds_again(lab: Lab, theme: str) -> None:
    page = lab.page
    assert cell(lab, "dtype", "cpu").inner_text() == "float32"
    page.locator(".wb-compare .widget-dropdown select").select_option("float16")
    page.get_by_text("Done. Parity was not run for these graphs.").wait_for()
    assert cell(lab, "dtype", "cpu").inner_text() == "float16"
    keep(page, f"eps-{theme}-8-float16")
    page.locator(".wb-compare .widget-dropdown select").select_option("bfloat16")
    page.get_by_text("Not built:").wait_for()
    assert cell(lab, "dtype", "cpu").inner_text() == "float16", "what was there stays"
    page.locator(".wb-compare .widget-dropdown select").select_option("as it was made")
    page.wait_for_function(
        "document.querySelector(\".wb-ep button[data-row=dtype][data-name=cpu]\").innerText === 'float32'"
    )


def test_the_matrix(lab: Lab, theme: str) -> None:
    page = lab.page
    view = page.locator(".wb-matrix")
    view.scroll_into_view_if_needed()
    view.locator("td[data-key='dml/layers.1-2']").click()
    details = view.locator(".wb-matrix-details")
    details.get_by_text(
        "lower/rotary_to_ms made 2 nodes (RotaryEmbedding 2) from 2 (RotaryEmbedding 2), in each of layers 1-2"
    ).wait_for()
    keep(page, f"eps-{theme}-9-matrix")
    assert unpainted(shot(page, ".wb-matrix"), [PALETTE["added"], "#cc79a7", "#6b7280", "#56b4e9"]) == []
    assert violations(page, ".wb-matrix") == []
    assert clipped(page, ".wb-matrix td, .wb-matrix th, .wb-matrix .wb-mark") == []
    assert overlapping(page, ".wb-matrix .wb-mark, .wb-matrix .wb-matrix-size") == []
    run = view.get_by_role("button", name="layers.1-2: open 2 layers")
    run.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert details.locator("h3").inner_text().startswith("cpu, layers.2: 24 → 11 nodes")
    view.get_by_role("button", name="fuse/skip_rms_norm").click()
    assert set(view.locator("tbody .wb-mark").all_inner_texts()) == {"S"}
    keep(page, f"eps-{theme}-10-matrix-filtered")
    view.get_by_role("button", name="All rules").click()


def test_the_bars(lab: Lab, theme: str) -> None:
    page = lab.page
    view = page.locator(".wb-ops").last
    view.scroll_into_view_if_needed()
    bar = view.locator(".wb-bar")
    keep(page, f"eps-{theme}-11-bars")
    assert unpainted(shot_of(view), ["same", "added", "removed"]) == []
    assert violations(page, ".wb-ops") == []
    bar.get_by_role("button", name="Difference").click()
    bar.get_by_role("button", name="Hide unchanged").press("Enter")
    view.locator("td[data-key='com.microsoft.GroupQueryAttention/cuda']").click()
    assert view.locator(".wb-status").inner_text() == (
        "Selected: cuda, com.microsoft.GroupQueryAttention: 3 nodes, +3 against generic."
    )
    keep(page, f"eps-{theme}-12-difference")
    bar.get_by_label("Search operators").fill("no such operator")
    assert view.get_by_text("No operator matches “no such operator” among those that change.").is_visible()
    keep(page, f"eps-{theme}-13-nothing-found")
    bar.get_by_label("Search operators").fill("")
    bar.get_by_role("button", name="Fold by domain").click()
    keep(page, f"eps-{theme}-14-folded")
    assert violations(page, ".wb-ops") == []


def shot_of(element: Any) -> bytes:
    png: bytes = element.screenshot()
    return png


def test_a_choice_reaches_linked_views(lab: Lab) -> None:
    page = lab.page
    page.locator(".wb-matrix td[data-key='webgpu/norm']").click()
    page.wait_for_function("document.querySelector(\".wb-ep button[aria-pressed='true']\")?.dataset.name === 'webgpu'")

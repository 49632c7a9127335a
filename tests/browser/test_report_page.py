"""A page written by Report, opened from a file: alive without a kernel, silent, and deaf to what models say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.checks import PALETTE, clipped, keep, overlapping, shot, unpainted, violations
from tests.cases import CASES
from tests.unit.analysis.results import EVIL, GENERIC
from tests.unit.metadata.runs import document, hostile, recorded
from workbench.analysis.histogram import OpHistogram as Histogram
from workbench.analysis.rule_matrix import Cell, Mark, Place, RuleMatrix
from workbench.analysis.tables import OpTable
from workbench.compare import Comparison, compare
from workbench.types import OpId
from workbench.widgets.ep_matrix import EpMatrix
from workbench.widgets.op_histogram import OpHistogram
from workbench.widgets.report import Report
from workbench.widgets.workflow_page import workflow_report

pytestmark = pytest.mark.browser
LONG = "x" * 10_000
ATTACK = '</script><img src=x onerror="window.hit=1"><script>window.hit=1</script>'


class Opened:
    """A page and what it did: console messages, requests, dialogs."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.console: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda m: self.console.append(m.text))
        page.on("pageerror", lambda e: self.console.append(str(e)))
        page.on("dialog", lambda d: (self.console.append(f"dialog {d.message}"), d.dismiss()))
        page.on("request", lambda r: self.asked.append(r.url))

    def open(self, path: Path) -> Any:
        self.page.goto(path.as_uri())
        return self.page

    def clean(self, path: Path) -> None:
        assert self.console == []
        assert [url for url in self.asked if url != path.as_uri() and not url.startswith("data:")] == []


@pytest.fixture(params=["light", "dark"])
def opened(request: pytest.FixtureRequest, browser: Any) -> Iterator[Opened]:
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme=request.param, offline=True)
    context.set_default_timeout(10_000)
    yield Opened(context.new_page())
    context.close()


@pytest.fixture(scope="module")
def made() -> Comparison:
    return compare(dict(CASES["gqa"].hf), execution_providers=["cpu", "cuda", "trt-rtx"], load_weights=False)


def test_every_view_lives_without_a_kernel(made: Comparison, opened: Opened, tmp_path: Path,
                                           request: pytest.FixtureRequest) -> None:  # fmt: skip
    theme = request.node.callspec.params["opened"]
    parts = (("Table", made.widget()), ("Matrix", made.matrix().widget()), ("Bars", OpHistogram(made)),
             ("Plain", made.summary()))  # fmt: skip
    path = Report(f"Views {EVIL}", *parts).save_html(tmp_path / "page.html")
    page = opened.open(path)
    assert page.locator(".wb-view").count() == 3

    page.locator("button[data-row=inputs][data-name=cuda]").click()
    assert "position_ids" in page.locator(".wb-ep-facts").inner_text()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator(".wb-ep-facts").inner_text().startswith("cuda, outputs: 7 (float16)")

    page.locator(".wb-matrix td[data-key='cuda/layers.1-2']").click()
    assert "in each of layers 1-2" in page.locator(".wb-matrix-details").inner_text()

    page.locator(".wb-ops td[data-key='Attention/cuda']").click()
    assert page.locator(".wb-ops .wb-status").inner_text() == "Selected: cuda, Attention: 0 nodes, −3 against generic."

    assert violations(page, ".wb-view") == []
    assert unpainted(shot(page, ".wb-ops"), ["same", "added", "removed"]) == []
    assert unpainted(shot(page, ".wb-matrix"), [PALETTE["added"], "#cc79a7"]) == []
    assert clipped(page, ".wb-matrix td, .wb-ep td button") == []
    assert overlapping(page, ".wb-ops .wb-bar > *, .wb-ops .wb-op-key, .wb-ops .wb-status") == []
    keep(page, f"report-{theme}")
    opened.clean(path)


def test_hostile_texts_are_inert_and_readable(opened: Opened, tmp_path: Path) -> None:
    ops = OpTable({f"graph {ATTACK}": Histogram({OpId(ATTACK): 3, OpId(LONG, "dom<b>ain"): 2}), LONG: GENERIC})
    marks = (Mark(f"fuse/{ATTACK.replace(' ', '_')}", 1, 2, ((ATTACK, 1),), ((LONG, 2),)),)
    matrix = RuleMatrix((ATTACK,), (Place(ATTACK), Place(LONG)),
                        (Cell(ATTACK, ATTACK, 2, 1, marks), Cell(ATTACK, LONG, 0, 0)))  # fmt: skip
    path = Report(ATTACK, (ATTACK, OpHistogram(ops)), EpMatrix(matrix)).save_html(tmp_path / "page.html")
    page = opened.open(path)
    assert page.locator(".wb-view").count() == 2
    page.locator(".wb-matrix td").first.click()
    said = page.locator(".wb-matrix-details li").inner_text()
    assert ATTACK in said and len(said) == 400, "the head and the tail of a sentence with a name of 10 kB"
    assert page.locator(".wb-ops tbody th", has_text="</script>").count() == 1
    assert page.evaluate("window.hit") is None
    assert page.locator(".wb-view img, .wb-view script").count() == 0
    assert page.locator(".wb-view").first.bounding_box()["width"] <= 1280
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280, "a long name must not widen the page"
    opened.clean(path)


def test_empty_states_say_so(opened: Opened, tmp_path: Path) -> None:
    path = Report("Empty", OpHistogram({}), EpMatrix(RuleMatrix((), (), ()))).save_html(tmp_path / "page.html")
    page = opened.open(path)
    assert page.locator(".wb-ops").get_by_text("No operators: the graphs have no nodes.").is_visible()
    assert page.locator(".wb-matrix").get_by_text("No execution provider to compare").is_visible()
    assert violations(page, ".wb-view") == []
    opened.clean(path)


def test_bars_by_keyboard_and_by_their_controls(opened: Opened, tmp_path: Path) -> None:
    ops = OpTable({"a": GENERIC, "b": Histogram({OpId("MatMul"): 211, OpId("FastGelu", "com.microsoft"): 4})})
    path = Report("Bars", OpHistogram(ops)).save_html(tmp_path / "page.html")
    page = opened.open(path)
    rows = lambda: [row.split("\n")[0].split("\t")[0] for row in page.locator(".wb-ops tbody th").all_inner_texts()]  # noqa: E731
    assert rows() == ["MatMul", "Add", "Attention", "com.microsoft.FastGelu", "ep_workbench.CausalMask"]
    bar = page.locator(".wb-ops .wb-bar")

    bar.get_by_role("button", name="Hide unchanged").press("Enter")
    assert "MatMul" not in rows() and len(rows()) == 4
    assert page.evaluate("document.activeElement.textContent") == "Hide unchanged", "focus stays on the button"
    bar.get_by_role("button", name="Difference").click()
    assert bar.get_by_label("Sort by").input_value() == "change"
    assert rows()[0] == "Add"
    assert page.locator(".wb-ops thead th").all_inner_texts()[1:] == ["b\n−87 nodes"]

    bar.get_by_label("Search operators").fill("gelu")
    assert rows() == ["com.microsoft.FastGelu"]
    bar.get_by_label("Search operators").fill("nothing like it")
    assert (
        page.locator(".wb-ops")
        .get_by_text("No operator matches “nothing like it” among those that change.")
        .is_visible()
    )
    bar.get_by_label("Search operators").fill("")

    bar.get_by_role("button", name="Fold by domain").click()
    assert rows() == ["▸ ai.onnx (2)", "▸ com.microsoft (1)", "▸ ep_workbench (1)"]
    page.locator(".wb-ops tbody th").nth(1).click()
    assert rows()[1:3] == ["▾ com.microsoft (1)", "com.microsoft.FastGelu"]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.locator(".wb-ops .wb-status").inner_text().startswith("Selected: a, 0 nodes; b, 4 nodes, +4 against a")
    bar.get_by_label("Compared against").select_option("b")
    assert page.locator(".wb-ops thead th").all_inner_texts()[1:] == ["a\n+87 nodes"]
    opened.clean(path)


def test_the_matrix_by_keyboard(made: Comparison, opened: Opened, tmp_path: Path) -> None:
    path = Report("Matrix", made.matrix().widget()).save_html(tmp_path / "page.html")
    page = opened.open(path)
    view = page.locator(".wb-matrix")
    assert view.locator("table [tabindex='0']").count() == 1, "one tab stop"
    run = view.get_by_role("button", name="layers.1-2: open 2 layers")
    run.focus()
    page.keyboard.press("Enter")
    assert view.locator("thead th").all_inner_texts()[2:5] == ["layers.0", "▾ layers.1", "layers.2"]
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true", "focus stays on the run"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert view.locator("td[aria-selected=true]").count() == 1
    assert view.locator(".wb-matrix-details h3").inner_text().split(",")[0] == "cuda"
    view.get_by_role("button", name="fuse/skip_rms_norm").click()
    letters = view.locator("tbody .wb-mark").all_inner_texts()
    assert letters and set(letters) == {"S"}
    view.get_by_role("button", name="All rules").click()
    assert len(set(view.locator("tbody .wb-mark").all_inner_texts())) > 3
    page.keyboard.press("Tab")
    opened.clean(path)


def test_a_workflow_and_its_run_live_without_a_kernel(
    opened: Opened, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    theme = request.node.callspec.params["opened"]
    path = workflow_report(hostile(), title="Workflow").save_html(tmp_path / "hostile.html")
    page = opened.open(path)
    page.get_by_text("n.v0").first.wait_for()
    assert page.locator("img").count() == 0, "a name is text"
    path = workflow_report(document(), run=recorded()).save_html(tmp_path / "workflow.html")
    page = opened.open(path)
    assert page.locator(".wb-view").count() == 5
    page.get_by_role("button", name="Next step").click()
    page.get_by_text("Moment 2 of 19: loop, enter").first.wait_for()
    page.locator("[data-index='5']").focus()
    for key in ("b", "Enter"):
        page.keyboard.press(key)
    page.get_by_role("button", name="Run on to the next breakpoint").click()
    page.get_by_text("Moment 5 of 19: policy, round 0").first.wait_for()
    assert "s.tok" in page.locator(".wb-moment").inner_text()
    assert violations(page) == [] and overlapping(page, ".wb-flow-box, .wb-doc .wb-bar *, .wb-flow .wb-bar *") == []
    page.set_viewport_size({"width": 700, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 700, "a narrow page is not wider than its window"
    keep(page, f"workflow-page-{theme}")
    opened.asked[:] = [url for url in opened.asked if not url.endswith("/hostile.html")]
    opened.clean(path)

"""PipelineStepper in a real JupyterLab, light and dark: every step clicked, driven by keys, broken, looked at."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.checks import PALETTE, clipped, keep, overlapping, shot, unpainted, violations
from tests.browser.lab import Lab, background, contrast

pytestmark = pytest.mark.browser

MAKE = """
import os, shutil, tempfile, time
from tests.unit.export.folders import source
from workbench.steps import work
from workbench.widgets import PipelineStepper
package = work.WORK["package"]
def slow(choices, products, hooks):
    for _ in range(200 if choices.folder == "slow" else 0):
        time.sleep(0.1)
        hooks.check()
    return package(choices, products, hooks)
work.WORK["package"] = slow
os.chdir(tempfile.mkdtemp())
shutil.copytree(source(), "tiny-llama")
stepper = PipelineStepper("tiny-llama", folder="tiny-exported", prompt="abc", max_new_tokens=8)
stepper
"""
TITLES = ["Source", "Config", "Generic graph", "EP graph", "Package", "Checked", "Running"]
HERE = importlib.util.find_spec("onnxruntime_genai") is not None


@pytest.fixture(scope="module", autouse=True)
def opened(lab: Lab) -> None:
    lab.run("stepper", MAKE)
    lab.page.locator(".wb-stepper").wait_for()


@pytest.fixture(autouse=True)
def quiet(lab: Lab) -> Iterator[None]:
    yield
    lab.check()


def view(lab: Lab) -> Any:
    return lab.page.locator(".wb-stepper")


def stage(lab: Lab, title: str) -> Any:
    return view(lab).get_by_role("button", name=f"{title}:")


def wait_for(lab: Lab, title: str, state: str) -> None:
    name = {"Generic graph": "generic", "EP graph": "ep"}.get(title, title.lower())
    lab.page.locator(f".wb-stage[data-step='{name}'][data-state='{state}']").wait_for()


def said(lab: Lab, text: str) -> None:
    view(lab).locator(".wb-status").get_by_text(text).wait_for()


def states(lab: Lab) -> list[str]:
    found: list[str] = view(lab).locator(".wb-stage").evaluate_all("all => all.map((e) => e.dataset.state)")
    return found


def sound(lab: Lab) -> None:
    """Accessible, nothing cut off, nothing over something else."""
    assert violations(lab.page, ".wb-stepper") == []
    assert clipped(lab.page, ".wb-stage, .wb-stepper .wb-field, .wb-stepper .wb-bar button") == []
    assert overlapping(lab.page, ".wb-stage, .wb-stepper .wb-field, .wb-stepper .wb-bar button, .wb-python") == []


def test_before_anything_ran(lab: Lab, theme: str) -> None:
    assert [text.split("\n")[0].split()[1] for text in view(lab).locator(".wb-stage").all_inner_texts()] == [
        title.split()[0] for title in TITLES
    ]
    assert states(lab) == ["not run"] * 7 and view(lab).get_by_text("0 of 7 steps done").is_visible()
    assert view(lab).get_by_text("Not run yet.").is_visible()
    sound(lab)
    keep(lab.page, f"stepper-{theme}-1-before")


def test_every_step_is_clicked_and_run(lab: Lab, theme: str) -> None:
    expected = {
        "Source": "SourceConfig('tiny-llama'",
        "Config": "ModelConfig(llama: 3 layers of 64",
        "Generic graph": "MatMul 22",
        "EP graph": "fuse/gqa 3/3",
        "Package": "wrote 7 files",
        "Checked": "ParityReport(against generic float32",
    } | ({"Running": "8 tokens, length"} if HERE else {})
    below = lab.page.locator(".wb-stepper-panel .widget-html").last
    for number, (title, text) in enumerate(expected.items(), 2):
        stage(lab, title).click()
        assert view(lab).get_by_role("heading", name=title, exact=True).is_visible()
        view(lab).get_by_role("button", name="Run this step").click()
        wait_for(lab, title, "done")
        view(lab).locator(".wb-says").get_by_text(text).wait_for()
        below.locator("table, p").first.wait_for()
        sound(lab)
        keep(lab.page, f"stepper-{theme}-{number}-{title.split()[0].lower()}")
    assert states(lab)[:6] == ["done"] * 6
    assert unpainted(shot(lab.page, ".wb-stepper"), ["added"]) == []
    ink = view(lab).locator(".wb-says").evaluate("e => getComputedStyle(e).color")
    assert contrast(ink, background(lab.page, ".wb-says")) > 4.5


def test_a_choice_makes_steps_stale_and_back_again(lab: Lab, theme: str) -> None:
    stage(lab, "Generic graph").click()
    view(lab).get_by_label("Dtype").select_option("float16")
    wait_for(lab, "Generic graph", "stale")
    assert states(lab)[:6] == ["done", "done", "stale", "stale", "stale", "stale"]
    said(lab, "Changed dtype;")
    assert "dtype='float16'" in view(lab).locator(".wb-python").inner_text()
    assert unpainted(shot(lab.page, ".wb-stepper"), ["changed"]) == []
    sound(lab)
    keep(lab.page, f"stepper-{theme}-9-stale")
    view(lab).get_by_label("Dtype").select_option("")
    wait_for(lab, "Generic graph", "done")
    assert states(lab)[:6] == ["done"] * 6


def test_a_failure_is_a_text_with_its_hint(lab: Lab, theme: str) -> None:
    stage(lab, "Generic graph").click()
    view(lab).get_by_label("Cache length").fill("999")
    view(lab).get_by_label("Cache length").press("Enter")
    wait_for(lab, "Generic graph", "stale")
    view(lab).get_by_role("button", name="Run from here").click()
    wait_for(lab, "Generic graph", "failed")
    alert = view(lab).get_by_role("alert")
    assert "the model has 128 positions. Give a number from 1 to that." in alert.inner_text()
    said(lab, "Generic graph failed.")
    assert unpainted(shot(lab.page, ".wb-stepper"), ["removed"]) == []
    sound(lab)
    keep(lab.page, f"stepper-{theme}-10-failed")
    view(lab).get_by_label("Cache length").fill("")
    view(lab).get_by_label("Cache length").press("Enter")
    wait_for(lab, "Generic graph", "done")
    view(lab).get_by_role("button", name="Run all").click()
    wait_for(lab, TITLES[-1] if HERE else "Checked", "done")


def test_the_python_is_copied(lab: Lab) -> None:
    stage(lab, "EP graph").click()
    view(lab).get_by_role("button", name="Copy Python").click()
    said(lab, "Copied.")
    copied = lab.page.evaluate("navigator.clipboard.readText()")
    assert copied == view(lab).locator(".wb-python").evaluate("e => e.textContent")
    assert (
        copied.startswith("from workbench import build\n") and "build('tiny-llama', execution_provider='cpu')" in copied
    )


def test_without_a_clipboard_the_text_is_selected(lab: Lab) -> None:
    lab.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    view(lab).get_by_role("button", name="Copy Python").click()
    said(lab, "The text is selected: press Ctrl+C.")
    assert "execution_provider='cpu'" in lab.page.evaluate("String(getSelection())")


def test_by_keyboard(lab: Lab) -> None:
    page = lab.page
    stage(lab, "Source").click()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.step") == "generic"
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.dataset.step") == "running"
    page.keyboard.press("Home")
    assert page.evaluate("document.activeElement.dataset.step") == "source"
    assert page.locator(".wb-stages [tabindex='0']").count() == 1, "one tab stop"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.name") == "model"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Run this step"
    page.keyboard.press("Enter")
    wait_for(lab, "Config", "stale")
    assert stage(lab, "Source").get_attribute("data-state") == "done"
    page.wait_for_function("!document.querySelector('.wb-stepper .wb-stage-left button').disabled")
    assert page.evaluate("document.activeElement.textContent") != "", "focus is not lost"


def test_a_run_is_cancelled(lab: Lab, theme: str) -> None:
    stage(lab, "Package").click()
    view(lab).get_by_label("Folder", exact=True).fill("slow")
    view(lab).get_by_label("Folder", exact=True).press("Enter")
    view(lab).get_by_role("button", name="Run all").click()
    wait_for(lab, "Package", "running")
    said(lab, "Package: running ...")
    assert view(lab).get_by_role("button", name="Run all").is_disabled()
    assert view(lab).get_by_label("Folder", exact=True).is_disabled()
    sound(lab)
    keep(lab.page, f"stepper-{theme}-11-running")
    view(lab).get_by_role("button", name="Cancel").click()
    said(lab, "Stopped. What was done stays.")
    wait_for(lab, "Package", "stale")
    assert view(lab).get_by_role("button", name="Run all").is_enabled()


def test_the_page_of_a_report(lab: Lab, theme: str, tmp_path: Path) -> None:
    """The same steps without a kernel: shown, copied from, never run."""
    from tests.unit.export.folders import source
    from workbench.widgets import PipelineStepper, Report

    stepper = PipelineStepper(str(source()), folder=str(tmp_path / "x")).run("package")
    path = Report("Export", stepper).save_html(tmp_path / "page.html")
    page = lab.page.context.browser.new_page(color_scheme=theme, viewport={"width": 1280, "height": 900})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(path.as_uri())
    page.locator(".wb-stage[data-step='package']").click()
    assert page.locator(".wb-says").inner_text().startswith("ExportReport(cpu float32")
    assert not page.get_by_role("button", name="Run all").is_visible()
    assert page.get_by_label("Folder", exact=True).is_disabled()
    assert "report = export(" in page.locator(".wb-python").inner_text()
    assert violations(page, ".wb-stepper") == []
    assert unpainted(shot(page, ".wb-stepper"), [PALETTE["added"]]) == []
    keep(page, f"stepper-{theme}-12-page")
    assert errors == []
    page.close()

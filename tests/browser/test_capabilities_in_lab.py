"""CapabilityMatrix in a real JupyterLab, light and dark: by mouse, by keyboard, by its pixels."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.checks import keep, pixels, shot, unpainted, violations
from tests.browser.lab import Lab, background, colours, contrast

pytestmark = pytest.mark.browser

CELL = "from workbench.widgets import CapabilityMatrix\nview = CapabilityMatrix()\nview"
CHOSEN = "print([view.execution_provider, view.op, view.chosen, view.dtype])"
EVIL = """
import dataclasses
from workbench.analysis.capabilities import capabilities
from IPython.display import display
some = capabilities(["cpu"])
evil = dataclasses.replace(some.facts[1], op="<script>alert(1)</script>" * 9, source="<img src=x onerror=alert(1)>")
display(CapabilityMatrix(dataclasses.replace(some, facts=(evil,))))
display(CapabilityMatrix(dataclasses.replace(some, facts=())))
"""


def clean(lab: Lab) -> None:
    assert violations(lab.page) == []
    lab.check()


def status(view: Any) -> str:
    return str(view.get_by_role("status").inner_text())


def test_a_fact_its_source_and_its_rules(lab: Lab, theme: str) -> None:
    page = lab.run("facts", CELL, CHOSEN)
    view = page.locator(".wb-cap")
    view.wait_for(timeout=30_000)
    assert " in float32, " in status(view)
    clean(lab)
    keep(page, f"{theme}-facts-0")
    assert unpainted(shot(page, ".wb-cap-table"), ["removed", "added"]) == []

    view.get_by_label("Part of an operator's name").fill("groupquery")
    cell = view.get_by_role(
        "button", name="webgpu in float32: softcap of com.microsoft.GroupQueryAttention is not known to work"
    )
    cell.click()
    details = view.get_by_label("The chosen fact")
    assert details.get_by_text("GroupQueryAttention ignores softcap").is_visible()
    assert details.get_by_text("fuse/gqa").is_visible() and details.get_by_text("looked at on 2026-11-29").is_visible()
    assert view.locator("button[aria-pressed=true]").count() == 1
    keep(page, f"{theme}-facts-1-chosen")
    for selector in (".wb-cap-details p", ".wb-cap-no", "tbody th"):
        ink = view.locator(selector).first.evaluate("e => getComputedStyle(e).color")
        assert contrast(ink, background(page, f".wb-cap {selector}")) > 4.5, selector
    clean(lab)
    page.locator(".jp-Cell").nth(1).click()
    page.keyboard.press("Control+Enter")
    output = page.locator(".jp-Cell").nth(1).locator(".jp-OutputArea-output")
    output.get_by_text("'webgpu', 'com.microsoft.GroupQueryAttention'").wait_for(timeout=30_000)


def test_filters(lab: Lab, theme: str) -> None:
    page = lab.page
    view = page.locator(".wb-cap").first
    view.get_by_label("Part of an operator's name").fill("")
    everything = view.locator("tbody tr").count()
    view.get_by_label("Switches the rule").select_option("lower/eliminate_shape")
    assert 0 < view.locator("tbody tr").count() < everything
    view.get_by_label("Execution provider", exact=True).select_option("webgpu")
    assert view.locator("thead th").count() == 2
    keep(page, f"{theme}-facts-2-filtered")
    view.get_by_label("Part of an operator's name").fill("nothing like it")
    assert status(view) == "No fact fits these filters." and not view.locator("table").is_visible()
    keep(page, f"{theme}-facts-3-none")
    clean(lab)
    view.get_by_label("Part of an operator's name").fill("")
    view.get_by_label("Switches the rule").select_option("")
    view.get_by_label("Execution provider", exact=True).select_option("")
    view.get_by_label("Dtype").select_option("float16")
    assert " in float16, " in status(view) and view.locator("tbody tr").count() == everything


def test_by_keyboard(lab: Lab) -> None:
    page = lab.page
    view = page.locator(".wb-cap").first
    assert view.locator("td button[tabindex='0']").count() == 1, "one tab stop for the table"
    first = view.locator("td button").first
    first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    there = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert there != first.get_attribute("aria-label")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    assert there.split(";")[0] in view.get_by_label("The chosen fact").inner_text()
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.closest('.wb-cap') !== null")
    clean(lab)


def test_text_stays_text_and_nothing_to_show(lab: Lab, theme: str) -> None:
    page = lab.run("evil-facts", CELL, EVIL)
    view = page.locator(".wb-cap").nth(1)
    view.wait_for(timeout=30_000)
    view.locator("td button").first.click()
    assert view.get_by_text("<img src=x onerror=alert(1)>").is_visible()
    assert view.evaluate("e => e.scrollWidth - e.clientWidth") <= 1, "a long name makes the view wider than its place"
    empty = page.locator(".wb-cap").nth(2)
    assert status(empty) == "There are no facts to show."
    assert colours(shot(page, ".wb-cap")) > 20 and pixels(shot(page, ".wb-cap")).size
    keep(page, f"{theme}-facts-4-evil")
    clean(lab)

"""The panel in a real JupyterLab, light and dark: clicked through, looked at by its pixels."""

from __future__ import annotations

import pytest

from tests.browser.checks import keep, violations
from tests.browser.lab import Lab, background, colours, contrast

pytestmark = pytest.mark.browser

PANEL = """
from tests.unit.analysis.results import FakeComparison
from workbench.widgets.panel import ComparePanel
panel = ComparePanel("tiny", compare=lambda *a, **k: FakeComparison())
panel
"""


def test_the_panel(lab: Lab, theme: str) -> None:
    page = lab.run("panel", PANEL)
    panel = page.locator(".ep-workbench-panel")
    panel.wait_for(timeout=30_000)
    assert panel.get_by_text("Nothing has run yet").first.is_visible()
    keep(page, f"{theme}-0-before")

    panel.get_by_role("button", name="Run").click()
    panel.get_by_text("Done: parity ok.").wait_for(timeout=60_000)
    expected = {
        "Ops": ("GroupQueryAttention", 1),
        "Fusions": ("26", 1),
        "Misses": ("model.layers.0-2.self_attn (3)", 1),
        "Parity": ("graph-on-cpu", 2),
    }
    for i, (tab, (text, pictures)) in enumerate(expected.items(), 1):
        panel.get_by_role("tab", name=tab).click()
        shown = panel.locator(".widget-tab-contents > *:visible")
        assert shown.get_by_text(text).first.is_visible(), tab
        images = shown.locator("img:visible")
        assert images.count() == pictures, tab
        for k in range(pictures):
            images.nth(k).scroll_into_view_if_needed()
            assert colours(images.nth(k).screenshot()) > 20, f"{tab}: a blank picture"
        panel.scroll_into_view_if_needed()
        keep(page, f"{theme}-{i}-{tab.lower()}")
        cell = shown.locator("td:visible").first
        ink = cell.evaluate("e => getComputedStyle(e).color")
        assert contrast(ink, background(page, ".ep-workbench-panel td:visible")) > 4.5, f"{tab}: hard to read"

    assert violations(page, ".ep-workbench-panel") == []
    lab.check()


def test_text_of_a_model_stays_text(lab: Lab) -> None:
    """The hand-made results carry a script tag in a reason: shown, not run."""
    dialogs: list[str] = []
    lab.page.on("dialog", lambda d: (dialogs.append(d.message), d.dismiss()))
    lab.page.locator(".ep-workbench-panel").get_by_role("tab", name="Misses").click()
    assert lab.page.get_by_text("<script>alert('x')</script>").first.is_visible()
    assert dialogs == []


def test_two_graphs_in_netron(lab: Lab, theme: str) -> None:
    panel = lab.page.locator(".ep-workbench-panel")
    panel.get_by_role("tab", name="Netron").click()
    lab.console.clear()
    lab.outside.clear()
    panel.get_by_role("button", name="Open in Netron").click()
    panel.locator("iframe").nth(1).wait_for(timeout=30_000)
    frames = [panel.locator("iframe").nth(i).get_attribute("src") for i in (0, 1)]
    assert frames[0] != frames[1] and all(src and src.startswith("http://127.0.0.1:") for src in frames)
    for i, op_type in enumerate(("Relu", "FastGelu")):  # the generic graph, then the first provider's
        frame = panel.frame_locator("iframe").nth(i)
        accept = frame.get_by_role("button", name="Accept")
        accept.wait_for(timeout=30_000)
        accept.click()
        frame.get_by_text(op_type, exact=True).first.wait_for(timeout=30_000)
        frame.locator("body.default:not(.spinner)").wait_for(timeout=30_000)
    keep(lab.page, f"{theme}-5-netron")
    elsewhere = [url for url in lab.outside if not url.startswith("http://127.0.0.1:")]
    assert elsewhere == [], elsewhere
    panel.get_by_role("button", name="Close").click()
    panel.locator("iframe").first.wait_for(state="detached", timeout=30_000)

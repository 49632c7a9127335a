"""A notebook with the views, turned into a page and opened offline: pictures and tables, no widget state."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from tests.browser.checks import keep, shot, unpainted
from tests.browser.lab import CHROMIUM

pytestmark = pytest.mark.browser
CELLS = (
    "import workbench\nfrom tests.cases import CASES\nfrom workbench.widgets import OpHistogram\n"
    "made = workbench.compare(dict(CASES['gqa'].hf), load_weights=False)\nmade.widget()",
    "made.matrix().widget()",
    "OpHistogram(made)",
    "OpHistogram(made, mode='difference')",
)


def test_what_a_page_without_a_kernel_shows(tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nbclient import NotebookClient
    from nbconvert import HTMLExporter
    from playwright.sync_api import sync_playwright

    monkeypatch.setenv("PYTHONPATH", str(repo))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    NotebookClient(
        notebook, timeout=120, store_widget_state=False, resources={"metadata": {"path": str(repo)}}
    ).execute()
    assert "widgets" not in notebook.metadata
    page_file = tmp_path / "page.html"
    page_file.write_text(HTMLExporter().from_notebook_node(notebook)[0], encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", headless=True, args=CHROMIUM)
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.set_offline(True)
        page = context.new_page()
        page.goto(page_file.as_uri(), wait_until="domcontentloaded")
        assert page.locator("th[scope=row]").count() == 12
        assert page.get_by_text("VBox(").count() == 0
        pictures = page.locator(".jp-RenderedSVG img")
        assert pictures.count() == 3
        for i, colours in enumerate((["#0072b2", "#cc79a7"], ["same", "added"], ["added"])):
            assert pictures.nth(i).bounding_box()["width"] > 300
            assert unpainted(pictures.nth(i).screenshot(), colours) == []
        keep(page, "eps-static", "body")
        assert len(shot(page, "body")) > 10_000
        browser.close()

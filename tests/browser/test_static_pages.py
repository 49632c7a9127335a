"""A notebook with the views, turned into a page and opened offline: pictures and tables, no widget state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.browser.checks import keep, shot, unpainted

pytestmark = pytest.mark.browser
CELLS = (
    "import workbench\nfrom tests.cases import CASES\nfrom workbench.widgets import OpHistogram\n"
    "made = workbench.compare(dict(CASES['gqa'].hf), load_weights=False)\nmade.widget()",
    "made.matrix().widget()",
    "OpHistogram(made)",
    "OpHistogram(made, mode='difference')",
)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory, repo: Path) -> Path:
    """Made before the browser is: while its driver lives no other event loop can run here."""
    from nbclient import NotebookClient
    from nbconvert import HTMLExporter

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(repo))
        NotebookClient(
            notebook, timeout=120, store_widget_state=False, resources={"metadata": {"path": str(repo)}}
        ).execute()
    assert "widgets" not in notebook.metadata
    file = tmp_path_factory.mktemp("static") / "page.html"
    file.write_text(HTMLExporter().from_notebook_node(notebook)[0], encoding="utf-8")
    return file


def test_what_a_page_without_a_kernel_shows(page_file: Path, browser: Any) -> None:
    page = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True).new_page()
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

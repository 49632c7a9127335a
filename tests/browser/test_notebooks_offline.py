"""Every committed notebook as an offline page: each picture and table is there, painted, without a kernel."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.browser.checks import keep, pixels

pytestmark = pytest.mark.browser
NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))
# What nbconvert shows of an output that has several forms: the first of these.
SHOWN = ("text/html", "image/svg+xml", "image/png")


@pytest.fixture(scope="module")
def context(browser: Any) -> Iterator[Any]:
    offline = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
    yield offline
    offline.close()


def forms(notebook: Any) -> list[str]:
    """The form in which each rich output is shown."""
    bundles = [o.get("data", {}) for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
    return [next(kind for kind in SHOWN if kind in data) for data in bundles if any(kind in data for kind in SHOWN)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_every_picture_is_there(path: Path, context: Any, tmp_path: Path) -> None:
    from nbconvert import HTMLExporter

    notebook = nbformat.read(path, as_version=4)
    expected = forms(notebook)
    page_file = tmp_path / f"{path.stem}.html"
    page_file.write_text(HTMLExporter().from_notebook_node(notebook)[0], encoding="utf-8")
    page = context.new_page()
    page.goto(page_file.as_uri(), wait_until="domcontentloaded")
    assert page.locator(".jp-RenderedHTML").count() == expected.count("text/html")
    pictures = page.locator(".jp-RenderedImage img, .jp-RenderedSVG img, .jp-RenderedSVG svg")
    assert pictures.count() == len(expected) - expected.count("text/html")
    for i in range(pictures.count()):
        picture = pictures.nth(i)
        picture.scroll_into_view_if_needed()
        box = picture.bounding_box()
        assert box["width"] > 200 and box["height"] > 40, f"picture {i} of {path.name}"
        colours = {tuple(pixel) for pixel in pixels(picture.screenshot()).reshape(-1, 3)[::7].tolist()}
        assert len(colours) > 8, f"picture {i} of {path.name} is blank"
    keep(page, f"offline-{path.stem}", "body")
    page.close()

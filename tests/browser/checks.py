"""What every browser test of a view asks: is it accessible, is it painted, and can people look at it afterwards."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

PALETTE = {"same": "#6b7280", "removed": "#d55e00", "added": "#0072b2", "changed": "#cc79a7"}
"""Okabe and Ito's colours as static/base.css names them."""


def violations(page: Any, selector: str = ".wb-view") -> list[str]:
    """What axe finds wrong below ``selector``: ``color-contrast (serious): .wb-x: ... 3.1, needs 4.5``.

    An absent element is a mistake of the test and raises, so that nothing passes by not being there.
    """
    from axe_playwright_python.sync_playwright import Axe

    assert page.locator(selector).count(), f"nothing on the page matches {selector!r}"
    found = Axe().run(page, context=selector).response["violations"]
    return [
        f"{broken['id']} ({broken['impact']}): {' '.join(map(str, node['target']))}: {_why(node)}"
        for broken in found
        for node in broken["nodes"]
    ]


def _why(node: dict[str, Any]) -> str:
    text = " ".join(str(node.get("failureSummary", "")).split())
    return text.removeprefix("Fix any of the following: ").removeprefix("Fix all of the following: ")


def pixels(png: bytes) -> np.ndarray[Any, Any]:
    """A screenshot as rows of red, green and blue, 0 to 255."""
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=np.int16)


def share(png: bytes, colour: str, tolerance: int = 12) -> float:
    """Share of the pixels that have a colour (``#d55e00``), each channel within ``tolerance``."""
    wanted = np.array([int(colour.lstrip("#")[i : i + 2], 16) for i in (0, 2, 4)], dtype=np.int16)
    return float((np.abs(pixels(png) - wanted) <= tolerance).all(axis=-1).mean())


def unpainted(png: bytes, wanted: Iterable[str], least: float = 1e-5) -> list[str]:
    """Which of the wanted colours (names of the palette, or ``#rrggbb``) a picture of the screen does not have."""
    return [name for name in wanted if share(png, PALETTE.get(name, name)) < least]


def shot(page: Any, selector: str = ".wb-view") -> bytes:
    """The first match as PNG, scrolled into view."""
    element = page.locator(selector).first
    element.scroll_into_view_if_needed()
    png: bytes = element.screenshot()
    return png


def keep(page: Any, name: str, selector: str = "") -> None:
    """Leave a screenshot of the page, or of one element, in the folder that WORKBENCH_SCREENSHOTS names."""
    folder = os.environ.get("WORKBENCH_SCREENSHOTS")
    if not folder:
        return
    path = Path(folder) / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    if selector:
        path.write_bytes(shot(page, selector))
    else:
        page.screenshot(path=path)


def clipped(page: Any, selector: str) -> list[str]:
    """Texts of elements that are cut off by their own box."""
    found: list[str] = page.locator(selector).evaluate_all(
        "all => all.filter((e) => e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1)"
        ".map((e) => e.textContent.trim())"
    )
    return found


def overlapping(page: Any, selector: str) -> list[str]:
    """Pairs of matching elements that lie over each other, neither inside the other."""
    found: list[str] = page.locator(selector).evaluate_all(
        """all => {
          const boxes = all.map((e) => [e, e.getBoundingClientRect()]).filter(([, b]) => b.width && b.height);
          const pairs = [];
          for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
            const [e, a] = boxes[i], [f, b] = boxes[j];
            if (e.contains(f) || f.contains(e)) continue;
            const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
            const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            if (wide > 1 && high > 1) pairs.push(`${e.textContent.trim()} / ${f.textContent.trim()}`);
          }
          return pairs;
        }"""
    )
    return found

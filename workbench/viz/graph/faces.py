"""What a graph diff shows where nothing runs: its text, SVG, and PNG for pages that show no SVG."""

from __future__ import annotations

import warnings
from typing import Any

from workbench.viz.graph.look import picture
from workbench.viz.graph.png import draw as draw_png
from workbench.viz.graph.svg import draw as draw_svg


def faces(diff: Any) -> tuple[dict[str, str], dict[str, Any]]:
    """Data and metadata by media type. There is no HTML, so that front ends choose the picture."""
    shown = picture(diff)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a name in a script that the font lacks: boxes, in PNG
        drawn, metadata = draw_png(shown)._repr_mimebundle_()
    return {"text/plain": repr(diff), "image/svg+xml": draw_svg(shown), "image/png": drawn["image/png"]}, metadata

"""A comparison as one HTML file that opens anywhere, offline: tables, pictures, and the graphs to walk through."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import wrong_type
from workbench.viz.figure import write_text
from workbench.viz.page import page
from workbench.viz.report import head, sections
from workbench.widgets.report import Report

if TYPE_CHECKING:
    from workbench.analysis.parity_report import ParityReport

AFTER = "Operators"
"""The section that the live views follow."""


def save_html(comparison: Any, path: str | os.PathLike[str], *, parity: ParityReport | None = None) -> Path:
    """Write the whole comparison to one self-contained HTML file, in one step.

    Args:
        comparison: what ``compare`` returns.
        path: of the file; its folder has to exist.
        parity: what ``comparison.parity(...)`` returned; without it the report says that nothing was run.

    Raises:
        SaveError: the folder is missing, full or not writable.
    """
    if not isinstance(path, str | os.PathLike):
        raise wrong_type("path", path, "the name of a file")
    if parity is not None and not hasattr(parity, "conclusion"):
        raise wrong_type("parity", parity, "what comparison.parity() returned")
    return write_text(path, to_html(comparison, parity=parity))


def to_html(comparison: Any, *, parity: ParityReport | None = None) -> str:
    """The document that :func:`save_html` writes."""
    parts = sections(comparison, parity)
    place = [heading for heading, _ in parts].index(AFTER) + 1
    title, intro = head(comparison, parity)
    return page(title, intro, [*parts[:place], *live(comparison), *parts[place:]])


def live(comparison: Any) -> list[tuple[str, str]]:
    """Which rule changed which layer, and each provider's graph against the generic one."""
    from workbench.widgets.ep_matrix import EpMatrix
    from workbench.widgets.graph_diff import GraphDiffView

    views: list[tuple[str, Any]] = [("Rules by layer", EpMatrix(comparison.matrix()))]
    views += [(f"Graph for {name}", GraphDiffView(comparison.diff(name))) for name in comparison]
    return Report("", *views).sections()

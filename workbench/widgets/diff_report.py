"""A graph diff as one HTML page that opens offline: the picture alive, the summary, every node that differs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.analysis.markup import escape, table
from workbench.viz.figure import write_text
from workbench.viz.page import page, wide
from workbench.widgets.graph_diff import GraphDiffView
from workbench.widgets.report import Report

if TYPE_CHECKING:
    from workbench.analysis.diff import GraphDiff


def save_html(diff: GraphDiff, path: str | os.PathLike[str]) -> Path:
    """Write the page in one step: it is there whole, or what was there before is."""
    return write_text(path, to_html(diff))


def to_html(diff: GraphDiff) -> str:
    """The document that :func:`save_html` writes."""
    frame = diff.to_frame()
    frame = frame.loc[:, (frame != "").any()]  # no column of nothing: pages are narrow
    empty = "Every node is in both graphs and the same."
    rows = table(list(frame.columns), frame.to_numpy().tolist(), empty, wrap=True)
    sections = [
        *Report("", ("Graph", GraphDiffView(diff))).sections(),
        ("Summary", wide(diff.summary()._repr_html_())),
        ("Nodes", wide(rows)),
    ]
    return page(f"{diff.labels[0]} against {diff.labels[1]}", f'<p class="verdict">{escape(repr(diff))}</p>', sections)

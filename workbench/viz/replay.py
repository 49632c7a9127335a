"""A recorded pipeline without a browser's help: a table of rules and passes, and a line of how many nodes there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.analysis.markup import block, escape, plural, table

if TYPE_CHECKING:
    from workbench.rules.recording import Recording

COLUMNS = ["stage", "rule", "steps", "removed", "added", "rewired", "nodes"]
WIDTH, HEIGHT, MARGIN = 600, 72, 6
MOST_POINTS = 300
INK, QUIET = "#0072b2", "#5f6670"


def replay_html(recording: Recording) -> str:
    """A row for each rule and pass that ran, and the sparkline above it."""
    rows = [[r.stage, r.rule, r.steps, r.removed, r.added, r.rewired, r.nodes] for r in recording.runs()]
    counts = recording.counts
    title = (
        f"{recording.execution_provider} {recording.dtype}: {plural(len(recording.steps), 'step')}, "
        f"{counts[0]:,} to {plural(counts[-1], 'node')}"
    )
    return block(title, sparkline(counts), table(COLUMNS, rows, empty="No step was recorded."))


def sparkline(counts: Sequence[int]) -> str:
    """How many nodes there are after each step, as SVG: whole numbers and presentation attributes only."""
    said = f"Nodes after each step: {counts[0]:,} at the start, at most {max(counts):,}, {counts[-1]:,} at the end"
    points = " ".join(f"{x},{y}" for x, y in _points(counts))
    low, high = min(counts), max(counts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH + 70}" height="{HEIGHT}" role="img" '
        f'viewBox="0 0 {WIDTH + 70} {HEIGHT}" aria-label="{escape(said)}"><title>{escape(said)}</title>'
        f'<polyline points="{points}" fill="none" stroke="{INK}" stroke-width="2"/>'
        f"{_label(high, MARGIN + 9)}{_label(low, HEIGHT - MARGIN) if low != high else ''}</svg>"
    )


def _label(count: int, y: int) -> str:
    return f'<text x="{WIDTH + 6}" y="{y}" font-family="sans-serif" font-size="11" fill="{QUIET}">{count:,}</text>'


def _points(counts: Sequence[int]) -> list[tuple[int, int]]:
    """At most ``MOST_POINTS``, the first and the last among them."""
    last = len(counts) - 1
    shown = range(last + 1) if last < MOST_POINTS else [round(i * last / (MOST_POINTS - 1)) for i in range(MOST_POINTS)]
    low, high = min(counts), max(counts)
    width, height = WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN
    return [
        (MARGIN + round(i * width / max(1, last)), MARGIN + round((high - counts[i]) * height / max(1, high - low)))
        for i in shown
    ]

"""Operator counts as bars: one column a graph, one row an operator, so that graphs are read side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from workbench.types import MS_DOMAIN, OpId
from workbench.viz.figure import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    QUIET,
    VERMILLION,
    Figure,
    canvas,
    say,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

    from workbench.analysis.histogram import OpDifference, OpHistogram

MOST_ROWS = 25
STANDARD, MICROSOFT, OTHER, REST = "standard ONNX", MS_DOMAIN, "other domains", "rarer operators together"
LOOK = {
    STANDARD: (BLUE, ""),
    MICROSOFT: (ORANGE, "////"),
    OTHER: (GREEN, "...."),
    REST: ("#9AA0A8", ""),
}
_Row = tuple[str, str, list[int]]  # label, kind, a count per graph


def _kind(op: OpId) -> str:
    if op.domain == "":
        return STANDARD
    return MICROSOFT if op.domain == MS_DOMAIN else OTHER


def plot_histograms(histograms: Mapping[str, OpHistogram]) -> Figure:
    """Bars for each graph; at most 25 operators have a row of their own, the others share one.

    Zeros are written out. ONNX Runtime's own operators are hatched as well as coloured.
    """
    rows = _rows(list(histograms.values()))
    if not rows:
        return say("No operators: the graph has no nodes.")
    with style():
        figure = canvas(2.3 + max(1.55 * len(histograms), 4), 1.1 + 0.27 * len(rows))
        grid = figure.subplots(1, len(histograms), sharey=True, squeeze=False)[0]
        widest = max(max(counts) for _, _, counts in rows)
        for column, (axes, name) in enumerate(zip(grid, histograms, strict=True)):
            _column(axes, rows, column, widest)
            total = histograms[name].total
            axes.set_title(f"{name}\n{total:,} nodes" if name else f"{total:,} nodes", loc="left")
        _legend(figure, [kind for _, kind, _ in rows])
    return Figure(figure, _alt(histograms))


def _rows(histograms: list[OpHistogram]) -> list[_Row]:
    from workbench.analysis.tables import OpTable

    ops = OpTable({str(i): h for i, h in enumerate(histograms)}).ops()
    shown = ops if len(ops) <= MOST_ROWS else ops[: MOST_ROWS - 1]
    rows = [(_label(op, ops), _kind(op), [h.counts.get(op, 0) for h in histograms]) for op in shown]
    rest = ops[len(shown) :]
    if rest:
        sums = [sum(h.counts.get(op, 0) for op in rest) for h in histograms]
        rows.append((f"{len(rest)} others", REST, sums))
    return rows


def _label(op: OpId, ops: list[OpId]) -> str:
    """The op type, with its domain where two domains have an operator of that name."""
    twins = sum(other.op_type == op.op_type for other in ops) > 1
    return f"{op.op_type} ({op.domain})" if twins and op.domain else op.op_type


def _column(axes: Axes, rows: list[_Row], column: int, widest: int) -> None:
    counts = [row[2][column] for row in rows]
    looks = [LOOK[row[1]] for row in rows]
    bars = axes.barh(range(len(rows)), counts, height=0.72, color=[look[0] for look in looks], edgecolor="white")
    for bar, (_, hatch) in zip(bars, looks, strict=True):
        bar.set_hatch(hatch)
        bar.set_linewidth(0)
    for y, count in enumerate(counts):
        axes.text(
            count + widest * 0.03,
            y,
            f"{count:,}",
            va="center_baseline",
            fontsize=9,
            color=INK if count else QUIET,
        )
    axes.set_yticks(range(len(rows)), [row[0] for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, widest * 1.32)
    axes.tick_params(axis="y", length=0)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)


def _legend(figure: MplFigure, kinds: list[str]) -> None:
    from matplotlib.patches import Patch

    present = [kind for kind in LOOK if kind in kinds]
    handles = [
        Patch(facecolor=LOOK[kind][0], hatch=LOOK[kind][1], edgecolor="white", linewidth=0, label=kind)
        for kind in present
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


def _alt(histograms: Mapping[str, OpHistogram]) -> str:
    parts = [f"{name}{' ' if name else ''}{h.total:,} nodes" for name, h in histograms.items()]
    return f"Operator histogram: {'; '.join(parts)}"


def plot_difference(difference: OpDifference) -> Figure:
    """Bars to the left for operators that went away, to the right for those that came."""
    changes = list(difference.changes.items())[:MOST_ROWS]
    if not changes:
        return say("No operator changes.")
    widest = max(abs(n) for _, n in changes)
    with style():
        figure = canvas(7.5, 1.0 + 0.27 * len(changes))
        axes = figure.add_subplot()
        for y, (_, n) in enumerate(changes):
            colour, hatch = (GREEN, "") if n > 0 else (VERMILLION, "////")
            axes.barh(y, n, height=0.72, color=colour, hatch=hatch, edgecolor="white", linewidth=0)
            side = "left" if n > 0 else "right"
            axes.text(
                n + widest * (0.02 if n > 0 else -0.02),
                y,
                f"{n:+,}",
                va="center_baseline",
                ha=side,
                fontsize=9,
            )
        axes.set_yticks(range(len(changes)), [str(op) for op, _ in changes])
        axes.set_ylim(len(changes) - 0.4, -0.6)
        axes.set_xlim(-widest * 1.25, widest * 1.25)
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.tick_params(axis="y", length=0)
        axes.set_xticks([])
        for spine in ("bottom", "left"):
            axes.spines[spine].set_visible(False)
        more = len(difference.changes) - len(changes)
        axes.set_title(f"{difference.total:+,} nodes" + (f", {more} smaller changes not drawn" if more else ""))
    return Figure(figure, f"Operator changes: {difference.total:+,} nodes, {len(difference.changes)} operators")

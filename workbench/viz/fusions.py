"""Rewrites applied of candidates, and misses by kind: a panel per execution provider, a row per rule."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from workbench.viz.figure import BLUE, INK, ORANGE, PURPLE, QUIET, VERMILLION, Figure, canvas, say, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure

    from workbench.analysis.misses import MissTable
    from workbench.analysis.tables import FusionRow, FusionTable

LOOK = {
    "applied": (BLUE, ""),
    "fact": (ORANGE, "////"),
    "precondition": (PURPLE, "xxxx"),
    "unmatched": (VERMILLION, "...."),
}
MEANING = {
    "applied": "applied",
    "fact": "missed: kernel cannot (fact)",
    "precondition": "missed: graph computes something else (precondition)",
    "unmatched": "missed: form not recognised (unmatched)",
}
_Counts = dict[str, int]


def plot_fusions(table: FusionTable) -> Figure:
    """Stacked bars: applied first, then the misses, each kind with its own colour and pattern."""
    names, rules = table.execution_providers, table.rules()
    if not names or not rules:
        return say("No rules were planned: nothing was rewritten.")
    widest = max([row.candidates for row in table.rows] + [1])
    with style():
        figure = canvas(2.2 + max(2.0 * len(names), 6.2), 1.2 + 0.4 * len(rules))
        grid = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
        for axes, name in zip(grid, names, strict=True):
            for y, rule in enumerate(rules):
                _cell(axes, y, table.row(name, rule), widest)
            _frame(axes, name, rules, widest)
        kinds = [kind for kind in LOOK if any(getattr(row, kind) for row in table.rows)]
        _legend(figure, kinds)
    return Figure(figure, repr(table).replace("FusionTable(applied/candidates)", "Fusions, applied/candidates:"))


def _cell(axes: Axes, y: int, row: FusionRow | None, widest: int) -> None:
    if row is None or not row.candidates:
        text = "not planned" if row is None else "no candidates"
        axes.text(widest * 0.03, y, text, va="center_baseline", color=QUIET, fontsize=9, style="italic")
        return
    _stack(axes, y, {kind: getattr(row, kind) for kind in LOOK})
    axes.text(row.candidates + widest * 0.03, y, row.text, va="center_baseline", fontsize=9, color=INK)


def _stack(axes: Axes, y: int, counts: _Counts) -> None:
    left = 0
    for kind, count in counts.items():
        if count:
            colour, hatch = LOOK[kind]
            axes.barh(y, count, left=left, height=0.62, color=colour, hatch=hatch, edgecolor="white", linewidth=0)
        left += count


def _frame(axes: Axes, name: str, rules: list[str], widest: int) -> None:
    axes.set_title(name, loc="left")
    axes.set_yticks(range(len(rules)), rules)
    axes.set_ylim(len(rules) - 0.4, -0.6)
    axes.set_xlim(0, widest * 1.45)
    axes.tick_params(axis="y", length=0)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)


def _legend(figure: MplFigure, kinds: list[str]) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=LOOK[k][0], hatch=LOOK[k][1], edgecolor="white", linewidth=0, label=MEANING[k]) for k in kinds
    ]
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=2 if len(handles) > 2 else len(handles))


def plot_misses(table: MissTable) -> Figure:
    """Misses per rule and execution provider, stacked by kind."""
    counts = Counter((row.execution_provider, row.rule, row.kind) for row in table.rows)
    if not counts:
        return say("No misses: every candidate was rewritten.")
    names = list(dict.fromkeys(row.execution_provider for row in table.rows))
    rules = list(dict.fromkeys(row.rule for row in table.rows))
    totals = Counter((row.execution_provider, row.rule) for row in table.rows)
    widest = max(totals.values())
    with style():
        figure = canvas(2.2 + max(2.0 * len(names), 6.2), 1.2 + 0.4 * len(rules))
        grid = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
        for axes, name in zip(grid, names, strict=True):
            for y, rule in enumerate(rules):
                _stack(axes, y, {kind: counts[name, rule, kind] for kind in LOOK})
                total = totals[name, rule]
                axes.text(
                    total + widest * 0.03,
                    y,
                    str(total),
                    va="center_baseline",
                    fontsize=9,
                    color=INK if total else QUIET,
                )
            _frame(axes, name, rules, widest)
        _legend(figure, [kind for kind in LOOK if any(row.kind == kind for row in table.rows)])
    return Figure(figure, f"Misses: {len(table.rows)} over {len(names)} execution providers")

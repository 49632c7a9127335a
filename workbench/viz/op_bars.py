"""Operator counts as an SVG of bars: grouped (a column a graph) or as differences to one of the graphs."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from workbench.types import OpId
from workbench.viz.figure import INK, QUIET, RULE
from workbench.viz.svg import ADDED, MARGIN, REMOVED, SAME, Svg, say, shorten, text_width

if TYPE_CHECKING:
    from workbench.analysis.histogram import OpDifference
    from workbench.analysis.tables import OpTable

MOST_ROWS = 30
_NAME = 30  # characters of an operator's name
_ROW, _BAR = 20, 36  # height of a row, length of the longest bar
_HEAD = 52
Row = tuple[str, list[int]]


def table_svg(ops: OpTable, base: str | None = None) -> str:
    """Counts of each graph; bars that differ from ``base`` (the first graph) have its colour and sign."""
    names = list(ops.histograms)
    rows = _folded([(_label(op), [h.counts.get(op, 0) for h in ops.histograms.values()]) for op in ops.ops()])
    if not rows:
        return say("No operators: the graphs have no nodes.")
    base_at = names.index(base) if base in names else 0
    title = "Nodes per operator" + (f"; + and − against {names[base_at]}" if len(names) > 1 else "")
    totals = [h.total for h in ops.histograms.values()]
    sizes = [f"{name} {total:,} nodes" for name, total in zip(names, totals, strict=True)]
    svg, chart = _start(title, ", ".join(sizes), names, [f"{total:,} nodes" for total in totals], rows)
    for y, (_, counts) in chart.lines():
        for column, count in enumerate(counts):
            _bar(svg, chart, column, y, count, count - counts[base_at])
    return str(svg)


def differences_svg(ops: OpTable, base: str) -> str:
    """What changes from ``base`` to each of the other graphs: operators that change nowhere have no row."""
    names = [name for name in ops.histograms if name != base]
    start = ops.histograms[base]
    changes = {name: ops.histograms[name] - start for name in names}
    found = [(op, [changes[name].changes.get(op, 0) for name in names]) for op in ops.ops()]
    rows = [(_label(op), row) for op, row in found if any(row)]
    rows.sort(key=lambda row: -max(map(abs, row[1])))
    totals = [changes[name].total for name in names]
    return _differences(f"Change of nodes per operator, from {base}", names, totals, _folded(rows))


def difference_svg(difference: OpDifference) -> str:
    """The bars of one difference."""
    rows = [(_label(op), [change]) for op, change in difference.changes.items()]
    return _differences("Change of nodes per operator", [""], [difference.total], _folded(rows))


def _differences(title: str, names: list[str], totals: list[int], rows: list[Row]) -> str:
    if not rows:
        return say("No operator changes.")
    heads = [f"{signed(total)} nodes" for total in totals]
    sizes = ", ".join(f"{name} {head}".strip() for name, head in zip(names, heads, strict=True))
    svg, chart = _start(title, sizes, names, heads, rows, signs=True)
    for column in range(len(names)):
        middle = chart.left(column) + chart.column // 2
        svg.line(middle, _HEAD + MARGIN, middle, _HEAD + MARGIN + _ROW * len(rows), QUIET)
    for y, (_, row) in chart.lines():
        for column, change in enumerate(row):
            _change(svg, chart, column, y, change)
    return str(svg)


@dataclasses.dataclass(frozen=True)
class _Chart:
    """Where things stand: the labels' width, a column's width, the longest bar's value."""

    labels: int
    column: int
    most: int
    rows: list[Row]

    def left(self, column: int) -> int:
        return MARGIN + self.labels + column * self.column

    def lines(self) -> list[tuple[int, Row]]:
        return [(MARGIN + _HEAD + i * _ROW, row) for i, row in enumerate(self.rows)]


def _start(
    title: str, sizes: str, names: list[str], heads: list[str], rows: list[Row], *, signs: bool = False
) -> tuple[Svg, _Chart]:
    """The picture with its headings and labels, and the geometry of the bars to come."""
    widest = max(max(map(len, names), default=0), max(map(len, heads), default=0))
    most = max(1, max(max(map(abs, values)) for _, values in rows))
    number = text_width(signed(-most) if signs else f"{most:,} ({signed(-most)})", 11)
    needed = 2 * (_BAR + number + 8) if signs else _BAR + number + 14
    chart = _Chart(
        max(text_width(label, 11) for label, _ in rows) + 12,
        max(text_width("x" * min(widest, 24)) + 16, needed),
        most,
        rows,
    )
    svg = Svg(title, f"{title}: {sizes}")
    svg.text(MARGIN, MARGIN + 12, title, bold=True)
    for column, (name, head) in enumerate(zip(names, heads, strict=True)):
        x, anchor = (chart.left(column) + chart.column // 2, "middle") if signs else (chart.left(column), "start")
        svg.text(x, MARGIN + 30, shorten(name, 24), anchor=anchor, bold=True)
        svg.text(x, MARGIN + 44, head, anchor=anchor, size=11, fill=QUIET)
    for y, (label, _) in chart.lines():
        svg.text(MARGIN + chart.labels - 8, y + 14, label, size=11, anchor="end")
        svg.line(MARGIN, y + _ROW, chart.left(len(names)), y + _ROW, RULE)
    return svg, chart


def _bar(svg: Svg, chart: _Chart, column: int, y: int, count: int, change: int) -> None:
    length = max(1, count * _BAR // chart.most) if count else 0
    x = chart.left(column)
    if length:
        svg.rect(
            x, y + 4, length, _ROW - 8, ADDED if change > 0 else REMOVED if change < 0 else SAME, dashed=change < 0
        )
    note = f" ({signed(change)})" if change else ""
    svg.text(x + length + 4, y + 14, f"{count:,}{note}", size=11, fill=INK if count or change else QUIET)


def _change(svg: Svg, chart: _Chart, column: int, y: int, change: int) -> None:
    middle = chart.left(column) + chart.column // 2
    length = max(1, abs(change) * _BAR // chart.most) if change else 0
    if not change:
        svg.text(middle + 6, y + 14, "0", size=11, fill=QUIET)
        return
    svg.rect(
        middle if change > 0 else middle - length, y + 4, length, _ROW - 8,
        ADDED if change > 0 else REMOVED, dashed=change < 0,
    )  # fmt: skip
    x, anchor = (middle + length + 4, "start") if change > 0 else (middle - length - 4, "end")
    svg.text(x, y + 14, signed(change), size=11, anchor=anchor)


def _folded(rows: list[Row]) -> list[Row]:
    """At most 30 rows: the last one stands for all that are left."""
    if len(rows) <= MOST_ROWS:
        return rows
    rest = rows[MOST_ROWS - 1 :]
    sums = [sum(values) for values in zip(*(row for _, row in rest), strict=True)]
    return [*rows[: MOST_ROWS - 1], (f"{len(rest)} other operators", sums)]


def _label(op: OpId) -> str:
    return shorten(str(op), _NAME)


def signed(n: int) -> str:
    """``+30``, ``−4``, ``0``."""
    return f"+{n:,}" if n > 0 else f"−{-n:,}" if n else "0"

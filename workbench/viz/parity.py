"""Pictures of parity: logits against the reference, and the error against the position."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from workbench.analysis.decades import comparison, decade
from workbench.errors import unknown
from workbench.viz.figure import BLUE, INK, QUIET, VERMILLION, Figure, canvas, say, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as MplFigure
    from matplotlib.lines import Line2D

    from workbench.analysis.parity import LogitSample, ParityRow
    from workbench.analysis.parity_report import ParityReport
    from workbench.analysis.parity_summary import ParityGroup

_ROW_MARKS = ("o", "^", "s", "D", "v", "P")
_FLOOR, _LIMIT = "what the generic graph itself is off by (floor)", "tolerance"
_EXACT = "exactly equal"


def plot_parity(report: ParityReport, kind: str = "position") -> Figure:
    """``position``: error against position; ``scatter``: density of logits on the identity line.

    Raises:
        UnknownNameError: another kind.
    """
    kinds = {"position": plot_position, "scatter": plot_scatter}
    if not isinstance(kind, str) or kind not in kinds:
        raise unknown("parity plot", kind, kinds)
    return kinds[kind](report)


def plot_scatter(report: ParityReport) -> Figure:
    """Density of logits against the reference, above; the difference on its own scale, below."""
    groups = {group.execution_provider: group for group in report.overall()}
    samples = [
        report.samples[name] for name in groups if name in report.samples and len(report.samples[name].reference)
    ]
    if not samples:
        return say("No logits to draw: nothing ran, or the report keeps no sample.")
    with style():
        figure = canvas(max(2.5 * len(samples), 4) + 0.6, 5.4)
        grid = figure.subplots(2, len(samples), squeeze=False, height_ratios=[1.25, 1])
        for column, sample in enumerate(samples):
            group = groups[sample.subject.execution_provider]
            _identity(grid[0][column], sample, group, first=column == 0)
            _residual(grid[1][column], sample, first=column == 0)
        figure.supxlabel(f"logit of the reference ({report.reference})", fontsize=10)
    lines = "; ".join(group.text for group in report.overall())
    return Figure(figure, f"Logits against {report.reference}: {lines}")


def _identity(axes: Axes, sample: LogitSample, group: ParityGroup, first: bool) -> None:
    x, y = _finite(sample)
    lost = len(sample.reference) - len(x)
    axes.set_title(_title(group, lost), loc="left", fontsize=9.5)
    if len(x):
        low, high = float(min(x.min(), y.min())), float(max(x.max(), y.max()))
        pad = 0.04 * (high - low) or 1.0
        axes.plot([low - pad, high + pad], [low - pad, high + pad], color=VERMILLION, linewidth=3.5, alpha=0.4)
        _density(axes, x, y, (low - pad, high + pad), (low - pad, high + pad))
        axes.set_xlim(low - pad, high + pad)
        axes.set_ylim(low - pad, high + pad)
    axes.grid(True)
    if first:
        axes.set_ylabel("logit of the graph")


def _title(group: ParityGroup, lost: int) -> str:
    head = f"{group.execution_provider} {group.dtype}\n{group.label}"
    number = f"{comparison(group.max_abs, group.tolerance.atol)} {group.verdict}"
    return f"{head}\n{number}" + (f"\n{lost:,} NaN or Inf not drawn" if lost else "")


def _residual(axes: Axes, sample: LogitSample, first: bool) -> None:
    x, y = _finite(sample)
    difference = y.astype(np.float64) - x
    reach = float(np.abs(difference).max()) if len(x) else 0.0
    axes.axhline(0, color=VERMILLION, linewidth=1, zorder=3)
    if reach:
        _density(axes, x, difference, (float(x.min()), float(x.max())), (-reach * 1.1, reach * 1.1))
        axes.set_ylim(-reach * 1.1, reach * 1.1)
    elif len(x):
        axes.set_ylim(-1, 1)
        axes.set_yticks([0])
        axes.plot([x.min(), x.max()], [0, 0], color=BLUE, linewidth=4)
        axes.text(0.5, 0.62, _EXACT, transform=axes.transAxes, ha="center", color=QUIET)
    axes.ticklabel_format(axis="y", style="sci", scilimits=(-2, 2), useMathText=False)
    axes.yaxis.get_offset_text().set_fontsize(8.5)
    axes.grid(True)
    if first:
        axes.set_ylabel("graph - reference")


def _finite(sample: LogitSample) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    keep = np.isfinite(sample.candidate) & np.isfinite(sample.reference)
    return sample.reference[keep], sample.candidate[keep]


def _density(
    axes: Axes, x: npt.ArrayLike, y: npt.ArrayLike, x_range: tuple[float, float], y_range: tuple[float, float]
) -> None:
    """Counts in a fixed grid, on a logarithmic colour scale that starts dark enough to see one point."""
    from matplotlib.colors import LinearSegmentedColormap, LogNorm

    counts, x_edges, y_edges = np.histogram2d(np.asarray(x), np.asarray(y), bins=60, range=[x_range, y_range])
    colours = LinearSegmentedColormap.from_list("density", ["#8FC1E3", BLUE, "#062A45"])
    shown = np.ma.masked_equal(counts.T, 0)
    axes.pcolormesh(x_edges, y_edges, shown, cmap=colours, norm=LogNorm(1, max(counts.max(), 2)), zorder=2)


def plot_position(report: ParityReport) -> Figure:
    """Error against position on a log scale, a panel per execution provider and case, with floor and
    tolerance.
    """
    names = [group.execution_provider for group in report.overall() if group.verdict != "not run"]
    cases = [case for case in report.cases if any(r.case == case and r.verdict != "not run" for r in report.rows)]
    if not names:
        return say(f"Nothing ran: {report.overall()[0].reason}.")
    with style():
        figure = canvas(1.0 + max(3.2 * len(cases), 5), 0.9 + 1.75 * len(names))
        grid = figure.subplots(len(names), len(cases), squeeze=False, sharey="row")
        for i, name in enumerate(names):
            rows = [r for r in report.rows if r.execution_provider == name and r.verdict != "not run"]
            for j, case in enumerate(cases):
                _panel(grid[i][j], [r for r in rows if r.case == case], _smallest(rows))
                grid[i][j].set_title(case if i == 0 else "", loc="left")
            grid[i][0].set_ylabel(f"{name}\n{rows[0].dtype}\nmax|d|")
            grid[i][0].set_ylim(*_limits(rows))
        for axes in grid[-1]:
            axes.set_xlabel("position")
        _legend(figure, report)
    lines = "; ".join(group.text for group in report.overall())
    return Figure(figure, f"Error against position, {report.reference}: {lines}")


def _smallest(rows: list[ParityRow]) -> float:
    """Where an error of exactly 0 is drawn on a log axis: a decade below everything else."""
    found = [v for r in rows for v in (r.max_abs, r.floor, r.tolerance.atol) if v > 0 and math.isfinite(v)]
    return 10.0 ** math.floor(math.log10(min(found)) - 0.5) if found else 1e-8


def _limits(rows: list[ParityRow]) -> tuple[float, float]:
    found = [v for r in rows for v in (r.max_abs, r.tolerance.atol) if math.isfinite(v)]
    return _smallest(rows) / 2, max([v for v in found if v > 0] + [_smallest(rows) * 10]) * 4


def _panel(axes: Axes, rows: list[ParityRow], zero: float) -> None:
    axes.set_yscale("log")
    axes.grid(True, which="major")
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: decade(value))
    if not rows:
        axes.text(0.5, 0.5, "not run", transform=axes.transAxes, ha="center", color=QUIET, style="italic")
        return
    for b in dict.fromkeys(r.row for r in rows):
        _series(axes, [r for r in rows if r.row == b], _ROW_MARKS[b % len(_ROW_MARKS)], zero)
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))


def _series(axes: Axes, rows: list[ParityRow], mark: str, zero: float) -> None:
    x = [float(r.position) for r in rows]
    errors = [r.max_abs for r in rows]
    axes.plot(x, [max(e, zero) for e in errors], color=BLUE, linewidth=1, zorder=2)
    for p, e, verdict in zip(x, errors, [r.verdict for r in rows], strict=True):
        if math.isnan(e):
            axes.plot(p, 0.94, "X", transform=axes.get_xaxis_transform(), color=VERMILLION, markersize=8, zorder=4)
        else:
            edge = BLUE if verdict == "ok" else INK if verdict == "ill-conditioned" else VERMILLION
            face = "none" if e == 0 else edge
            axes.plot(p, max(e, zero), mark, markersize=5, color=edge, markerfacecolor=face, zorder=3)
    ends = [min(x) - 0.4, max(x) + 0.4] if len(x) == 1 else [x[0], x[-1]]
    _line(axes, ends, x, [r.tolerance.atol for r in rows], VERMILLION, "-")
    if any(r.floor > 0 for r in rows):
        _line(axes, ends, x, [max(r.floor, zero) for r in rows], QUIET, "--")


def _line(axes: Axes, ends: list[float], x: list[float], y: list[float], colour: str, dash: str) -> None:
    points = (ends, [y[0], y[-1]]) if len(x) == 1 else (x, y)
    axes.plot(*points, color=colour, linestyle=dash, linewidth=1.2, zorder=1)


def _legend(figure: MplFigure, report: ParityReport) -> None:
    from matplotlib.lines import Line2D

    ran = [r for r in report.rows if r.verdict != "not run"]
    handles = [
        Line2D([], [], color=VERMILLION, linewidth=1.2, label=_LIMIT),
        Line2D([], [], color=QUIET, linestyle="--", linewidth=1.2, label=_FLOOR),
    ]
    rows = sorted({r.row for r in ran})
    if len(rows) > 1:
        marks = [_ROW_MARKS[b % len(_ROW_MARKS)] for b in rows]
        handles += [
            Line2D([], [], color=BLUE, marker=m, linewidth=1, markersize=5, label=f"batch row {b}")
            for b, m in zip(rows, marks, strict=True)
        ]
    if any(r.max_abs == 0 for r in ran):
        empty = {"color": BLUE, "markerfacecolor": "none", "linestyle": ""}
        handles.append(Line2D([], [], marker="o", markersize=5, label=_EXACT, **empty))  # type: ignore[arg-type]
    if any(r.verdict == "ill-conditioned" for r in ran):
        handles.append(Line2D([], [], color=INK, marker="o", linestyle="", markersize=5, label="ill-conditioned"))
    if any(r.verdict == "differs" for r in ran):
        handles.append(Line2D([], [], color=VERMILLION, marker="o", linestyle="", markersize=5, label="differs"))
    if any(math.isnan(r.max_abs) for r in ran):
        handles.append(Line2D([], [], color=VERMILLION, marker="X", linestyle="", markersize=8, label="NaN or Inf"))
    _fit_legend(figure, handles)


def _fit_legend(figure: MplFigure, handles: list[Line2D]) -> None:
    """As many columns as the figure is wide for, at most four."""
    for columns in range(min(len(handles), 4), 0, -1):
        legend = figure.legend(handles=handles, loc="outside lower center", ncols=columns, labelcolor=INK)
        figure.draw_without_rendering()
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()

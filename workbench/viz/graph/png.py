"""The same picture as PNG, for pages that show no SVG: matplotlib draws what ``svg.py`` writes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from workbench.viz.figure import CARD, CSS_DPI, INK, QUIET, Figure, canvas, style
from workbench.viz.graph.look import (
    CHIP_INKS,
    FRAME_EDGE,
    FRAMES,
    GROUP_EDGE,
    LOOKS,
    Picture,
    line_look,
    picture,
    status_of,
)
from workbench.viz.graph.scene import SIGNS
from workbench.viz.graph.svg import NARROWEST, TOP
from workbench.viz.graph.tree import GROUP
from workbench.viz.graph.words import width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 72 / CSS_DPI  # of one pixel
DPI = 120


class GraphFigure(Figure):
    """A picture that is drawn each time a diff is shown: fewer dots and a faster palette than other figures have."""

    def to_png(self) -> bytes:
        """The picture as PNG; the same bytes for the same diff and the same libraries."""
        from PIL import Image

        drawn, packed = io.BytesIO(), io.BytesIO()
        with style():
            self.figure.savefig(drawn, format="png", dpi=DPI)
        image = Image.open(drawn).convert("RGB").quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        image.save(packed, "PNG", dpi=(DPI, DPI))
        return packed.getvalue()


def to_figure(diff: Any) -> Figure:
    """The picture of a ``GraphDiff`` as a figure with its text."""
    return draw(picture(diff))


def draw(shown: Picture) -> Figure:
    """The picture on axes whose units are the pixels of the layout."""
    across, down = shown.layout.size
    wide, high = max(across, NARROWEST), down + TOP
    with style():
        figure = canvas(wide / CSS_DPI, high / CSS_DPI)
        figure.set_layout_engine("none")  # everything has its place already
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        shift = (wide - across) // 2
        axes.set(xlim=(-shift, wide - shift), ylim=(down, -TOP))
        _head(axes, shown, -shift)
        _frames(axes, shown)
        _lines(axes, shown)
        for box in shown.layout.folded.boxes:
            _box(axes, shown, box)
        if not shown.layout.folded.children[0]:
            _write(axes, 24, 24, shown.empty, 12, QUIET)
    return GraphFigure(figure, shown.alt)


def _write(axes: Axes, x: float, y: float, text: str, size: float, colour: str, **options: Any) -> None:
    axes.text(x, y, text, fontsize=size * POINTS, color=colour, va="baseline", **options)


def _rect(axes: Axes, x: float, y: float, w: float, h: float, fill: str, edge: str, width: float = 1,
          dash: tuple[int, ...] = (), radius: int = 5) -> None:  # fmt: skip
    from matplotlib.patches import FancyBboxPatch

    lines: Any = (0, tuple(part / width for part in dash)) if dash else "solid"
    shape = f"round,pad=0,rounding_size={radius}"
    axes.add_patch(
        FancyBboxPatch((x, y), w, h, shape, facecolor=fill, edgecolor=edge, linewidth=width * POINTS, linestyle=lines)
    )


def _head(axes: Axes, shown: Picture, left: int) -> None:
    _write(axes, left + 24, 28 - TOP, shown.title, 14, INK, fontweight="bold")
    x = left + 40 + width(shown.title) * 14 // 12
    for status, words in shown.legend:
        look = LOOKS[status]
        _rect(axes, x, 18 - TOP, 14, 12, look.fill, look.edge, dash=look.dash, radius=2)
        _write(axes, x + 20, 28 - TOP, words, 11, INK)
        x += 36 + width(words, small=True)


def _frames(axes: Axes, shown: Picture) -> None:
    laid, drawn = shown.layout, shown.scene
    depth = {0: 0}
    for frame in laid.folded.children:
        if not frame:
            continue
        depth[frame] = depth[int(drawn.parent[frame])] + 1
        group = drawn.kind[frame] == GROUP
        x, y, w, h = laid.x[frame], laid.y[frame], laid.w[frame], laid.h[frame]
        edge, dash = (GROUP_EDGE, (2, 3)) if group else (FRAME_EDGE, ())
        _rect(axes, x, y, w, h, FRAMES[depth[frame] % 2], edge, dash=dash, radius=8)
        _write(axes, x + 12, y + 18, drawn.label[frame], 12, QUIET, fontweight="bold", zorder=4)
        _chips(axes, drawn.signs(frame), x + w - 10, y + 18)


def _chips(axes: Axes, signs: list[str], right: int, y: int) -> None:
    for sign in reversed(signs):
        _write(axes, right, y, sign, 11, CHIP_INKS[sign[0]], fontweight="bold", ha="right", zorder=4)
        right -= width(sign, small=True) + 8


def _lines(axes: Axes, shown: Picture) -> None:
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path

    for x1, y1, y2, x2, y3, y4, _, sides, arrow in shown.layout.pieces:
        colour, dash = line_look(sides)
        bend = (y3 - y2) // 2
        points = [(x1, y1), (x1, y2), (x1, y2 + bend), (x2, y3 - bend), (x2, y3), (x2, y4)]
        codes = [Path.MOVETO, Path.LINETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO]
        lines: Any = (0, dash) if dash else "solid"
        axes.add_patch(
            PathPatch(Path(points, codes), fill=False, edgecolor=colour, linewidth=POINTS, linestyle=lines, zorder=2)
        )
        if arrow:
            axes.add_patch(
                Polygon([(x2 - 4, y4 - 6), (x2, y4), (x2 + 4, y4 - 6)], facecolor=colour, linewidth=0, zorder=2)
            )


def _box(axes: Axes, shown: Picture, box: int) -> None:
    laid, drawn = shown.layout, shown.scene
    x, y, w, h = laid.x[box], laid.y[box], laid.w[box], laid.h[box]
    status = status_of(drawn, box)
    look = LOOKS[status]
    if box < drawn.trees:
        _rect(axes, x + 4, y + 4, w, h, look.fill, look.edge)
        label, note = f"▸ {drawn.label[box]}", drawn.note[box]
        _chips(axes, drawn.signs(box), x + w - 8, y + 32)
    else:
        label, note = drawn.op[box - drawn.trees], drawn.mark[box - drawn.trees]
    _rect(axes, x, y, w, h, look.fill, look.edge, 2 if SIGNS[status] else 1, look.dash)
    if SIGNS[status]:
        _rect(axes, x, y, 18, h, look.edge, look.edge, radius=4)
        _write(axes, x + 9, y + h // 2 + 6, SIGNS[status], 16, look.ink, fontweight="bold", ha="center")
    left = x + (26 if SIGNS[status] else 12)
    _write(axes, left, y + (17 if note else 25), label, 12, INK, fontweight="bold")
    _write(axes, left, y + 32, note, 11, QUIET)
    _badges(axes, shown, box)


def _badges(axes: Axes, shown: Picture, box: int) -> None:
    laid = shown.layout
    right = laid.x[box] + laid.w[box]
    for arrow, names, y in (("↑", shown.reads, laid.y[box]), ("↓", shown.read, laid.y[box] + laid.h[box])):
        if box in names:
            words = f"{arrow}{len(names[box])}"
            wide = width(words, small=True) + 8
            _rect(axes, right - wide - 2, y - 7, wide, 14, CARD, QUIET, radius=7)
            _write(axes, right - wide + 2, y + 4, words, 10, INK)

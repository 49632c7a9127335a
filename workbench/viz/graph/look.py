"""What a static picture shows, in words and colours: shared by SVG and PNG."""

from __future__ import annotations

import dataclasses
from typing import Any

from workbench.analysis.markup import plural
from workbench.viz.figure import BLUE, PURPLE, QUIET, RULE, VERMILLION
from workbench.viz.graph.fold import FIRST, SECOND, unfolded_at_first
from workbench.viz.graph.layout import Layout, layout
from workbench.viz.graph.scene import ADDED, CHANGED, REMOVED, SAME, SIGNS, Scene, scene
from workbench.viz.graph.words import shorten

MOST_BOXES = (40, 32, 24, 16)
HIGHEST = 1_600
"""A picture in a page is read, not walked through: fewer boxes than the view opens with, and fewer still where it
would be higher than two screens.
"""


@dataclasses.dataclass(frozen=True)
class Look:
    """Colours of a box: ``edge`` and ``fill``, the stripe with the sign in ``ink``, and the dash of its border."""

    edge: str
    fill: str
    ink: str
    dash: tuple[int, ...] = ()


LOOKS = {
    SAME: Look("#9AA0A8", "#F1F2F4", "#FFFFFF"),
    CHANGED: Look(PURPLE, "#FAEAF3", "#1F2328"),
    REMOVED: Look(VERMILLION, "#FCE8DC", "#1F2328", (5, 3)),
    ADDED: Look(BLUE, "#DDEDF8", "#FFFFFF"),
}
CHIP_INKS = {"−": "#A84300", "+": "#005A8E", "~": "#96477A"}
"""Dark enough for small text: the palette's own orange and purple are not."""

FRAMES = ("#FAFAF8", "#FFFFFF")
GROUP_EDGE = QUIET
FRAME_EDGE = RULE
LEGEND = ((REMOVED, "removed"), (ADDED, "added"), (CHANGED, "changed"), (SAME, "same"))


@dataclasses.dataclass(frozen=True)
class Picture:
    """A scene laid out, with its words. ``reads`` and ``read``: far values by box, in and out."""

    scene: Scene
    layout: Layout
    title: str
    alt: str
    legend: tuple[tuple[int, str], ...]
    reads: dict[int, list[str]]
    read: dict[int, list[str]]
    empty: str = "Neither graph has a node."


def picture(diff: Any) -> Picture:
    """Lay a diff out for a page."""
    drawn = scene(diff)
    laid = _laid(drawn)
    reads, read = _far(drawn, laid)
    if diff.is_one:
        label, nodes = shorten(diff.labels[0], 40), plural(int(drawn.counts[:4].sum()), "node")
        return Picture(drawn, laid, label, f"{label}: {nodes}", (), reads, read, "The graph has no node.")
    counts = dict(zip(range(4), drawn.counts[:4].tolist()))
    first, second = (shorten(label, 40) for label in diff.labels)
    words = ", ".join(f"{counts[status]:,} {word}" for status, word in LEGEND)
    legend = tuple((status, f"{SIGNS[status]} {counts[status]:,} {word}".strip()) for status, word in LEGEND)
    return Picture(drawn, laid, f"{first} → {second}", f"{first} → {second}: {words}", legend, reads, read)


def _laid(drawn: Scene) -> Layout:
    """The one with most boxes that is not too high, or the one with fewest."""
    for most in MOST_BOXES:
        laid = layout(drawn, unfolded_at_first(drawn, most))
        if laid.size[1] <= HIGHEST:
            break
    return laid


def _far(drawn: Scene, laid: Layout) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    reads: dict[int, list[str]] = {}
    read: dict[int, list[str]] = {}
    for (source, target, _), far in zip(laid.folded.edges, laid.far):
        if far:
            reads.setdefault(target, []).append(f"from {name(drawn, source)}")
            read.setdefault(source, []).append(f"to {name(drawn, target)}")
    return reads, read


def name(drawn: Scene, box: int) -> str:
    """How a box is called in a sentence."""
    if box < drawn.trees:
        return drawn.label[box]
    return f"{drawn.op[box - drawn.trees]} {shorten(drawn.name[box - drawn.trees], 60)}"


def status_of(drawn: Scene, box: int) -> int:
    """The status that a box is painted with: a folded one is grey unless all in it came or went."""
    if box >= drawn.trees:
        return int(drawn.status[box - drawn.trees])
    same, changed, removed, added = drawn.counts[4 * box : 4 * box + 4].tolist()
    return SAME if same or changed or (removed and added) else ADDED if added else REMOVED


def line_look(sides: int) -> tuple[str, tuple[int, ...]]:
    """Colour and dash of a line."""
    if sides == FIRST:
        return VERMILLION, (5, 3)
    return (BLUE, ()) if sides == SECOND else ("#8A9099", ())

"""Where the rows, frames and lanes of a static workflow picture stand, in whole pixels."""

from __future__ import annotations

import dataclasses

from workbench.metadata.flow import FlowNode, WorkflowMap
from workbench.viz.svg import MARGIN, text_width
from workbench.viz.workflow.nets import TRACK, Nets, nets

ROW, GAP, INDENT, FLOW = 42, 8, 14, 540
FEW_LANES = 5
"""With more lanes than this their names stand upright, and the lanes close to each other."""
MOST_ROWS, MOST_LANES = 80, 16
_LONGEST_NAME = 22
_DEEPEST = 14  # frames that are drawn inside each other; there is no room for more


@dataclasses.dataclass(frozen=True)
class Box:
    """A rectangle: of a row, or of a frame around rows."""

    x: int
    y: int
    width: int
    height: int


@dataclasses.dataclass(frozen=True)
class Places:
    """``rows`` and ``frames`` by the index of their node; ``lane`` is the distance of two lanes, ``upright`` whether
    their names are; ``bottom`` is below everything. ``nets`` are the lines between rows, in tracks beside them.
    """

    rows: dict[int, Box]
    frames: dict[int, Box]
    head: int
    lane: int
    upright: bool
    bottom: int
    nets: Nets

    def x(self, lane: int) -> int:
        """The line of a lane."""
        return self.lanes + self.lane * lane + self.lane // 2

    @property
    def lanes(self) -> int:
        """Where the lanes begin, right of all tracks."""
        return MARGIN + FLOW + 20 + TRACK * self.nets.tracks

    def track(self, track: int) -> int:
        """The line of a track."""
        return MARGIN + FLOW + TRACK * (track + 1)

    def right(self, node: int) -> int:
        """The right edge of a row, or of the frame that it is the head of."""
        box = self.frames.get(node, self.rows[node])
        return box.x + box.width

    def y(self, node: int) -> int:
        """The middle of a row."""
        return self.rows[node].y + self.rows[node].height // 2


def places(shown: WorkflowMap) -> Places:
    """Rows from the top; below the last row of a frame there is room for its edge."""
    nodes = shown.nodes[:MOST_ROWS]
    upright = len(shown.lanes) > FEW_LANES
    longest = max((text_width(lane.name[:_LONGEST_NAME], 11) for lane in shown.lanes), default=0)
    head = MARGIN + max(70 if shown.lanes else 44, longest + 8 if upright else 0)
    rows: dict[int, Box] = {}
    frames: dict[int, Box] = {}
    y = head
    begun: list[tuple[FlowNode, int]] = []
    for index, node in enumerate(nodes):
        if node.is_frame:
            begun.append((node, y))
        inset = _inset(node.depth + node.is_frame)
        rows[node.index] = Box(MARGIN + inset, y + 3, FLOW - 2 * inset, ROW - 6)
        y += ROW
        following = nodes[index + 1].depth if index + 1 < len(nodes) else 0
        while begun and following <= begun[-1][0].depth:
            frame, top = begun.pop()
            y += GAP
            inset = _inset(frame.depth) + INDENT // 2
            frames[frame.index] = Box(MARGIN + inset, top, FLOW - 2 * inset, y - top - GAP // 2)
    pairs = [(link.source, link.target) for link in shown.links if link.source in rows and link.target in rows]
    return Places(rows, frames, head, 34 if upright else 86, upright, y, nets(pairs))


def _inset(depth: int) -> int:
    return INDENT * min(depth, _DEEPEST)

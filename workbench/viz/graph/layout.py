"""Where everything lies: frames in frames, rows in frames, lines through frames. Twin: ``static/layout.js``.

From the innermost frame outwards, each frame is laid out by itself. A line that leaves a frame passes a port in its
border, a line over several rows passes a point in each, so that lines run between boxes and not across them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from workbench.viz.graph.fold import FIRST, SECOND, Folded, fold
from workbench.viz.graph.place import Item, Joint, order, place
from workbench.viz.graph.rows import Rows, rows
from workbench.viz.graph.scene import ADDED, REMOVED, Scene

BOX, HEAD, PAD, ROW_GAP, PORT_GAP, MARGIN = 40, 28, 16, 30, 10, 24
POINT = 8  # width of a point on a line


@dataclasses.dataclass
class Layout:
    """Places by id, in pixels from the top left. ``pieces``: nine numbers for each piece of a line,

    ``x1 y1 y2 x2 y3 y4 source sides arrow``: straight down from (x1, y1) to y2, over to (x2, y3), straight down to y4;
    ``arrow`` is 1 where it ends at a box. ``far`` says of each edge whether it is a badge instead.
    """

    folded: Folded
    x: dict[int, int]
    y: dict[int, int]
    w: dict[int, int]
    h: dict[int, int]
    pieces: list[list[int]]
    far: list[bool]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the whole."""
        return self.w[0], self.h[0]


def layout(scene: Scene, expanded: Collection[int]) -> Layout:
    """Lay out what is seen when ``expanded`` is unfolded."""
    folded = fold(scene, expanded)
    parent = scene.parent.tolist()
    found = rows(parent, folded)
    segments = _segments(parent, folded, found)
    made = Layout(folded, {}, {}, {}, {}, [], found.far)
    inside: dict[int, _Frame] = {}
    for frame in reversed(folded.children):
        inside[frame] = _Frame(scene, folded, found, segments[frame], frame, inside)
    _settle(made, inside, 0, 0, 0)
    cut = {pair for frame in inside.values() for pair in frame.cut}
    made.far = [far or (a, b) in cut for (a, b, _), far in zip(folded.edges, made.far)]
    return made


Segment = tuple[int, int]  # source box, and the child it goes to; -1: out of the frame
IN, OUT = -2, -1


def _segments(parent: list[int], folded: Folded, found: Rows) -> dict[int, dict[Segment, list[int]]]:
    """For each frame, what runs through it: ``(source, to) -> [from, sides]``."""
    segments: dict[int, dict[Segment, list[int]]] = {frame: {} for frame in folded.children}

    def put(frame: int, source: int, start: int, end: int, sides: int) -> None:
        segment = segments[frame].setdefault((source, end), [start, 0])
        segment[1] |= sides

    for (source, target, sides), edge, far in zip(folded.edges, found.lifted, found.far):
        if far:
            continue
        a, b = source, target
        while a != edge.a:
            put(parent[a], source, a, OUT, sides)
            a = parent[a]
        put(edge.frame, source, edge.a, edge.b, sides)
        while b != edge.b:
            put(parent[b], source, IN, b, sides)
            b = parent[b]
    return segments


class _Frame:
    """One frame laid out by itself: the places of its children and lines from its own corner."""

    def __init__(
        self, scene: Scene, folded: Folded, found: Rows, segments: dict[Segment, list[int]], frame: int,
        inside: dict[int, _Frame],
    ) -> None:  # fmt: skip
        self.scene, self.inside = scene, inside
        self.shift = 1 if any(start == IN for start, _ in segments.values()) else 0
        leaves = any(end == OUT for _, end in segments)
        self.rows: list[list[Item]] = [[] for _ in range(self.shift + found.count[frame] + (1 if leaves else 0))]
        self.items: dict[int, Item] = {}
        for child in folded.children[frame]:
            self.items[child] = self._add(child, found.row[child] + self.shift, self._width(child), self._lean(child))
        self.links: list[tuple[Item, Item, int, int]] = []
        self._draw_nets(segments)
        order(self.rows)
        place(self.rows)
        self.cut = [(source, b.id) for _, b, source, _ in self.links if _is_cut(b)]
        self._measure(frame)

    def _add(self, box: int, row: int, width: int, lean: int) -> Item:
        item = Item(box, row, width, lean)
        self.rows[row].append(item)
        return item

    def _width(self, child: int) -> int:
        return self.inside[child].w if child in self.inside else int(self.scene.width[child])

    def _lean(self, child: int) -> int:
        trees = self.scene.trees
        if child >= trees:
            status = self.scene.status[child - trees]
            return (1 if status == ADDED else 0) - (1 if status == REMOVED else 0)
        same, changed, removed, added = self.scene.counts[4 * child : 4 * child + 4].tolist()
        return 0 if same or changed or (removed and added) else 1 if added else -1

    # --- lines
    def _draw_nets(self, segments: dict[Segment, list[int]]) -> None:
        """One trunk for each source, down to its last reader here; readers hang on the trunk in the row above."""
        nets: dict[int, list[tuple[int, int, int]]] = {}
        for (source, end), (start, sides) in segments.items():
            nets.setdefault(source, []).append((start, end, sides))
        self.ins: dict[int, Item] = {}
        self.outs: dict[int, Item] = {}
        for source, ends in nets.items():
            self._draw_net(source, ends)

    def _draw_net(self, source: int, ends: list[tuple[int, int, int]]) -> None:
        start = ends[0][0]
        if start == IN:
            trunk = self.ins[source] = self._add(-1, 0, POINT, 0)
        else:
            trunk = self.items[start]
        targets = [(self._end(source, end), sides) for _, end, sides in ends]
        last = max(item.row for item, _ in targets)
        for row in range(trunk.row + 1, last + 1):
            for item, sides in targets:
                if item.row == row:
                    self._link(trunk, item, source, sides)
            if row < last:
                beyond = 0
                for item, sides in targets:
                    beyond |= sides if item.row > row else 0
                point = self._add(-1, row, POINT, (beyond == SECOND) - (beyond == FIRST))
                self._link(trunk, point, source, beyond)
                trunk = point

    def _end(self, source: int, end: int) -> Item:
        if end != OUT:
            return self.items[end]
        item = self.outs[source] = self._add(-1, len(self.rows) - 1, POINT, 0)
        return item

    def _link(self, a: Item, b: Item, source: int, sides: int) -> None:
        """A box stands below the port it reads from; frames stand below each other, whatever ports they have: stairs of
        layers would wander off to one side.
        """
        b.above.append(Joint(a, 0 if b.id in self.inside else self._port(a, source, down=True)))
        a.below.append(Joint(b, 0 if a.id in self.inside else self._port(b, source, down=False)))
        self.links.append((a, b, source, sides))

    def _port(self, item: Item, source: int, down: bool) -> int:
        """Where a line touches an item, from the middle of it."""
        frame = self.inside.get(item.id)
        if frame is None:
            return 0
        port = (frame.outs if down else frame.ins)[source]
        return port.x - frame.w // 2

    # --- measures
    def _measure(self, frame: int) -> None:
        root = frame == 0
        pad, head = (MARGIN, MARGIN) if root else (PAD, HEAD)
        left = min((item.x - item.width // 2 for row in self.rows for item in row), default=0)
        right = max((item.x + item.width // 2 for row in self.rows for item in row), default=0)
        content = right - left + (right - left) % 2
        self.w = max(content + 2 * pad, 0 if root else int(self.scene.head[frame]))
        for row in self.rows:
            for item in row:
                item.x += (self.w - content) // 2 - left
        self._stack(head)
        self.h = self.bottoms[-1] + pad if self.rows else head + pad

    def _stack(self, head: int) -> None:
        """Tops and bottoms of rows and of their lines."""
        self.tops: list[int] = []
        self.bottoms: list[int] = []
        self.lines: list[list[int]] = []
        y = head
        for at, row in enumerate(self.rows):
            if at:
                thin = (at == 1 and self.shift) or not any(item.id >= 0 for item in row)
                y += PORT_GAP if thin else ROW_GAP
            self.tops.append(y)
            self.lines.append([])
            for line in range(max((item.line for item in row), default=0) + 1):
                y += PORT_GAP if line else 0
                self.lines[at].append(y)
                y += max((self._height(item) for item in row if item.line == line), default=0)
            self.bottoms.append(y)

    def _height(self, item: Item) -> int:
        if item.id < 0:
            return 0
        return self.inside[item.id].h if item.id in self.inside else BOX

    def pieces(self) -> list[list[int]]:
        """The lines from this frame's own corner. One to a box in a lower line of a wrapped row would run across the
        boxes above and look like theirs: it is a badge instead.
        """
        return [self._piece(*link) for link in self.links if not _is_cut(link[1])]

    def _piece(self, a: Item, b: Item, source: int, sides: int) -> list[int]:
        x1 = a.x + self._port(a, source, down=True)
        x2 = b.x + self._port(b, source, down=False)
        y2, y3 = self.bottoms[a.row], self.tops[b.row]
        if a.id >= 0:
            y1 = self.lines[a.row][a.line] + self._height(a)
        else:
            y1 = 0 if self.shift and a.row == 0 else self.tops[a.row]
        if b.id >= 0:
            y4 = self.lines[b.row][b.line]
        else:
            y4 = self.h if self.outs.get(source) is b else y3
        return [x1, y1, y2, x2, y3, y4, source, sides, 1 if b.id >= 0 and b.id not in self.inside else 0]


def _is_cut(item: Item) -> bool:
    return item.id >= 0 and item.line > 0


def _settle(made: Layout, inside: dict[int, _Frame], frame: int, left: int, top: int) -> None:
    """From places in each frame to places in the picture."""
    here = inside[frame]
    made.x[frame], made.y[frame], made.w[frame], made.h[frame] = left, top, here.w, here.h
    for x1, y1, y2, x2, y3, y4, source, sides, arrow in here.pieces():
        made.pieces.append([x1 + left, y1 + top, y2 + top, x2 + left, y3 + top, y4 + top, source, sides, arrow])
    for box, item in here.items.items():
        x, y = left + item.x - item.width // 2, top + here.lines[item.row][item.line]
        if box in inside:
            _settle(made, inside, box, x, y)
        else:
            made.x[box], made.y[box], made.w[box], made.h[box] = x, y, item.width, BOX

"""Rows of a layered picture: who stands above whom, frame by frame. Twin: the first half of ``static/layout.js``."""

from __future__ import annotations

import dataclasses

from workbench.viz.graph.fold import Folded

LONG = 6
"""An edge over more rows than this is a badge at both ends: masks and rotary tables reach every layer."""

CHAIN = 3
"""Sources, and what follows them alone up to this length, move down to their first reader."""

Pair = tuple[int, int]


@dataclasses.dataclass(frozen=True)
class Lifted:
    """One edge seen from the innermost frame around both ends: ``a`` and ``b`` are children of that frame."""

    frame: int
    a: int
    b: int


@dataclasses.dataclass(frozen=True)
class Rows:
    """``row`` of each box in its frame, how many rows each frame has, and for each edge whether it is far."""

    row: dict[int, int]
    count: dict[int, int]
    lifted: list[Lifted]
    far: list[bool]


def rows(parent: list[int], folded: Folded) -> Rows:
    """Rows by longest path in each frame; edges that run back in a knot or over many rows are far."""
    depth: dict[int, int] = {}
    for frame, inside in folded.children.items():
        for child in inside:
            depth[child] = depth.get(frame, 0) + 1
    lifted = [lift(parent, depth, a, b) for a, b, _ in folded.edges]
    pairs: dict[int, dict[Pair, None]] = {frame: {} for frame in folded.children}
    for edge in lifted:
        pairs[edge.frame][edge.a, edge.b] = None
    row: dict[int, int] = {}
    count: dict[int, int] = {}
    for frame, inside in folded.children.items():
        local = {child: i for i, child in enumerate(inside)}
        found = settle(len(inside), [(local[a], local[b]) for a, b in pairs[frame]])
        if not frame:
            _sink(found, {local[end] for pair in pairs[frame] for end in pair})
        row.update(zip(inside, found))
        count[frame] = max(found, default=-1) + 1
    far = [_is_far(parent, row, count, edge, pair) for edge, pair in zip(lifted, folded.edges)]
    return Rows(row, count, lifted, far)


def lift(parent: list[int], depth: dict[int, int], a: int, b: int) -> Lifted:
    """The frame where two boxes part, and the child on either side."""
    while depth[a] > depth[b]:
        a = parent[a]
    while depth[b] > depth[a]:
        b = parent[b]
    while parent[a] != parent[b]:
        a, b = parent[a], parent[b]
    return Lifted(parent[a], a, b)


def settle(count: int, pairs: list[Pair]) -> list[int]:
    """A row for each of ``count`` boxes so that pairs point down; in a knot the first box goes first."""
    outs: list[list[int]] = [[] for _ in range(count)]
    ins: list[list[int]] = [[] for _ in range(count)]
    for a, b in pairs:
        outs[a].append(b)
        ins[b].append(a)
    row, order = _longest(outs, ins)
    place = [0] * count
    for at, i in enumerate(order):
        place[i] = at
    _pull(row, order, [[b for b in outs[a] if place[b] > place[a]] for a in range(count)],
          [[a for a in ins[b] if place[a] < place[b]] for b in range(count)])  # fmt: skip
    return row


def _longest(outs: list[list[int]], ins: list[list[int]]) -> tuple[list[int], list[int]]:
    count = len(outs)
    waiting = [len(sources) for sources in ins]
    order = [i for i in range(count) if not waiting[i]]
    queued = [not n for n in waiting]
    row = [0] * count
    head = scan = 0
    while head < count:
        if head == len(order):  # a knot: what was read out of it first goes first
            while queued[scan]:
                scan += 1
            queued[scan] = True
            order.append(scan)
        here = order[head]
        head += 1
        for there in outs[here]:
            if queued[there]:
                continue  # runs back
            row[there] = max(row[there], row[here] + 1)
            waiting[there] -= 1
            if not waiting[there]:
                queued[there] = True
                order.append(there)
    return row, order


def _pull(row: list[int], order: list[int], outs: list[list[int]], ins: list[list[int]]) -> None:
    chain = [0] * len(row)  # length of a chain that hangs on nothing else, 0 for others
    for i in order:
        if all(0 < chain[a] < CHAIN and len(outs[a]) == 1 for a in ins[i]):
            chain[i] = 1 + max((chain[a] for a in ins[i]), default=0)
    for i in reversed(order):
        if chain[i] and outs[i]:
            row[i] = max(row[i], min(row[b] for b in outs[i]) - 1)


def _sink(row: list[int], tied: set[int]) -> None:
    """Bodies of functions, which no value reaches, lie at the bottom of the picture, out of the way."""
    last = max(row, default=0)
    for i in range(len(row)):
        if i not in tied:
            row[i] = last


def _is_far(parent: list[int], row: dict[int, int], count: dict[int, int], edge: Lifted, pair: tuple[int, ...]) -> bool:
    """Rows on the way out of the frames around the source, across, and into those around the target."""
    across = row[edge.b] - row[edge.a]
    if across < 1:
        return True
    a, b = pair[0], pair[1]
    while a != edge.a:
        across += count[parent[a]] - 1 - row[a]
        a = parent[a]
    while b != edge.b:
        across += row[b]
        b = parent[b]
    return across > LONG

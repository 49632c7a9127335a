"""Both graphs as one: an entry per node that either has, in one order, and the values between them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from workbench.analysis.diff.flat import Side
from workbench.analysis.diff.result import Edge

Pair = tuple[int, int]
"""Indices in both graphs, -1 for a node that is not there."""


def ordered(a: Side, b: Side, to: tuple[list[int], list[int]]) -> list[Pair]:
    """All pairs: main graph first, then what is inside nodes and functions; each after what it needs, where both
    graphs agree about that, and near to where it stands in its own graph."""
    pairs = [(x, y) for x, y in enumerate(to[0])] + [(-1, y) for y, x in enumerate(to[1]) if x < 0]
    of = _owners(pairs, a, b)
    keys = _keys(pairs, a, b, to)
    after: list[set[int]] = [set() for _ in pairs]
    for source, target, _, _ in _reads((a, b), of):
        after[source].add(target)
    missing = [0] * len(pairs)
    for targets in after:
        for target in targets:
            missing[target] += 1
    return [pairs[i] for i in _kahn(keys, after, missing)]


def _kahn(keys: list[tuple[int, float, int]], after: list[set[int]], missing: list[int]) -> list[int]:
    """Smallest key first among those that need nothing any more; where both graphs contradict, the smallest of all."""
    heap = [(key, i) for i, key in enumerate(keys) if not missing[i]]
    heapq.heapify(heap)
    rest = iter(sorted(range(len(keys)), key=keys.__getitem__))
    done = [False] * len(keys)
    order: list[int] = []
    while len(order) < len(keys):
        i = heapq.heappop(heap)[1] if heap else next(i for i in rest if not done[i])
        if done[i]:
            continue
        done[i] = True
        order.append(i)
        for target in after[i]:
            missing[target] -= 1
            if not missing[target] and not done[target]:
                heapq.heappush(heap, (keys[target], target))
    return sorted(order, key=lambda i: keys[i][0])


def _owners(pairs: list[Pair], a: Side, b: Side) -> tuple[list[int], list[int]]:
    of = [-1] * len(a), [-1] * len(b)
    for i, (x, y) in enumerate(pairs):
        if x >= 0:
            of[0][x] = i
        if y >= 0:
            of[1][y] = i
    return of


def _keys(pairs: list[Pair], a: Side, b: Side, to: tuple[list[int], list[int]]) -> list[tuple[int, float, int]]:
    """Inside a body or not, then the place in the first graph; a new node stands behind its predecessor."""
    behind, last = [0.0] * len(b), -1.0
    for y, x in enumerate(to[1]):
        last = float(x) if x >= 0 else last
        behind[y] = last + 0.5
    return [
        (int(bool(a.places[x])), float(x), y) if x >= 0 else (int(bool(b.places[y])), behind[y], y) for x, y in pairs
    ]


def _reads(sides: tuple[Side, Side], of: tuple[list[int], list[int]]) -> Iterator[tuple[int, int, str, int]]:
    for number, side in enumerate(sides):
        for index, sources in enumerate(side.sources):
            for position, source in enumerate(sources):
                if source is not None and source[0] == "n":
                    value = side.nodes[index].inputs[position]
                    yield of[number][source[1]], of[number][index], (value.name or "") if value else "", number


def edges(a: Side, b: Side, pairs: list[Pair]) -> tuple[Edge, ...]:
    """Every value that an entry reads from another, once, with the side (or both) that it is on."""
    of = _owners(pairs, a, b)
    found: dict[tuple[int, int, int, int], list[object]] = {}
    for number, side in enumerate((a, b)):
        for index, sources in enumerate(side.sources):
            for position, source in enumerate(sources):
                if source is None or source[0] != "n":
                    continue
                key = (of[number][source[1]], of[number][index], source[2], position)
                value = side.nodes[index].inputs[position]
                name = (value.name or "") if value is not None else ""
                known = found.get(key)
                if known is None:
                    found[key] = [name, number + 1]
                else:
                    known[:] = [name, 0] if known[1] != number + 1 else known
    return tuple(Edge(s, t, str(name), int(side)) for (s, t, _, _), (name, side) in found.items())  # type: ignore[call-overload]

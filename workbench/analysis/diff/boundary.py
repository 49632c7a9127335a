"""Whether what a node reads is the same on both sides, with what removed and added nodes explain."""

from __future__ import annotations

from typing import Any

from workbench.analysis.diff.flat import Side, Source
from workbench.analysis.diff.matching import Matcher


class Boundary:
    """Correspondence of values once nodes and weights are matched."""

    def __init__(self, matcher: Matcher, weights: tuple[list[int], list[int]]) -> None:
        self.sides, self.labels, self.to, self.weights = matcher.sides, matcher.labels, matcher.to, weights
        self._named: dict[Any, Source] = {key: ("i", name) for name, key in matcher.labels[1].inputs.items()}
        self._edges: tuple[dict[int, frozenset[Source]], dict[int, frozenset[Source]]] = ({}, {})

    def partner(self, source: Source) -> Source | None:
        """What a value of the first graph is in the second; None for what has no partner there."""
        kind = source[0]
        if kind == "n":
            found = self.to[0][source[1]]
            return ("n", found, source[2]) if found >= 0 else None
        if kind == "w":
            found = self.weights[0][source[1]]
            return ("w", found) if found >= 0 else None
        if kind == "i":
            key = self.labels[0].inputs[source[1]]
            return self._named.get(key)
        if kind == "b":
            found = self.to[0][source[1]]
            return ("b", found, *source[2:]) if found >= 0 else None
        return source

    def is_new(self, number: int, source: Source | None) -> bool:
        """Whether a node makes a value that has no partner on the other side."""
        return source is not None and source[0] == "n" and self.to[number][source[1]] < 0

    def explained(self, sa: Source | None, sb: Source | None) -> bool:
        """Whether two values are the same, or differ because of nodes that were removed or added between.

        A reader behind an inserted node has not changed by itself: the inserted node is the difference.
        """
        if sa is None or sb is None:
            return sa is sb or self.is_new(0, sa) or self.is_new(1, sb)
        old, new = self.is_new(0, sa), self.is_new(1, sb)
        if not old and not new:
            return self.partner(sa) == sb
        if old and new:
            return True
        if new:
            before = self.edge(1, sb[1])
            return not before or sa[0] == "w" or self.partner(sa) in before or self._merged(1, sb, sa)
        if self._merged(0, sa, sb):
            return True
        return not self.edge(0, sa[1]) or sb[0] == "w" or sb in {self.partner(s) for s in self.edge(0, sa[1])}

    def what(self, number: int, node: int) -> tuple[object, ...]:
        """What a node computes: equal for two that could be one."""
        labels = self.labels[number]
        return labels.kinds[node], labels.settings[node], tuple(self.sides[number].sources[node])

    def _merged(self, number: int, gone: Source, kept: Source) -> bool:
        """Whether a node without partner computes what a node of its graph does that the other graph kept."""
        if kept[0] != "n" or kept[2] != gone[2]:
            return False
        twin = self.to[1 - number][kept[1]]
        return twin >= 0 and self.what(number, twin) == self.what(number, gone[1])

    def edge(self, number: int, index: int) -> frozenset[Source]:
        """What a region of unmatched nodes reads from outside, from one of them upwards; weights left out."""
        known = self._edges[number]
        if index not in known:
            side = self.sides[number]
            for node in _upwards(side, self.to[number], index, known):
                found: set[Source] = set()
                for source in side.sources[node]:
                    if self.is_new(number, source):
                        found |= known.get(source[1], frozenset())  # type: ignore[index]
                    elif source is not None and source[0] != "w":
                        found.add(source)
                known[node] = frozenset(found) if len(found) <= 64 else frozenset()
        return known[index]


def _upwards(side: Side, to: list[int], index: int, known: dict[int, frozenset[Source]]) -> list[int]:
    """The unmatched nodes above one, the topmost first."""
    seen, stack, order = {index}, [(index, False)], []
    while stack:
        node, done = stack.pop()
        if done:
            order.append(node)
            continue
        stack.append((node, True))
        for source in side.sources[node]:
            if source is None or source[0] != "n" or to[source[1]] >= 0:
                continue
            if source[1] not in seen and source[1] not in known:
                seen.add(source[1])
                stack.append((source[1], False))
    return order

"""Matching by what our own pipeline wrote down: names that stay, and the names that a rewrite took away."""

from __future__ import annotations

import collections
import re

from workbench.analysis.diff.flat import Side
from workbench.analysis.diff.matching import Matcher
from workbench.types import SCOPE_KEY

_NUMBERED = re.compile(r"^(node|n)?_?\d*$|^[A-Za-z]+_\d+$")
"""Names that a tool made up while it inlined or completed a graph: they mean nothing in another graph."""
_ALIKE = 0.9


def origins(side: Side, index: int) -> tuple[str, ...]:
    """The generic graph's nodes that a node stands for: itself, or those that its rewrite removed."""
    replaced = side.replaces(index)
    if replaced:
        return replaced
    name = side.nodes[index].name
    return (name,) if name and not _NUMBERED.match(name) else ()


def same_origin(a: Side, b: Side) -> bool:
    """Whether both graphs were made from one generic graph, so that names say what is what."""
    found = []
    for side in (a, b):
        main = [i for i in range(len(side)) if not side.places[i] and SCOPE_KEY in side.nodes[i].metadata_props]
        found.append({name for i in main for name in origins(side, i)})
    fewest = min(map(len, found))
    return bool(fewest) and len(found[0] & found[1]) >= _ALIKE * fewest


def seed(matcher: Matcher) -> None:
    """Pair the nodes of one name, and set aside those that a rewrite of the other side has removed."""
    a, b = matcher.sides
    names = [_once(side) for side in (a, b)]
    for name, x in names[0].items():
        y = names[1].get(name, -1)
        if y >= 0 and a.homes[x] == b.homes[y]:
            matcher.pair(x, y)
    matcher.found.clear()
    for number, (side, other) in enumerate(((a, b), (b, a))):
        removed = {name for i in range(len(other)) for name in other.replaces(i)}
        for i, node in enumerate(side.nodes):
            if matcher.to[number][i] < 0 and node.name in removed:
                matcher.gone[number][i] = True


def _once(side: Side) -> dict[str, int]:
    counts = collections.Counter(node.name for node in side.nodes)
    return {
        node.name: i for i, node in enumerate(side.nodes)
        if node.name and counts[node.name] == 1 and not _NUMBERED.match(node.name)
    }  # fmt: skip

"""Why nodes went and others came: each explained step takes some nodes of one graph and puts some of the other there.

A draft names nodes by (side, index); entries are numbered when the union is ordered.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence

from workbench.analysis.diff.boundary import Boundary
from workbench.analysis.diff.flat import Side, Source
from workbench.analysis.diff.provenance import origins

LARGEST = 15
"""Nodes a side up to which a region counts as replaced by another without anybody having said so."""

Node = tuple[int, int]
Across = Mapping[int, Iterable[int]]
"""For the last nodes of a region: those on the other side that end in the same values."""


@dataclasses.dataclass(slots=True)
class Draft:
    """A group that is being made: unmatched nodes of the first graph, of the second, and the rule if it is known."""

    before: list[int] = dataclasses.field(default_factory=list)
    after: list[int] = dataclasses.field(default_factory=list)
    rule: str = ""


class Groups:
    """Drafts and which unmatched node is in which."""

    def __init__(self, boundary: Boundary) -> None:
        self.boundary = boundary
        self.sides, self.to = boundary.sides, boundary.to
        self.of: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self.drafts: list[Draft] = []

    def free(self, number: int) -> list[int]:
        """Unmatched nodes that no group has yet, each after what it needs."""
        return [i for i in self.sides[number].order if self.to[number][i] < 0 and i not in self.of[number]]

    def add(self, rule: str, before: Iterable[int] = (), after: Iterable[int] = ()) -> None:
        draft = Draft(list(before), list(after), rule)
        for number, nodes in enumerate((draft.before, draft.after)):
            self.of[number].update(dict.fromkeys(nodes, len(self.drafts)))
        self.drafts.append(draft)


def explain(boundary: Boundary, stand_ins: Sequence[tuple[int, int]], *, provenance: bool) -> list[Draft]:
    """All groups that can be named. ``stand_ins`` are unmatched nodes of both sides that stand in the same place."""
    groups = Groups(boundary)
    if provenance:
        by_origin(groups)
    by_function(groups)
    for number in (0, 1):
        by_fold(groups, number)
        by_merging(groups, number)
    by_boundary(groups, stand_ins)
    for number in (0, 1):
        by_disuse(groups, number)
    return [draft for draft in groups.drafts if draft.before or draft.after]


# --- what our rewrites wrote down ---------------------------------------------------------------------------
def by_origin(groups: Groups) -> None:
    """Nodes of both sides that stand for common nodes of the generic graph."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    found: list[tuple[int, int, str]] = []
    for number, side in enumerate(groups.sides):
        for i in groups.free(number):
            names = origins(side, i)
            for name in names[1:]:
                parent[root(name)] = root(names[0])
            if names:
                found.append((number, i, names[0]))
    members: dict[str, tuple[list[int], list[int]]] = {}
    for number, i, name in found:
        members.setdefault(root(name), ([], []))[number].append(i)
    for before, after in members.values():
        rule = rules_of(groups, before, after)
        if rule:
            groups.add(rule, sorted(before), sorted(after))


def rules_of(groups: Groups, before: Iterable[int], after: Iterable[int]) -> str:
    """The rules that made the nodes of either side, oldest first; `` | `` between where both sides have their own."""
    texts = []
    for side, nodes in zip(groups.sides, (before, after)):
        texts.append(" ".join(dict.fromkeys(rule for i in nodes for rule in side.rules(i))))
    if not texts[0] or texts[0] == texts[1]:
        return texts[1]
    return f"{texts[0]} | {texts[1]}" if texts[1] else texts[0]


# --- calls that were replaced by the function's body --------------------------------------------------------
def by_function(groups: Groups) -> None:
    """A call of a function that the other graph does not have, and the nodes that now make what it gave."""
    for number in (0, 1):
        side, other = groups.sides[number], groups.sides[1 - number]
        for call in groups.free(number):
            key = side.nodes[call].op_identifier()
            if key not in side.model.functions or key in other.model.functions:
                continue
            made = _region(groups, 1 - number, _partners(groups, number, [call]))
            body = [i for i in groups.free(number) if side.homes[i][:4] == ("function", *key)]
            if made and {other.ops[i] for i in made} <= _inside(side, key):
                groups.add("inline", *_two(number, [call, *body], made))


def _inside(side: Side, key: tuple[str, str, str]) -> set[tuple[str, str]]:
    """Operators of a function's body."""
    return {op for op, home in zip(side.ops, side.homes) if home[:4] == ("function", *key)}


def _two(number: int, mine: list[int], theirs: list[int]) -> tuple[list[int], list[int]]:
    return (mine, theirs) if number == 0 else (theirs, mine)


# --- weights that were turned or joined, and nodes that were merged -----------------------------------------
def by_fold(groups: Groups, number: int) -> None:
    """Nodes over weights only, whose result the other graph keeps as a weight."""
    constant = groups.boundary.labels[number].constant
    for node in reversed(groups.free(number)):
        if node in groups.of[number] or not constant[node] or not groups.sides[number].sources[node]:
            continue
        if _kept_as_weight(groups, number, node):
            above = _above(groups, number, [node], lambda i: constant[i])
            groups.add("fold", *_two(number, sorted(above), []))


def _kept_as_weight(groups: Groups, number: int, node: int) -> bool:
    other = groups.sides[1 - number]
    seen = False
    for reader, position, _ in groups.sides[number].readers[node]:
        partner = groups.to[number][reader]
        if partner < 0:
            continue
        theirs = other.sources[partner][position] if position < len(other.sources[partner]) else None
        if theirs is None or theirs[0] != "w":
            return False
        seen = True
    return seen


def by_merging(groups: Groups, number: int) -> None:
    """Identities, and nodes that compute what another node computes as well."""
    side = groups.sides[number]
    kept: set[tuple[object, ...]] = set()
    free = groups.free(number)
    wanted = {side.ops[node] for node in free}
    for node, partner in enumerate(groups.to[number]):
        if partner >= 0 and side.ops[node] in wanted:
            kept.add(groups.boundary.what(number, node))
    for node in free:
        if side.ops[node] == ("", "Identity"):
            groups.add("identity", *_two(number, [node], []))
        elif groups.boundary.what(number, node) in kept:
            groups.add("cse", *_two(number, [node], []))


# --- regions between the same values ------------------------------------------------------------------------
def by_boundary(groups: Groups, stand_ins: Sequence[tuple[int, int]]) -> None:
    """Regions that end in the same values: each takes what is above it and not taken yet, from the top of the graph."""
    ends: dict[int, dict[int, None]] = collections.defaultdict(dict)
    for x in groups.free(0):
        for y in _partners(groups, 0, [x]):
            if y not in groups.of[1]:
                ends[x][y] = None
    for y in groups.free(1):
        for x in _partners(groups, 1, [y]):
            if x not in groups.of[0]:
                ends[x][y] = None
    for x, y in stand_ins:
        if x not in groups.of[0] and y not in groups.of[1]:
            ends[x][y] = None
    starts: dict[int, dict[int, None]] = collections.defaultdict(dict)
    for x, ys in ends.items():
        for y in ys:
            starts[y][x] = None
    across = (ends, starts)
    hopeless: tuple[set[int], set[int]] = (set(), set())
    for y in groups.free(1):
        if y not in starts or y in groups.of[1] or y in hopeless[1]:
            continue
        before, after = found = _joined(groups, y, across, hopeless)
        rule = rules_of(groups, before, after)
        fits = len(before) <= LARGEST and len(after) <= LARGEST
        if before and after and (rule or fits):
            groups.add(rule or "replaced", sorted(before), sorted(after))
        elif not fits:
            for nodes, bad in zip(found, hopeless):
                bad |= nodes


def _joined(
    groups: Groups, y: int, across: tuple[Across, Across], hopeless: tuple[set[int], set[int]]
) -> tuple[set[int], set[int]]:
    """The closure of one end: regions above it on both sides, and the other ends of those.

    Empty where it reaches a region that was too large by itself.
    """
    sides: tuple[set[int], set[int]] = (set(), set())
    waiting: list[Node] = [(1, y)]
    while waiting:
        number, node = waiting.pop()
        if node in sides[number] or node in groups.of[number] or groups.to[number][node] >= 0:
            continue
        if node in hopeless[number]:
            return set(), set()
        sides[number].add(node)
        waiting += [(1 - number, other) for other in across[number].get(node, ())]
        side = groups.sides[number]
        for source in (*side.sources[node], *side.inner[node]):
            if source is not None and source[0] == "n":
                waiting.append((number, source[1]))
    return sides


def _above(groups: Groups, number: int, nodes: Iterable[int], wanted: Callable[[int], bool]) -> list[int]:
    """Unmatched nodes without a group from some of them upwards, those inside control flow with their owner."""
    side, to, of = groups.sides[number], groups.to[number], groups.of[number]
    found = dict.fromkeys(nodes)
    waiting = list(found)
    while waiting:
        node = waiting.pop()
        for source in (*side.sources[node], *side.inner[node]):
            if source is None or source[0] != "n":
                continue
            maker = source[1]
            if to[maker] < 0 and maker not in of and maker not in found and wanted(maker):
                found[maker] = None
                waiting.append(maker)
    return list(found)


def _partners(groups: Groups, number: int, nodes: Iterable[int]) -> list[int]:
    """Unmatched nodes of the other side that make what matched readers (or outputs) of these nodes read there."""
    side, other, to = groups.sides[number], groups.sides[1 - number], groups.to
    found: dict[int, None] = {}
    for node in nodes:
        for reader, position, _ in side.readers[node]:
            partner = to[number][reader]
            if partner < 0:
                continue
            there = _at(other, partner, position)
            for source in other.sources[partner] if there is None else (there,):  # an input less: one for several
                _note(found, source, to[1 - number])
        for where, name, _ in side.gives[node]:
            for given, source in _gives(groups, 1 - number, where):
                if given == _key(groups, number, where, name):
                    _note(found, source, to[1 - number])
    return list(found)


def _note(found: dict[int, None], source: Source | None, to: list[int]) -> None:
    if source is not None and source[0] == "n" and to[source[1]] < 0:
        found[source[1]] = None


def _at(side: Side, node: int, position: int) -> Source | None:
    return side.sources[node][position] if position < len(side.sources[node]) else None


def _key(groups: Groups, number: int, where: object, name: object) -> object:
    return groups.boundary.labels[number].outputs[str(name)] if where == "" else name


def _gives(groups: Groups, number: int, where: object) -> list[tuple[object, Source]]:
    """Outputs of the main graph, or of a function, and where each comes from."""
    side = groups.sides[number]
    if where == "":
        labels = groups.boundary.labels[number]
        return [(labels.outputs[name], source) for name, source in side.passed]
    return []


def _region(groups: Groups, number: int, ends: list[int]) -> list[int]:
    return sorted(_above(groups, number, ends, lambda i: True))


# --- what nobody needs any more -----------------------------------------------------------------------------
def by_disuse(groups: Groups, number: int) -> None:
    """Nodes whose every reader went away in a group, or that never had one; bodies of functions that are gone."""
    side, of = groups.sides[number], groups.of[number]
    other = groups.sides[1 - number].model.functions
    gone: dict[object, list[int]] = collections.defaultdict(list)
    for node in groups.free(number):
        home = side.homes[node]
        if home[0] == "function" and home[1:4] not in other:
            gone[home[1:4]].append(node)
    for nodes in gone.values():
        groups.add("unused", *_two(number, nodes, []))
    for node in reversed(groups.free(number)):
        readers = {reader for reader, _, _ in side.readers[node]}
        if not side.gives[node] and all(groups.to[number][r] < 0 and r in of for r in readers):
            groups.add("unused", *_two(number, [node], []))

"""Which node of one graph is which node of the other: from what is certain to what is likely.

Names play no part but to settle ties, so a graph whose nodes, values and weights are all renamed is the same graph.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable
from typing import Any

from workbench.analysis.diff.flat import BODY, Side, Source
from workbench.analysis.diff.labels import Labels, sizes

Pairs = list[int]
_CROWD = 24
"""Readers of one value beyond which it says nothing about who is who."""


class Matcher:
    """The state of a matching: ``to_b[i]`` is the partner of node ``i`` of the first graph, -1 for none."""

    def __init__(self, a: Side, b: Side, labels: tuple[Labels, Labels]) -> None:
        self.sides, self.labels = (a, b), labels
        self.to: tuple[Pairs, Pairs] = ([-1] * len(a), [-1] * len(b))
        told = all(any(node.metadata_props for node in side.nodes) for side in (a, b))
        self.made = [[told and bool(side.rules(i)) for i in range(len(side))] for side in (a, b)]
        """Nodes that a rewrite made, where both graphs tell."""
        self.cones: tuple[list[int], ...] = ()
        """Hashes of all that is above each node, once twins may be settled."""
        self.found: set[int] = set()
        """Nodes of the first graph that were matched by structure, not by name."""
        self.gone = [[False] * len(a), [False] * len(b)]
        """Nodes that a rewrite is known to have taken away: they have no partner."""
        self.fresh: collections.deque[int] = collections.deque()
        shared = set(a.scopes) & set(b.scopes)
        self.scopes = [[scope if scope in shared else "" for scope in side.scopes] for side in (a, b)]
        """Scopes that both graphs know; another builder's names say nothing here."""
        self.users = [_users(side, labels[i]) for i, side in enumerate((a, b))]

    # --- one pair -------------------------------------------------------------------------------------
    def pair(self, x: int, y: int) -> None:
        """Take two nodes for one, and look at their neighbours next."""
        self.to[0][x], self.to[1][y] = y, x
        self.found.add(x)
        self.fresh.append(x)

    def same_source(self, sa: Source | None, sb: Source | None) -> bool:
        """Whether two inputs read the same value, as far as it is known."""
        if sa is None or sb is None:
            return sa is sb
        if sa[0] != sb[0]:
            return False
        if sa[0] == "n":
            return bool(self.to[0][sa[1]] == sb[1] and sa[2] == sb[2])
        if sa[0] == "w":
            return self.labels[0].weights[sa[1]] == self.labels[1].weights[sb[1]]
        if sa[0] == "i":
            return bool(self.labels[0].inputs[sa[1]] == self.labels[1].inputs[sb[1]])
        if sa[0] == "b":
            return self.to[0][sa[1]] == sb[1] and sa[2:] == sb[2:]
        return sa == sb

    def compatible(self, x: int, y: int) -> bool:
        """Whether two nodes could be one at all: free, the same operator in the same kind of place."""
        if self.to[0][x] >= 0 or self.to[1][y] >= 0 or self.gone[0][x] or self.gone[1][y]:
            return False
        if self.labels[0].families[x] != self.labels[1].families[y]:
            return False
        owner, other = self.sides[0].owners[x], self.sides[1].owners[y]
        if owner >= 0 and self.to[0][owner] >= 0 and self.to[0][owner] != other:
            return False
        return self.made[0][x] == self.made[1][y] or self.stands_in(x, y)

    def stands_in(self, x: int, y: int) -> bool:
        """Whether two nodes are in the same place and are not the same operator."""
        return self.labels[0].kinds[x] != self.labels[1].kinds[y]

    def set_apart(self) -> list[tuple[int, int]]:
        """Part the pairs of different operators, which only helped to find others."""
        apart = [(x, y) for x, y in enumerate(self.to[0]) if y >= 0 and x in self.found and self.stands_in(x, y)]
        for x, y in apart:
            self.to[0][x] = self.to[1][y] = -1
        return apart

    # --- by keys --------------------------------------------------------------------------------------
    def by_key(self, keys: tuple[Callable[[int], Any], Callable[[int], Any]], *, ordered: bool = False) -> None:
        """Pair nodes whose key is theirs alone on each side; ``ordered`` also pairs as many as there are, by depth."""
        found: list[dict[Any, list[int]]] = []
        for key, nodes in zip(keys, self._free()):
            free: dict[Any, list[int]] = collections.defaultdict(list)
            for index in nodes:
                free[key(index)].append(index)
            found.append(free)
        for key, mine in found[0].items():
            theirs = found[1].get(key, ())
            if len(mine) == len(theirs) == 1 or (ordered and len(mine) == len(theirs)):
                deep = [sorted(nodes, key=self.labels[i].depth.__getitem__) for i, nodes in enumerate((mine, theirs))]
                for x, y in zip(*deep):
                    if self.compatible(x, y):
                        self.pair(x, y)

    def _free(self) -> tuple[list[int], list[int]]:
        """Nodes without a partner whose operator is left over on both sides."""
        left = [
            [i for i in side.order if to[i] < 0 and not gone[i]]
            for side, to, gone in zip(self.sides, self.to, self.gone)
        ]
        kinds = [{labels.families[i] for i in nodes} for labels, nodes in zip(self.labels, left)]
        both = kinds[0] & kinds[1]
        mine, theirs = ([i for i in left[n] if self.labels[n].families[i] in both] for n in (0, 1))
        return mine, theirs

    # --- by neighbours --------------------------------------------------------------------------------
    def spread(self, first: Iterable[int] = ()) -> None:
        """From each pair to the nodes around it, as long as one candidate is better than all others."""
        waiting = collections.deque(first)
        queued = [False] * len(self.sides[0])
        while self.fresh or waiting:
            while self.fresh:
                for near in self._around(self.fresh.popleft()):
                    if not queued[near]:
                        queued[near] = True
                        waiting.append(near)
            if not waiting:
                break
            x = waiting.popleft()
            queued[x] = False
            if self.to[0][x] >= 0:
                continue
            y = self._best(0, x)
            if y >= 0 and self._best(1, y) == x:
                self.pair(x, y)

    def anchored(self) -> list[int]:
        """Free nodes of the first graph that read an input, or a weight which both graphs know."""
        found = []
        for x, sources in enumerate(self.sides[0].sources):
            if self.to[0][x] < 0:
                read = [s for s in sources if s is not None and s[0] in "wi"]
                if any(s[0] == "i" or self.labels[0].weights[s[1]][0] != "like" for s in read):
                    found.append(x)
        return found

    def _around(self, x: int) -> Iterable[int]:
        side, to = self.sides[0], self.to[0]
        for source in (*side.sources[x], *side.inner[x]):
            if source is not None and source[0] == "n" and to[source[1]] < 0:
                yield source[1]
        readers = side.readers[x]
        for reader, _, _ in readers if len(readers) <= 8 * _CROWD else ():
            if to[reader] < 0:
                yield reader

    def _best(self, number: int, x: int) -> int:
        """The only best candidate of a node of side ``number``; -1 where there is none or a tie."""
        best, first, tie = 0.0, -1, False
        for y in self._candidates(number, x):
            score = self._score(x, y) if number == 0 else self._score(y, x)
            if score > best:
                best, first, tie = score, y, False
            elif score == best and score > 0 and not self._twins(1 - number, first, y):
                tie = True
        return -1 if tie else first

    def _twins(self, number: int, one: int, other: int) -> bool:
        """Whether two nodes compute the same; asked only when nothing else is left to tell them apart."""
        return bool(self.cones) and self.cones[number][one] == self.cones[number][other]

    def _candidates(self, number: int, x: int) -> list[int]:
        """Free nodes of the other side that stand where a partner of a neighbour of ``x`` says."""
        side, other, to = self.sides[number], self.sides[1 - number], self.to[number]
        found: dict[int, None] = {}
        for position, source in enumerate(side.sources[x]):
            if source is None:
                continue
            if source[0] == "n" and to[source[1]] >= 0:
                near = [r for r, p, o in other.readers[to[source[1]]] if p == position and o == source[2]]
            elif source[0] in "wi":
                near = self.users[1 - number].get((self._anchor(number, source), position), [])
            else:
                continue
            if len(near) <= 8 * _CROWD:
                found |= dict.fromkeys(near)
        for reader, position, out in side.readers[x]:
            if to[reader] >= 0 and self._reads_alike(number, reader):
                source = _input(other, to[reader], position)
                if source is not None and source[0] == "n" and source[2] == out:
                    found[source[1]] = None
        free = [y for y in found if self.compatible(*((x, y) if number == 0 else (y, x)))]
        return free if len(free) <= _CROWD else []

    def _anchor(self, number: int, source: Source) -> Any:
        labels = self.labels[number]
        return labels.weights[source[1]] if source[0] == "w" else ("input", labels.inputs[source[1]])

    def _score(self, x: int, y: int) -> float:
        """How much speaks for a pair; nothing or less where too little does."""
        agree, known, score = self._inputs(x, y)
        more, all_of, firm = self._readers(x, y)
        agree, known = agree + more, known + all_of
        if not agree or 2 * agree < known:
            return 0.0
        a, b = self.labels
        if a.types[x] != b.types[y] and not fits(a.types[x], b.types[y]):
            if agree < known or not firm:
                return 0.0
            score -= 1
        score += 2.0 * agree - (known - agree)
        score += 0.0 if self.stands_in(x, y) else 1.0
        score += 1.0 if a.settings[x] == b.settings[y] else -0.5
        score += 0.25 * (a.before[x] == b.before[y]) + 0.25 * (a.after[x] == b.after[y])
        left, right = self.scopes[0][x], self.scopes[1][y]
        score += (1.0 if left == right else -0.5) if left and right else 0.0
        name = self.sides[0].nodes[x].name
        return max(0.01, score) + (0.25 if name and name == self.sides[1].nodes[y].name else 0.0)

    def _inputs(self, x: int, y: int) -> tuple[int, int, float]:
        """Inputs that are the same, inputs of which it is known, and what their likeness is worth."""
        agree = known = 0
        score = 0.0
        mine, theirs = self.sides[0].sources[x], self.sides[1].sources[y]
        for position in range(max(len(mine), len(theirs))):
            sa = mine[position] if position < len(mine) else None
            sb = theirs[position] if position < len(theirs) else None
            if sa is None and sb is None:
                continue
            if self.same_source(sa, sb):
                agree, known = agree + 1, known + 1
            elif self._open(0, sa) or self._open(1, sb):
                score += self._alike(x, y, position)
            else:
                known += 1
        return agree, known, score

    def _open(self, number: int, source: Source | None) -> bool:
        """Whether it is not known yet, or never will be, what a value is on the other side."""
        if source is None:
            return False
        if source[0] == "n":
            return self.to[number][source[1]] < 0
        return bool(source[0] == "w" and self.labels[number].weights[source[1]][0] != "content")

    def _reads_alike(self, number: int, reader: int) -> bool:
        """Whether a matched reader has its inputs in the order of its partner; a skip norm also adds."""
        pair = (reader, self.to[0][reader]) if number == 0 else (self.to[1][reader], reader)
        if not self.stands_in(*pair):
            return True
        return not any(side.ops[i][1].startswith("Skip") for side, i in zip(self.sides, pair))

    def _alike(self, x: int, y: int, position: int) -> float:
        """What it is worth that two values, of which it is not known whether they are one, have the same sizes."""
        shapes = []
        for side, i in zip(self.sides, (x, y)):
            inputs = side.nodes[i].inputs
            value = inputs[position] if position < len(inputs) else None
            shapes.append(sizes(value.shape) if value is not None else ())
        score = 0.5 if shapes[0] == shapes[1] else -0.5
        roots = [self.labels[n].root_of(self._at(n, i, position)) for n, i in ((0, x), (1, y))]
        if roots[0] is not None and roots[1] is not None:
            score += 1.5 if roots[0] == roots[1] else -1.5
        return score

    def _at(self, number: int, index: int, position: int) -> Source | None:
        return _input(self.sides[number], index, position)

    def _readers(self, x: int, y: int) -> tuple[int, int, int]:
        """Readers that are the same, readers of which it is known, and how many of the same are so for certain."""
        agree = known = loose = 0
        to, other = self.to[0], self.sides[1]
        gives = {(w, n if w else self.labels[1].outputs[n], o) for w, n, o in other.gives[y]}
        for where, name, out in self.sides[0].gives[x]:
            known += 1
            agree += (where, name if where else self.labels[0].outputs[name], out) in gives
        readers = self.sides[0].readers[x]
        for reader, position, out in readers if len(readers) <= 8 * _CROWD else readers[:_CROWD]:
            partner = to[reader]
            if partner < 0 or not self._reads_alike(0, reader):
                continue
            source = _input(other, partner, position)
            if source is not None and source[0] == "n" and source[1] == y and source[2] == out:
                agree, known = agree + 1, known + 1
                loose += self.stands_in(reader, partner)
            elif not self._open(1, source):
                known += 1
        return agree, known, agree - loose


def fits(one: Any, other: Any) -> bool:
    """Whether two lists of types may be the same, unknown ones fitting everything."""
    for (kind, shape), (kind2, shape2) in zip(one, other):
        if kind is not None and kind2 is not None and kind != kind2:
            return False
        if shape is not None and shape2 is not None:
            if len(shape) != len(shape2) or any(
                m is not None and n is not None and m != n for m, n in zip(shape, shape2)
            ):
                return False
    return True


def _users(side: Side, labels: Labels) -> dict[Any, list[int]]:
    """Readers of weights and of inputs by what both sides call those, and by position."""
    found: dict[Any, list[int]] = collections.defaultdict(list)
    for index, sources in enumerate(side.sources):
        for position, source in enumerate(sources):
            if source is not None and source[0] == "w" and labels.weights[source[1]][0] != "like":
                found[(labels.weights[source[1]], position)].append(index)
            elif source is not None and source[0] == "i":
                found[(("input", labels.inputs[source[1]]), position)].append(index)
    return found


def _input(side: Side, index: int, position: int) -> Source | None:
    found = side.sources[index] if position < BODY else side.inner[index]
    position %= BODY
    return found[position] if position < len(found) else None

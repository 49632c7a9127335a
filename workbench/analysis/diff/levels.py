"""How nodes are matched: first by keys that only one node can have, last by what operator and place say."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from workbench.analysis.diff.labels import FAMILY, cones
from workbench.analysis.diff.matching import Matcher

Key = Callable[[int], Any]


def match(matcher: Matcher) -> list[tuple[int, int]]:
    """Everything that structure tells, the certain first. Returned are nodes that only stand where others stood."""
    a, b = matcher.sides
    la, lb = matcher.labels
    (fa, ba), (fb, bb) = cones(a, la), cones(b, lb)
    matcher.by_key((lambda i: (fa[i], ba[i]), lambda i: (fb[i], bb[i])))
    matcher.by_key((fa.__getitem__, fb.__getitem__))
    matcher.by_key((ba.__getitem__, bb.__getitem__))
    matcher.spread(matcher.anchored())
    for ordered in (False, True):
        for level in _LEVELS:
            matcher.by_key((level(matcher, 0), level(matcher, 1)), ordered=ordered)
            matcher.spread()
    _twins(matcher, fa, fb)
    return matcher.set_apart()


def _twins(matcher: Matcher, fa: list[int], fb: list[int]) -> None:
    """Twins that nothing tells apart: any pairing is right, if what hangs on them follows."""
    there: dict[int, list[int]] = collections.defaultdict(list)
    for y in reversed(matcher.sides[1].order):
        if matcher.to[1][y] < 0:
            there[fb[y]].append(y)
    for x in matcher.sides[0].order:
        if matcher.to[0][x] >= 0 or fa[x] not in there:
            continue
        free = there[fa[x]]
        while free and matcher.to[1][free[-1]] >= 0:
            free.pop()
        if free and matcher.compatible(x, free[-1]):
            matcher.pair(x, free.pop())
            matcher.spread()
    matcher.cones = (fa, fb)
    matcher.spread([x for x, y in enumerate(matcher.to[0]) if y < 0])


def _kind(matcher: Matcher, number: int, i: int) -> Any:
    side, labels = matcher.sides[number], matcher.labels[number]
    return labels.families[i] if side.ops[i][1] in FAMILY else (*labels.families[i], matcher.made[number][i])


def _whole(matcher: Matcher, number: int) -> Key:
    scopes, labels = matcher.scopes[number], matcher.labels[number]
    return lambda i: (
        _kind(matcher, number, i), labels.settings[i], labels.looks[i], labels.before[i], labels.after[i],
        scopes[i], _near(matcher, number, i),
    )  # fmt: skip


def _anywhere(matcher: Matcher, number: int) -> Key:
    """Without the module's name, which another builder gives differently."""
    labels = matcher.labels[number]
    return lambda i: (
        _kind(matcher, number, i), labels.settings[i], labels.looks[i], labels.before[i], labels.after[i],
        _near(matcher, number, i),
    )  # fmt: skip


def _in_scope(matcher: Matcher, number: int) -> Key:
    scopes, labels = matcher.scopes[number], matcher.labels[number]
    return lambda i: (
        _kind(matcher, number, i), labels.looks[i], scopes[i] or (labels.before[i], labels.after[i]),
        _near(matcher, number, i),
    )  # fmt: skip


def _after(matcher: Matcher, number: int) -> Key:
    """By what a node depends on: what depends on it is finer where an operator was taken apart."""
    labels = matcher.labels[number]
    return lambda i: (_kind(matcher, number, i), labels.looks[i], labels.before[i], _near(matcher, number, i))


def _before(matcher: Matcher, number: int) -> Key:
    labels = matcher.labels[number]
    return lambda i: (_kind(matcher, number, i), labels.looks[i], labels.after[i], _near(matcher, number, i))


def _place(matcher: Matcher, number: int) -> Key:
    scopes, labels = matcher.scopes[number], matcher.labels[number]
    return lambda i: (
        _kind(matcher, number, i), labels.looks[i], labels.before[i], labels.after[i], scopes[i]
    )  # fmt: skip


def _rough(matcher: Matcher, number: int) -> Key:
    scopes, labels = matcher.scopes[number], matcher.labels[number]
    return lambda i: (_kind(matcher, number, i), labels.looks[i], scopes[i] or labels.before[i])


_LEVELS = (_whole, _anywhere, _in_scope, _after, _before, _place, _rough)


def _near(matcher: Matcher, number: int, i: int) -> Any:
    """The neighbours of a node: who they are where that is known, else their operators; weights as such."""
    side, labels, to = matcher.sides[number], matcher.labels[number], matcher.to[number]

    def who(n: int) -> Any:
        if to[n] >= 0:
            return n if number == 0 else to[n]
        return labels.families[n]

    def source(s: Any) -> Any:
        if s is None:
            return None
        if s[0] == "w" or (s[0] == "n" and labels.constant[s[1]]):
            return "constant", labels.root_of(s)
        return (who(s[1]), s[2]) if s[0] == "n" else s[0]

    before = tuple(map(source, side.sources[i]))
    after = frozenset((who(r), -1 if side.ops[r][1].startswith("Skip") else p, o) for r, p, o in side.readers[i])
    return before, after

"""Which initializer of one graph is which of the other, once nodes are matched: by content, readers and name."""

from __future__ import annotations

import collections
from collections.abc import Sequence

from workbench.analysis.diff.matching import Matcher


def match_weights(matcher: Matcher) -> tuple[list[int], list[int]]:
    """Partners in both directions, -1 for none: equal content first, then a common reader, then the name alone."""
    a, b = matcher.sides
    la, lb = matcher.labels
    votes: collections.Counter[tuple[int, int]] = collections.Counter()
    for x, y in enumerate(matcher.to[0]):
        if y >= 0:
            for sa, sb in zip(a.sources[x], b.sources[y]):
                if sa is not None and sb is not None and sa[0] == sb[0] == "w":
                    votes[sa[1], sb[1]] += 1
    by_name = {value.name: i for i, value in enumerate(b.initializers)}
    for i, value in enumerate(a.initializers):
        if value.name in by_name:
            votes.setdefault((i, by_name[value.name]), 0)
    _add_equal(votes, la.prints, lb.prints)

    def rank(pair: tuple[int, int]) -> tuple[bool, bool, int]:
        i, j = pair
        equal = la.prints[i] is not None and la.prints[i] == lb.prints[j]
        named = a.initializers[i].name == b.initializers[j].name
        unread = votes[pair] == 0
        return (not (equal and not unread), not (named and not unread), -votes[pair] - equal - named)

    to: tuple[list[int], list[int]] = ([-1] * len(la.prints), [-1] * len(lb.prints))
    for i, j in sorted(votes, key=lambda pair: (*rank(pair), pair)):
        if to[0][i] < 0 and to[1][j] < 0:
            to[0][i], to[1][j] = j, i
    return to


def _add_equal(votes: collections.Counter[tuple[int, int]], a: Sequence[object], b: Sequence[object]) -> None:
    """Candidates of one content that nobody reads in common, where that content is theirs alone."""
    counts_a, counts_b = collections.Counter(filter(None, a)), collections.Counter(filter(None, b))
    there = {key: j for j, key in enumerate(b) if key is not None and counts_b[key] == 1}
    for i, key in enumerate(a):
        if key is not None and counts_a[key] == 1 and key in there:
            votes.setdefault((i, there[key]), 0)

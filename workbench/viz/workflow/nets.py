"""Where the lines between steps run: beside the rows, in tracks. Twin of workbench/widgets/static/workflow_nets.js."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

SPAN = 6
"""A line over more rows than this is a badge at both ends, as in pictures of graphs."""
MOST_TRACKS = 6
TRACK = 8
"""The distance of two tracks in pixels."""


@dataclasses.dataclass(frozen=True)
class Net:
    """All that one row gives to others, on one track; track 0 is next to the rows."""

    source: int
    targets: tuple[int, ...]
    track: int


@dataclasses.dataclass(frozen=True)
class Nets:
    """``far`` are the pairs that are badges; ``tracks`` is how many tracks are in use."""

    nets: tuple[Net, ...]
    far: tuple[tuple[int, int], ...]
    tracks: int

    def rank(self, net: Net, target: int) -> int:
        """How many lines come to a row on tracks nearer to it: each has a height of its own."""
        return sum(target in other.targets and other.track < net.track for other in self.nets)


def nets(pairs: Iterable[tuple[int, int]]) -> Nets:
    """Lines between rows. Short ones get the nearest tracks, and no two overlap.

    A line comes to the upper half of a row and leaves from the lower: on one track it may begin where another ends.
    """
    near: dict[int, list[int]] = {}
    far: list[tuple[int, int]] = []
    for source, target in pairs:
        if abs(target - source) > SPAN:
            far.append((source, target))
        else:
            near.setdefault(source, []).append(target)
    taken: list[list[tuple[int, int]]] = []
    found: list[Net] = []
    ends = {source: (2 * source + 1, *(2 * target for target in near[source])) for source in near}
    for source in sorted(near, key=lambda row: (max(ends[row]) - min(ends[row]), row)):
        track = _track(taken, min(ends[source]), max(ends[source]))
        if track < 0:
            far += [(source, target) for target in near[source]]
        else:
            found.append(Net(source, tuple(near[source]), track))
    return Nets(tuple(found), tuple(sorted(far)), len(taken))


def _track(taken: list[list[tuple[int, int]]], low: int, high: int) -> int:
    """The nearest track that is free from one half of a row to another, now taken; -1 if there is none."""
    for track in range(MOST_TRACKS):
        if track == len(taken):
            taken.append([])
        if all(high < begin or end < low for begin, end in taken[track]):
            taken[track].append((low, high))
            return track
    return -1

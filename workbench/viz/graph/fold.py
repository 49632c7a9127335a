"""Which boxes are seen when some tree nodes are unfolded, and the edges between them. Twin: ``static/fold.js``."""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Collection

from workbench.viz.graph.scene import SAME, Scene
from workbench.viz.graph.tree import BODY, RUN

BOTH, FIRST, SECOND = 1, 2, 4  # one bit for each side an edge may be on


@dataclasses.dataclass(frozen=True)
class Folded:
    """``children`` of each frame by first leaf; frames stand before the frames in them. Edges: (from, to, sides)."""

    children: dict[int, list[int]]
    box_of: list[int]
    edges: list[tuple[int, int, int]]

    @property
    def boxes(self) -> list[int]:
        """All visible boxes that are no frames."""
        return [child for inside in self.children.values() for child in inside if child not in self.children]


def fold(scene: Scene, expanded: Collection[int]) -> Folded:
    """What is seen. The root is always unfolded; what lies in a folded box is not."""
    trees, parent = scene.trees, scene.parent.tolist()
    children: dict[int, list[int]] = {}
    shown = [0] * len(parent)
    for i, above in enumerate(parent):
        if above < 0 or above in children:
            shown[i] = i
            if i < trees and (above < 0 or i in expanded):
                children[i] = []
        else:
            shown[i] = shown[above]
    first = scene.first.tolist()
    for i, above in enumerate(parent):
        if above in children:
            children[above].append(i)
    for inside in children.values():
        inside.sort(key=first.__getitem__)
    box_of = shown[trees:]
    return Folded(children, box_of, _edges(scene, box_of))


def _edges(scene: Scene, box_of: list[int]) -> list[tuple[int, int, int]]:
    """Each pair of boxes once, in the order of the values."""
    sides: dict[tuple[int, int], int] = {}
    for source, target, side in zip(scene.source.tolist(), scene.target.tolist(), scene.side.tolist()):
        pair = box_of[source], box_of[target]
        if pair[0] != pair[1]:
            sides[pair] = sides.get(pair, 0) | 1 << side
    return [(a, b, bits) for (a, b), bits in sides.items()]


def unfolded_at_first(scene: Scene, most: int = 60) -> set[int]:
    """What a person should see first: the top, and inside what differs, until there are ``most`` boxes.

    Of layers that differ alike one is open, because a run's box holds only those behind its first layer.
    """
    inside = _inside(scene)
    chosen: set[int] = {0}
    boxes = len(inside[0])
    todo = [(0, int(scene.first[i]), i) for i in inside[0] if i < scene.trees]
    heapq.heapify(todo)
    anything = _differing(scene, 0) > 0
    while todo:
        depth, _, tree = heapq.heappop(todo)
        grown = boxes + len(inside[tree]) - 1
        if grown > most or scene.kind[tree] in (RUN, BODY) or (anything and not _differing(scene, tree)):
            continue
        boxes = grown
        chosen.add(tree)
        for i in _worth_opening(scene, inside[tree]):
            heapq.heappush(todo, (depth + 1, int(scene.first[i]), i))
    return chosen


def _inside(scene: Scene) -> list[list[int]]:
    inside: list[list[int]] = [[] for _ in range(scene.trees)]
    for i, above in enumerate(scene.parent.tolist()):
        if above >= 0:
            inside[above].append(i)
    return inside


def _differing(scene: Scene, tree: int) -> int:
    return int(scene.counts[4 * tree + SAME + 1 : 4 * tree + 4].sum())


def _worth_opening(scene: Scene, siblings: list[int]) -> list[int]:
    """Tree nodes among siblings; where a run stands, of the layers before it only its template, the last one."""
    trees = sorted((i for i in siblings if i < scene.trees), key=lambda i: int(scene.first[i]))
    runs = [n for n, i in enumerate(trees) if scene.kind[i] == RUN]
    if not runs:
        return trees
    longest = max(runs, key=lambda n: int(scene.counts[4 * trees[n] : 4 * trees[n] + 4].sum()))
    return trees[max(longest - 1, 0) : longest]

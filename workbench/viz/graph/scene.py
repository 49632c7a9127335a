"""A graph diff as arrays: the tree of boxes, the leaves, the edges, and how wide each box is.

Ids: tree nodes are ``0 .. T-1`` from the root down, each before its children; entry ``i`` of the diff is ``T + i``.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.analysis.markup import plural
from workbench.viz.graph import details
from workbench.viz.graph.tree import GROUP, RUN, SCOPE, Branch, grow, paths
from workbench.viz.graph.words import MOST_LETTERS, shorten, width

if TYPE_CHECKING:
    from workbench.analysis.diff.result import Entry, NodeInfo

Ints = np.ndarray[Any, np.dtype[np.int32]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]

SAME, CHANGED, REMOVED, ADDED = range(4)
STATUS = {"same": SAME, "changed": CHANGED, "removed": REMOVED, "added": ADDED}
SIGNS = ("", "~", "−", "+")
NARROWEST = 76
MOST_OF_GROUP = 48


@dataclasses.dataclass(frozen=True, eq=False)
class Scene:
    """Everything a picture needs. ``counts`` has four numbers per tree node: same, changed, removed, added."""

    labels: tuple[str, str]
    # one for each tree node
    kind: Bytes
    label: list[str]
    note: list[str]
    path: list[str]
    tree_scope: list[str]
    counts: Ints
    head: Ints
    # one for each tree node, then one for each leaf
    parent: Ints
    first: Ints
    width: Ints
    # one for each leaf
    status: Bytes
    op: list[str]
    mark: list[str]
    name: list[str]
    scope: list[str]
    group: Ints
    # one for each edge
    source: Ints
    target: Ints
    side: Bytes
    value: list[str]
    groups: list[str]
    rules: list[str]
    details: list[str]

    @property
    def trees(self) -> int:
        """How many tree nodes there are."""
        return len(self.kind)

    def signs(self, tree: int) -> list[str]:
        """What a box says about the nodes in it: ``['−3', '+1']``."""
        return signs(self.counts[4 * tree : 4 * tree + 4].tolist())


def signs(counts: list[int]) -> list[str]:
    """Removed, added, changed, where there are any."""
    return [f"{SIGNS[s]}{counts[s]:,}" for s in (REMOVED, ADDED, CHANGED) if counts[s]]


def scene(diff: Any) -> Scene:
    """Arrays of a ``GraphDiff``."""
    infos = [diff.info(entry) for entry in diff.entries]
    ways = paths([(info.graph, info.scope) for info in infos], diff.groups, diff.runs)
    branches = _numbered(grow(ways, diff.groups))
    status = np.array([STATUS[entry.status] for entry in diff.entries], np.uint8)
    trees, folded = _trees(branches, status)
    return Scene(
        labels=diff.labels,
        **trees,
        **_leaves(diff, infos, status),
        **_places(branches, infos, folded),
        **_edges(diff.edges),
        groups=[details.of_group(group) for group in diff.groups],
        rules=[group.rule for group in diff.groups],
    )


def _numbered(root: Branch) -> list[Branch]:
    """All branches, each before its children, in the order of their first leaves."""
    found, todo = [], [root]
    while todo:
        branch = todo.pop()
        found.append(branch)
        todo.extend(child for child in reversed(branch.children) if not isinstance(child, int))
    return found


def _trees(branches: list[Branch], status: Bytes) -> tuple[dict[str, Any], list[int]]:
    """The columns of tree nodes, and how wide the counts in each box are."""
    counts = np.zeros((len(branches), 4), np.int32)
    number = {id(branch): i for i, branch in enumerate(branches)}
    for i in reversed(range(len(branches))):
        for child in branches[i].children:
            if isinstance(child, int):
                counts[i, status[child]] += 1
            else:
                counts[i] += counts[number[id(child)]]
    labels = [shorten(branch.label, MOST_OF_GROUP if branch.kind == GROUP else MOST_LETTERS) for branch in branches]
    chips = [sum(width(sign, small=True) + 12 for sign in signs(row)) for row in counts.tolist()]
    remarks = [_note(branch, total) for branch, total in zip(branches, counts.sum(axis=1).tolist())]
    columns = {
        "kind": np.array([branch.kind for branch in branches], np.uint8),
        "label": labels,
        "note": remarks,
        "path": [branch.path for branch in branches],
        "tree_scope": [branch.scope for branch in branches],
        "counts": counts.reshape(-1),
        "head": np.array([_even(34 + width(text) + chip) for text, chip in zip(labels, chips)], np.int32),
    }
    notes = [width(note, small=True) for note in remarks]
    return columns, [50 + max(width(label), note + 8 + chip) for label, note, chip in zip(labels, notes, chips)]


def _note(branch: Branch, nodes: int) -> str:
    if branch.kind == RUN:
        layers = sum(1 for child in branch.children if not isinstance(child, int) and child.kind == SCOPE)
        return f"{plural(layers, 'layer')} · {plural(nodes, 'node')}"
    return plural(nodes, "node")


def _leaves(diff: Any, infos: list[NodeInfo], status: Bytes) -> dict[str, Any]:
    a, b = diff.a, diff.b

    def told(entry: Entry) -> str:
        before = None if entry.a is None else a[entry.a]
        return details.of_entry(entry, before, None if entry.b is None else b[entry.b])

    return {
        "status": status,
        "op": [shorten(info.op_type) for info in infos],
        "name": [info.name or next(filter(None, info.outputs), "") for info in infos],
        "scope": [info.scope for info in infos],
        "group": np.array([entry.group for entry in diff.entries], np.int32),
        "details": [told(entry) for entry in diff.entries],
    }


def _places(branches: list[Branch], infos: list[NodeInfo], folded: list[int]) -> dict[str, Any]:
    """Parents, first leaves, widths and second lines, for trees and leaves in one row of ids."""
    trees, leaves = len(branches), len(infos)
    parent = np.full(trees + leaves, -1, np.int32)
    first = np.zeros(trees + leaves, np.int32)
    first[trees:] = np.arange(leaves)
    number = {id(branch): i for i, branch in enumerate(branches)}
    marks = [""] * leaves
    for i in reversed(range(trees)):
        ids = [child + trees if isinstance(child, int) else number[id(child)] for child in branches[i].children]
        parent[ids] = i
        first[i] = first[ids].min() if ids else 0
        for child in branches[i].children:
            if isinstance(child, int):
                marks[child] = _mark(branches[i], infos[child])
    return {"parent": parent, "first": first, "mark": marks, "width": _widths(folded, infos, marks)}


def _mark(above: Branch, info: NodeInfo) -> str:
    """The second line of a leaf: the scope below its frame, or what it makes."""
    below = info.scope.removeprefix(above.scope).lstrip(".") if above.kind in (SCOPE, GROUP) else ""
    return shorten(below or next((text for text in info.types if text not in ("", "?")), "") or info.domain, 28)


def _widths(folded: list[int], infos: list[NodeInfo], marks: list[str]) -> Ints:
    seen: dict[tuple[str, str], int] = {}

    def leaf(op_type: str, mark: str) -> int:
        if (op_type, mark) not in seen:
            seen[op_type, mark] = 34 + max(width(shorten(op_type)), width(mark, small=True))
        return seen[op_type, mark]

    leaves = [leaf(info.op_type, mark) for info, mark in zip(infos, marks)]
    return np.array([_even(max(w, NARROWEST)) for w in itertools.chain(folded, leaves)], np.int32)


def _even(number: int) -> int:
    return number + number % 2


def _edges(edges: Any) -> dict[str, Any]:
    return {
        "source": np.array([edge.source for edge in edges], np.int32),
        "target": np.array([edge.target for edge in edges], np.int32),
        "side": np.array([edge.side for edge in edges], np.uint8),
        "value": [details.cut(edge.value) for edge in edges],
    }

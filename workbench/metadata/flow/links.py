"""Who gives what to whom: the lines between the steps of a workflow picture."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from workbench.metadata.flow.records import FlowNode, PortRow, runs

if TYPE_CHECKING:
    from workbench.metadata.flow.result import WorkflowMap


@dataclasses.dataclass(frozen=True)
class FlowLink:
    """``source`` and ``target`` are indices of nodes; ``values`` are what goes from one to the other, folded:
    ``s.scores``, ``n.k* ×100``.
    """

    source: int
    target: int
    values: tuple[str, ...]


def links(shown: WorkflowMap) -> tuple[FlowLink, ...]:
    """Each pair of nodes once, by target. State that a loop keeps is in its lanes, and no line inside of it."""
    found: list[FlowLink] = []
    for node in shown.nodes:
        given: dict[int, list[PortRow]] = {}
        for row in node.reads:
            if row.maker > 0 and row.maker != node.index and not is_state(shown, node, row):
                given.setdefault(row.maker, []).append(row)
        found += [FlowLink(maker, node.index, _names(rows)) for maker, rows in sorted(given.items())]
    return tuple(found)


def is_state(shown: WorkflowMap, node: FlowNode, row: PortRow) -> bool:
    """Whether a node reads a cell inside of the frame that keeps it."""
    return row.value in shown.cells and row.maker in around(shown.nodes, node)


def around(nodes: Sequence[FlowNode], node: FlowNode) -> Iterator[int]:
    """The frames around a node, from the inside."""
    while node.parent >= 0:
        node = nodes[node.parent]
        yield node.index


def names(nodes: Sequence[FlowNode]) -> tuple[str, ...]:
    """What nodes are called where only their names stand: by their titles; those that share one by their frame as well,
    and counted where that is not enough.
    """
    titles = [node.title for node in nodes]
    shared = {title for title, count in Counter(titles).items() if count > 1}
    found = [f"{titles[n.parent]}/{n.title}" if n.title in shared and n.parent >= 0 else n.title for n in nodes]
    counts, seen = Counter(found), Counter[str]()
    for index, name in enumerate(found):
        if counts[name] > 1:
            seen[name] += 1
            found[index] = f"{name} #{seen[name]}"
    return tuple(found)


def _names(rows: list[PortRow]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(run) for run in runs(PortRow("", row.value) for row in rows)))

"""``workflow_map``: a document to be drawn: nested steps, state in lanes, caches by layer, diagnostics in place."""

from __future__ import annotations

import dataclasses
from typing import Any

from workbench.metadata.context import WORKFLOW, Context
from workbench.metadata.diagnostic import Diagnostics
from workbench.metadata.dialects import reader_of
from workbench.metadata.flow.lanes import aliases, lanes_of
from workbench.metadata.flow.links import FlowLink
from workbench.metadata.flow.nodes import Nodes
from workbench.metadata.flow.places import Places
from workbench.metadata.flow.records import AliasRow, AliasTable, FlowNode, Lane, Mark, Pin, PortRow, Run, runs
from workbench.metadata.flow.result import WorkflowMap
from workbench.metadata.reading import load
from workbench.metadata.validation import check


def workflow_map(source: Any, *, dialect: str = "auto") -> WorkflowMap:
    """The steps, the state and the faults of a document, placed for a picture.

    A document that is wrong is mapped as far as it can be read: one that does not parse is a lone node with all that is
    wrong in it.

    Args:
        source: a path of a file or of a package's folder, the text itself, a mapping, or what ``describe`` returns.
        dialect: what the document is written in; ``auto`` is what it looks like.

    Raises:
        ArgumentError: a source of another type.
        UnknownNameError: no such dialect.
    """
    if isinstance(source, Context):
        context = source
    else:
        context = Context(reader_of(dialect)(load(source)))
    found = check(context)
    if context.workflow is None:
        return _without_workflow(context, found)
    nodes = Nodes(context, context.workflow)
    lanes = lanes_of(context.workflow)
    place = {cell: index for index, lane in enumerate(lanes) for cell in lane.cells}
    marked = tuple(dataclasses.replace(node, marks=_marks(nodes, node, place)) for node in nodes.done)
    return WorkflowMap(marked, lanes, aliases(context.workflow, lanes), Places(nodes, lanes).pins(found))


def _without_workflow(context: Context, found: Diagnostics) -> WorkflowMap:
    note = "the document does not parse" if context.parsed is None else "the document has no workflow"
    root = FlowNode(0, -1, 0, "workflow", "workflow", note, WORKFLOW)
    return WorkflowMap((root,), (), (), tuple(Pin(one, 0) for one in found))


def _marks(nodes: Nodes, node: FlowNode, place: dict[str, int]) -> tuple[Mark, ...]:
    """What a node does to state: the head of a loop starts cells, its end takes over their next values."""
    counts: dict[int, dict[str, int]] = {}

    def count(cell: str, what: str) -> None:
        if cell in place:
            kinds = counts.setdefault(place[cell], {})
            kinds[what] = kinds.get(what, 0) + 1

    for side, (port, _, path) in nodes.rows(node.index):
        if node.kind in ("loop", "carry"):
            count(port, "starts" if node.kind == "loop" else "carries")
        elif side == "read":
            value = nodes.read_at.get(path)
            if value is not None and value.producer in ("carry", "loop"):
                count(value.name, "reads")
        else:
            for cell in nodes.next_of.get(path, ()):
                count(cell, "makes")
    return tuple(Mark(lane, **kinds) for lane, kinds in sorted(counts.items()))


__all__ = [
    "AliasRow", "AliasTable", "FlowLink", "FlowNode", "Lane", "Mark", "Pin", "PortRow", "Run", "WorkflowMap", "runs",
    "workflow_map",
]  # fmt: skip

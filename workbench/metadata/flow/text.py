"""The text twin of the workflow picture: indented lines, cut where nobody would read on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from workbench.metadata.flow.records import FlowNode, PortRow, runs
from workbench.metadata.wording import cut

if TYPE_CHECKING:
    from workbench.metadata.flow.result import WorkflowMap

_MOST_LINES = 400
_MOST_VALUES = 6


def to_text(shown: WorkflowMap) -> str:
    """Steps, what goes from one to another, lanes, aliases and diagnostics; of very long documents the beginning."""
    lines = [line for part in (_steps(shown), _links(shown), _lanes(shown), _faults(shown)) for line in part]
    more = len(lines) - _MOST_LINES
    return "\n".join([*lines[:_MOST_LINES], *([f"... ({more} more lines)"] if more > 0 else [])])


def _steps(shown: WorkflowMap) -> Iterator[str]:
    for node in shown.nodes:
        faults = "".join(f" !{fault.code}" for fault in shown.diagnostics(node.index))
        note = f" ({cut(node.note)})" if node.note else ""
        yield f"{'  ' * node.depth}{cut(node.title)}{note}{faults}"
        if node.kind == "invoke":
            yield f"{'  ' * node.depth}  {values(node.reads)} -> {values(node.writes)}"
        if node.marks:
            yield f"{'  ' * node.depth}  state: {cut(shown.marks(node), 160)}"


def values(rows: tuple[PortRow, ...]) -> str:
    """The values of a node, folded and each once: ``tokens, k* ×100, v* ×100``."""
    return some(list(dict.fromkeys(str(run) for run in runs(rows)))) or "nothing"


def some(found: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    words = [cut(word, 40) for word in found[:_MOST_VALUES]]
    more = [f"{len(found) - _MOST_VALUES} more"] if len(found) > _MOST_VALUES else []
    return ", ".join([*words, *more])


def _links(shown: WorkflowMap) -> Iterator[str]:
    if shown.links:
        yield "data"
    for link in shown.links:
        source, target = (cut(shown.names[index]) for index in (link.source, link.target))
        yield f"  {source} -> {target}: {some(link.values)}"


def _lanes(shown: WorkflowMap) -> Iterator[str]:
    if shown.lanes:
        yield "state"
    for index, lane in enumerate(shown.lanes):
        faults = "".join(f" !{pin.diagnostic.code}" for pin in shown.pins if pin.lane == index)
        count = f" ×{len(lane.cells)}" if len(lane.cells) > 1 or lane.is_group else ""
        yield f"  {cut(lane.name)}{count}: {cut(lane.note, 120)}{faults}"
        for table in shown.aliases:
            if table.lane == index:
                yield f"    {cut(table.component)}: {table.note}"


def _faults(shown: WorkflowMap) -> Iterator[str]:
    if shown.pins:
        yield "diagnostics"
    for pin in shown.pins:
        yield f"  {pin.diagnostic}"


def describe(node: FlowNode) -> str:
    """One node in a sentence, for pictures and screen readers."""
    return f"{node.kind} {node.title}" + (f", {node.note}" if node.note else "")

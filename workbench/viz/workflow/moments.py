"""A run's trace as moments to step through: each record on the node that it belongs to, values as short texts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING

from workbench.metadata.diagnostic import Path
from workbench.metadata.flow import WorkflowMap
from workbench.metadata.flow.records import Pin

if TYPE_CHECKING:
    from workbench.interpret.trace import Traced, TraceStep

_PART: dict[str, Path] = {"test": ("continue_when",), "carry": ("carried",), "join": ("outputs",)}
"""The part of a loop or a branch that a kind of record is about."""


@dataclasses.dataclass(frozen=True)
class SeenValue:
    """A value at a moment. ``port`` is what the step calls it, ``type`` is ``int64[1, 3]``, ``numbers`` its elements
    where they are few, else their range.
    """

    port: str
    name: str
    type: str
    numbers: str = ""


@dataclasses.dataclass(frozen=True)
class Moment:
    """One record of a run. ``node`` is the index of its node, ``path`` what the run calls the step."""

    node: int
    path: str
    note: str = ""
    read: tuple[SeenValue, ...] = ()
    made: tuple[SeenValue, ...] = ()
    faults: tuple[str, ...] = ()


def moments(shown: WorkflowMap, trace: Iterable[TraceStep]) -> tuple[Moment, ...]:
    """The records of a trace, in order."""
    return tuple(_moment(shown, record) for record in trace)


def node_of(shown: WorkflowMap, place: Path, kind: str) -> int:
    """The index of the node that a record is about."""
    return shown.at((*place, *_PART.get(kind, ()))).index


def _moment(shown: WorkflowMap, record: TraceStep) -> Moment:
    node = node_of(shown, record.place, record.kind)
    note = _note(record, shown.nodes[node].title)
    faults = tuple(map(str, record.diagnostics))
    return Moment(node, record.path, note, _values(record.reads), _values(record.writes), faults)


def _note(record: TraceStep, title: str) -> str:
    """What the record says beyond the title of its node, and the round of the loops around it."""
    said = "" if record.kind == "carry" else record.title.removeprefix(title).removeprefix("loop").lstrip(": ")
    rounds = f"round {'.'.join(map(str, record.iteration))}" if record.iteration and "round" not in said else ""
    return ", ".join(word for word in (said, rounds) if word)


def _values(side: Iterable[Traced]) -> tuple[SeenValue, ...]:
    return tuple(SeenValue(one.port, one.value.name, one.value.type, one.value.elements) for one in side)


def pinned(shown: WorkflowMap, trace: Iterable[TraceStep]) -> WorkflowMap:
    """The map with what went wrong in a run on the nodes where it did."""
    found = tuple(Pin(one, node_of(shown, record.place, record.kind)) for record in trace for one in record.diagnostics)
    return dataclasses.replace(shown, pins=(*shown.pins, *found)) if found else shown

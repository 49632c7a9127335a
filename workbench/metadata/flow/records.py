"""What a workflow looks like as nested steps beside its state: plain records, in the order in which they are drawn."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Literal

from workbench.errors import Diagnostic
from workbench.metadata.diagnostic import Path, show_path

NodeKind = Literal[
    "workflow", "inputs", "invoke", "loop", "setup", "while", "carry", "branch", "case", "join", "sequence", "emit"
]  # fmt: skip
FRAMES = frozenset({"workflow", "loop", "setup", "branch", "case", "sequence"})
"""Kinds that have others inside them."""
_DIGITS = re.compile(r"\d+")
_FEW = 2  # this many alike are still shown one by one


@dataclasses.dataclass(frozen=True)
class PortRow:
    """One value at one node. ``port`` is what it is there, ``maker`` the index of the node that makes it, or -1."""

    port: str
    value: str
    contract: str = ""
    maker: int = -1


@dataclasses.dataclass(frozen=True)
class Run:
    """Rows that differ in their numbers alone: ``past.*.key``, 100 of them. A single row is a run of one."""

    port: str
    value: str
    rows: tuple[PortRow, ...]

    def __str__(self) -> str:
        """``k* ×100``; a value that all of its ports share is one value."""
        count = len({row.value for row in self.rows})
        return self.rows[0].value if count == 1 else f"{self.value} ×{count}"


@dataclasses.dataclass(frozen=True)
class Mark:
    """What a node does to the cells of a lane: how many it starts, reads, makes the next value of, and takes over."""

    lane: int
    starts: int = 0
    reads: int = 0
    makes: int = 0
    carries: int = 0

    @property
    def words(self) -> str:
        said = {"starts": self.starts, "reads": self.reads, "makes next of": self.makes, "carries": self.carries}
        return ", ".join(f"{word} {count}" for word, count in said.items() if count)


@dataclasses.dataclass(frozen=True)
class FlowNode:
    """One step, or a part of one: of a loop its setup, its test and what it carries, of a branch a case or its outputs.

    ``depth`` counts the frames around it, ``parent`` is the index of the nearest (-1 for the workflow itself).
    ``component`` and ``artifact`` are of an invocation; ``artifact`` is the ONNX file, empty for other components.
    """

    index: int
    parent: int
    depth: int
    kind: NodeKind
    title: str
    note: str
    path: Path
    reads: tuple[PortRow, ...] = ()
    writes: tuple[PortRow, ...] = ()
    marks: tuple[Mark, ...] = ()
    component: str = ""
    artifact: str = ""

    @property
    def is_frame(self) -> bool:
        return self.kind in FRAMES

    @property
    def where(self) -> str:
        return show_path(self.path)

    def __repr__(self) -> str:
        return f"FlowNode({self.kind} {self.title!r}, {len(self.reads)} in, {len(self.writes)} out)"


@dataclasses.dataclass(frozen=True)
class Lane:
    """State that is drawn as one line: a service group, a cell, or cells that differ in their numbers alone."""

    name: str
    cells: tuple[str, ...]
    note: str
    path: Path
    is_group: bool = False


@dataclasses.dataclass(frozen=True)
class AliasRow:
    """A cell of a group as ports of a component: past in, present out. ``layer`` is -1 where none is named."""

    layer: int
    role: str
    cell: str
    past: str
    present: str
    access: str
    contract: str


@dataclasses.dataclass(frozen=True)
class AliasTable:
    """The cells of one group as one component sees them, by layer."""

    lane: int
    group: str
    component: str
    rows: tuple[AliasRow, ...]

    @property
    def layers(self) -> int:
        """Number of distinct layers."""
        return len({row.layer for row in self.rows})

    @property
    def note(self) -> str:
        """``100 layers × key/value, float16[batch, 4, past, 64]``."""
        roles = "/".join(dict.fromkeys(row.role or "state" for row in self.rows))
        shapes = list(dict.fromkeys(row.contract for row in self.rows))
        shape = shapes[0] if len(shapes) == 1 else f"{len(shapes)} contracts"
        return f"{self.layers} {'layer' if self.layers == 1 else 'layers'} × {roles}, {shape}"


@dataclasses.dataclass(frozen=True)
class Pin:
    """A diagnostic, of the document or of a run, on the node that it belongs to; where it is about state, on a lane."""

    diagnostic: Diagnostic
    node: int
    lane: int = -1


def longest(path: Path, places: Mapping[Path, int]) -> int:
    """What the longest part of a path leads to that has a place; 0, the workflow itself, where none has."""
    parts = (path[:length] for length in range(len(path), 0, -1))
    return next((places[part] for part in parts if part in places), 0)


def pattern(name: str) -> str:
    """A name with ``*`` for each of its numbers."""
    return _DIGITS.sub("*", name)


def runs(rows: Iterable[PortRow]) -> tuple[Run, ...]:
    """Rows folded by the pattern of port and value, in the order in which the patterns come."""
    alike: dict[tuple[str, str], list[PortRow]] = {}
    for row in rows:
        alike.setdefault((pattern(row.port), pattern(row.value)), []).append(row)
    found: list[Run] = []
    for (port, value), members in alike.items():
        if len(members) > _FEW:
            found.append(Run(port, value, tuple(members)))
        else:
            found += [Run(row.port, row.value, (row,)) for row in members]
    return tuple(found)

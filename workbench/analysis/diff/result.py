"""The records of a graph diff: frozen, ordered, and everything a view or a table needs."""

from __future__ import annotations

import dataclasses
from typing import Literal

Status = Literal["same", "changed", "removed", "added"]
STATUSES: tuple[Status, ...] = ("same", "changed", "removed", "added")


@dataclasses.dataclass(frozen=True, slots=True)
class NodeInfo:
    """One node as it is read and shown. Texts are whole; views shorten them.

    ``graph`` says where it stands: empty for the main graph, ``function ep_workbench.CausalMask`` or
    ``NODE / then_branch`` for what lies inside something. ``scope`` is the dotted module path, whoever built the graph.
    ``types`` has one text per output: ``float32[B, S, 576]``.
    """

    name: str
    op_type: str
    domain: str = ""
    overload: str = ""
    scope: str = ""
    graph: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    rules: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()

    @property
    def op(self) -> str:
        """``MatMul``, ``com.microsoft.GroupQueryAttention``."""
        return f"{self.domain}.{self.op_type}" if self.domain else self.op_type


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """One difference. ``what`` is one of attribute, op_type, dtype, shape, input, output, opset, initializer, config.

    ``where`` names it (``epsilon``, ``input 2``); ``before`` and ``after`` are texts, empty for absent.
    """

    what: str
    where: str
    before: str
    after: str

    def __str__(self) -> str:
        what = self.where if self.where.startswith(self.what) else f"{self.what} {self.where}"
        return f"{what}: {self.before or 'none'} -> {self.after or 'none'}"


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One node of the union of both graphs: its index in ``a``, in ``b``, or in both."""

    a: int | None
    b: int | None
    status: Status
    changes: tuple[Change, ...] = ()
    group: int = -1
    """Index into ``groups``; -1 where no rule or replacement explains it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Edge:
    """A value that one entry makes and another reads. ``side``: 0 in both graphs, 1 in the first, 2 in the second."""

    source: int
    target: int
    value: str
    side: int


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """Nodes that one explained step took away and the nodes it put there.

    ``rule`` says what did it (``fuse/gqa fuse/pack_qkv``, ``fold``, a foreign rewriter's own rule name, or
    ``replaced`` for a region whose boundary values are all matched). ``before`` and ``after`` are indices of entries.
    """

    rule: str
    scope: str
    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class LayerRun:
    """Layers that differ in the same way: ``prefix`` ``model.layers``, ``indices`` (1, 2, ... 29), alike but for
    names."""

    prefix: str
    indices: tuple[int, ...]

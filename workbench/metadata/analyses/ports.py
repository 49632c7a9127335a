"""``check_ports``: what a workflow says of its graphs against the graphs themselves: names, dtype, rank, symbols."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args

from workbench.errors import ModelFileError, wrong_type
from workbench.metadata.analyses.graphs import GraphPort, GraphPorts, graph_ports
from workbench.metadata.analyses.opening import Source, opened, workflow_of
from workbench.metadata.analyses.tables import Table, contract_text
from workbench.metadata.context import WORKFLOW, Context
from workbench.metadata.diagnostic import Path, show_path
from workbench.metadata.document.ports import Component, OnnxImplementation
from workbench.metadata.document.state import IndexedScatter
from workbench.metadata.document.steps import InvokeStep
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.dtypes import same_dtype

Verdict = Literal["agrees", "note", "differs", "unread"]
_SIDES = ("inputs", "outputs")


@dataclasses.dataclass(frozen=True)
class PortRow:
    """A port as the document names it. ``path`` is where; ``detail`` says what differs, or is only worth knowing."""

    component: str
    side: str
    port: str
    verdict: Verdict
    detail: str
    declared: str
    found: str
    path: Path


@dataclasses.dataclass(frozen=True, repr=False)
class PortReport(Table):
    """A row for each port that the document names, in its order, and one for a graph that cannot be read."""

    entries: tuple[PortRow, ...]
    COLUMNS = ("verdict", "component", "side", "port", "declared", "found", "detail", "path")
    BRIEF = ("verdict", "component", "port", "declared", "found", "detail")

    @property
    def differing(self) -> tuple[PortRow, ...]:
        return tuple(entry for entry in self.entries if entry.verdict == "differs")

    @property
    def unread(self) -> tuple[PortRow, ...]:
        return tuple(entry for entry in self.entries if entry.verdict == "unread")

    @property
    def ok(self) -> bool:
        """Whether every graph was read and nothing differs."""
        return not self.differing and not self.unread

    def rows(self) -> list[dict[str, Any]]:
        return [{**dataclasses.asdict(entry), "path": show_path(entry.path)} for entry in self.entries]

    def __repr__(self) -> str:
        counts = {word: sum(e.verdict == word for e in self.entries) for word in get_args(Verdict)}
        return f"PortReport({', '.join(f'{number} {word}' for word, number in counts.items() if number) or 'empty'})"


def check_ports(
    source: Source, package_root: str | os.PathLike[str] | None = None, *, dialect: str = "auto"
) -> PortReport:
    """Hold a workflow against the ONNX graphs that it names, below ``package_root`` and nowhere else.

    Without ``package_root`` the source must be a package's folder, or a file in it.
    """
    context = opened(source, dialect)
    workflow, root = workflow_of(context), _root(source, package_root)
    rows: list[PortRow] = []
    for name, component in workflow.components.items():
        if isinstance(component.implementation, OnnxImplementation):
            rows += _Check(context, workflow, name, component).rows(root)
    return PortReport(tuple(rows))


def _root(source: Source, package_root: object) -> pathlib.Path:
    if package_root is not None and not isinstance(package_root, str | os.PathLike):
        raise wrong_type("package_root", package_root, "a path of a folder, or None")
    found = package_root if package_root is not None else source
    if not isinstance(found, str | os.PathLike) or (isinstance(found, str) and "\n" in found):
        raise ModelFileError("check_ports needs the package's folder: pass package_root.")
    path = pathlib.Path(found)
    folder = path if package_root is not None or path.is_dir() else path.parent
    if not folder.is_dir():
        raise ModelFileError(f"There is no folder {str(folder)!r}; package_root names the folder of the package.")
    return folder


@dataclasses.dataclass(frozen=True)
class _Named:
    """A port that the document speaks of without a contract: in a step, a role, a state group."""

    side: str
    port: str
    path: Path
    as_what: str


class _Check:
    def __init__(self, context: Context, workflow: Workflow, name: str, component: Component) -> None:
        self.context, self.workflow, self.name, self.component = context, workflow, name, component
        self.path: Path = (*WORKFLOW, "components", name)
        self.symbols: dict[str, tuple[int | str, str]] = {}

    def rows(self, root: pathlib.Path) -> Iterator[PortRow]:
        assert isinstance(self.component.implementation, OnnxImplementation)
        graph = graph_ports(root, self.component.implementation.artifact)
        if isinstance(graph, str):
            yield PortRow(self.name, "", "", "unread", graph, "", "", (*self.path, "implementation", "artifact"))
            return
        for side in _SIDES:
            declared: Mapping[str, TensorContract] = getattr(self.component.ports, side)
            for port, contract in declared.items():
                yield self._declared(side, port, contract, getattr(graph, side).get(port))
            yield from self._undeclared(side, declared, graph)
        yield from self._named(graph)

    def _row(self, side: str, port: str, verdict: Verdict, detail: str, path: Path, **texts: str) -> PortRow:
        return PortRow(self.name, side, port, verdict, detail, texts.get("declared", ""), texts.get("found", ""), path)

    def _declared(self, side: str, port: str, contract: TensorContract, found: GraphPort | None) -> PortRow:
        path, declared = (*self.path, "ports", side, port), contract_text(contract)
        if found is None:
            verdict: Verdict = "note" if contract.optional else "differs"
            return self._row(side, port, verdict, f"the graph has no such {side[:-1]}", path, declared=declared)
        wrong, notes = self._compare(contract, found, port)
        verdict = "differs" if wrong else "note" if notes else "agrees"
        return self._row(side, port, verdict, "; ".join(wrong or notes), path, declared=declared, found=found.text)

    def _compare(self, contract: TensorContract, found: GraphPort, port: str) -> tuple[list[str], list[str]]:
        """What contradicts the graph, and what is only said more or less exactly than there."""
        if found.dtype != "unknown" and not same_dtype(contract.dtype, found.dtype):
            return [f"dtype {contract.dtype}, the graph has {found.dtype}"], []
        if found.dims is None:
            return [], ["the graph does not say its rank"]
        if contract.rank != len(found.dims):
            return [f"rank {contract.rank}, the graph has {len(found.dims)}"], []
        wrong: list[str] = []
        notes: list[str] = []
        for axis, (ours, theirs) in enumerate(zip(contract.shape or (), found.dims)):
            self._dimension(axis, ours, theirs, port, wrong, notes)
        return wrong, notes

    def _dimension(
        self, axis: int, ours: int | str, theirs: int | str | None, port: str, wrong: list[str], notes: list[str]
    ) -> None:
        if isinstance(ours, int) and isinstance(theirs, int):
            if ours != theirs:
                wrong.append(f"axis {axis} is {ours}, the graph has {theirs}")
        elif isinstance(ours, int):
            notes.append(f"axis {axis} is {ours}, the graph leaves it free ({theirs or 'unnamed'})")
        elif theirs is not None:
            known, where = self.symbols.setdefault(ours, (theirs, port))
            if known != theirs:
                notes.append(f"{ours!r} is {theirs} here and {known} in {where}")
            elif isinstance(theirs, int):
                notes.append(f"axis {axis} is {ours!r}, the graph fixes it to {theirs}")

    def _undeclared(self, side: str, declared: Mapping[str, Any], graph: GraphPorts) -> Iterator[PortRow]:
        """Ports of the graph that a port map leaves out; a component that declares none takes those of the graph."""
        if not declared:
            return
        for port, found in getattr(graph, side).items():
            if port not in declared:
                needed = side == "inputs" and port in graph.required
                detail = "the graph needs this input, the port map does not declare it" if needed else "not declared"
                verdict: Verdict = "differs" if needed else "note"
                yield self._row(side, port, verdict, detail, (*self.path, "ports", side), found=found.text)

    def _named(self, graph: GraphPorts) -> Iterator[PortRow]:
        """Names that steps, roles and state groups give to ports which no port map declares."""
        seen = set()
        for named in self._names():
            if named.port in getattr(self.component.ports, named.side) or (named.side, named.port) in seen:
                continue
            found = getattr(graph, named.side).get(named.port)
            if found is None:
                seen.add((named.side, named.port))
                detail = f"{named.as_what} names it, the graph has no such {named.side[:-1]}"
                yield self._row(named.side, named.port, "differs", detail, named.path)
            elif self.component.infers_ports:
                seen.add((named.side, named.port))
                yield self._row(named.side, named.port, "agrees", "", named.path, found=found.text)

    def _names(self) -> Iterator[_Named]:
        for placed in self.context.invokes.get(self.name, ()):
            assert isinstance(placed.step, InvokeStep)
            for side in _SIDES:
                for port in getattr(placed.step, side):
                    yield _Named(side, port, (*placed.path, side, port), "a step")
        for port, role in self.component.ports.roles.items():
            side = "outputs" if role in ("logits", "hidden_states") else "inputs"
            yield _Named(side, port, (*self.path, "ports", "roles", port), f"the role {role}")
        for group, found in (self.workflow.serving.state_service.groups if self.workflow.serving else {}).items():
            path: Path = (*WORKFLOW, "serving", "state_service", "groups", group)
            for cell, alias in found.ports.get(self.name, {}).items():
                at = (*path, "ports", self.name, cell)
                yield _Named("inputs", alias.input, (*at, "input"), f"the state group {group}")
                if alias.output is not None:
                    yield _Named("outputs", alias.output, (*at, "output"), f"the state group {group}")
            if isinstance(found.update, IndexedScatter):
                for word in ("write_indices_ports", "kv_length_ports"):
                    port = getattr(found.update, word).get(self.name)
                    if port is not None:
                        yield _Named("inputs", port, (*path, "update", word, self.name), f"the state group {group}")

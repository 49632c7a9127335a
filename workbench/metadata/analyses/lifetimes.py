"""``state_lifetimes``: each state cell from its start to its release, with the group and the ports that hold it."""

from __future__ import annotations

import dataclasses
from typing import Any

from workbench.metadata.analyses.opening import Source, opened, workflow_of
from workbench.metadata.analyses.tables import Table, contract_text
from workbench.metadata.context import WORKFLOW, Context
from workbench.metadata.diagnostic import Path, show_path
from workbench.metadata.document.state import Bounded, Growing, IndexedScatter, StateCell, StateGroup
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.scope import Value


@dataclasses.dataclass(frozen=True)
class Carriage:
    """A loop that takes a cell along. ``maker`` makes the next value, ``readers`` read the cell after the loop."""

    loop: Path
    start: str
    next: str
    maker: str
    readers: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{show_path(self.loop).removeprefix(show_path(WORKFLOW) + '.')}: {self.start} -> {self.next}"


@dataclasses.dataclass(frozen=True)
class Alias:
    """A cell as the ports of a component: past in, present out. ``borrowed`` ports are only read."""

    component: str
    input: str
    output: str | None
    role: str | None
    layer: int | None
    borrowed: bool

    def __str__(self) -> str:
        layer = "" if self.layer is None else f" layer {self.layer}"
        ports = self.input if self.output is None else f"{self.input}->{self.output}"
        return f"{self.component}.{ports}{f' {self.role}' if self.role else ''}{layer}"


@dataclasses.dataclass(frozen=True)
class Lifetime:
    """One cell. ``ends`` says when its storage is given up: at a release boundary, or with its scope."""

    cell: str
    contract: str
    state_class: str
    scope: str
    management: str
    initializer: str
    recurrence: str
    carried: tuple[Carriage, ...]
    ends: str
    group: str | None
    kind: str | None
    update: str | None
    aliasing: str | None
    aliases: tuple[Alias, ...]
    path: Path

    @property
    def is_carried(self) -> bool:
        return bool(self.carried)


@dataclasses.dataclass(frozen=True, repr=False)
class StateLifetimes(Table):
    """The cells in the order of the document."""

    entries: tuple[Lifetime, ...]
    COLUMNS = (
        "cell", "contract", "class", "scope", "management", "initializer", "recurrence", "carried", "ends", "group",
        "kind", "update", "aliasing", "aliases",
    )  # fmt: skip
    BRIEF = ("cell", "contract", "recurrence", "carried", "ends", "group", "update", "aliasing", "aliases")

    def layers(self, group: str, component: str) -> dict[int, dict[str, str]]:
        """``{layer: {role: cell}}`` of a component's ports in a group. A port without a layer counts as layer 0."""
        found: dict[int, dict[str, str]] = {}
        for entry in self.entries:
            for alias in entry.aliases if entry.group == group else ():
                if alias.component == component:
                    found.setdefault(alias.layer or 0, {})[alias.role or "state"] = entry.cell
        return dict(sorted(found.items()))

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"cell": e.cell, "contract": e.contract, "class": e.state_class, "scope": e.scope,
             "management": e.management, "initializer": e.initializer, "recurrence": e.recurrence,
             "carried": "; ".join(map(str, e.carried)), "ends": e.ends, "group": e.group, "kind": e.kind,
             "update": e.update, "aliasing": e.aliasing, "aliases": "; ".join(map(str, e.aliases))}
            for e in self.entries
        ]  # fmt: skip

    def __repr__(self) -> str:
        held = sum(entry.group is not None for entry in self.entries)
        idle = sum(not entry.is_carried for entry in self.entries)
        return f"StateLifetimes({len(self.entries)} cells, {held} in groups, {idle} never carried)"


def state_lifetimes(source: Source, *, dialect: str = "auto") -> StateLifetimes:
    """The life of every state cell of a workflow."""
    context = opened(source, dialect)
    workflow = workflow_of(context)
    carried, aliases = _carriages(context), _aliases(workflow)
    groups = workflow.serving.state_service.groups if workflow.serving else {}
    return StateLifetimes(tuple(
        _lifetime(name, cell, groups.get(cell.service_group or ""), carried.get(name, []), aliases.get(name, []))
        for name, cell in workflow.state.items()
    ))  # fmt: skip


def _lifetime(
    name: str, cell: StateCell, group: StateGroup | None, carried: list[Carriage], aliases: list[Alias]
) -> Lifetime:
    update: str | None = None if group is None else group.update.kind if group.update else "append"
    if group is not None and isinstance(group.update, IndexedScatter):
        update = f"indexed_scatter at {group.update.write_indices} of {group.update.capacity}"
    boundary = cell.release_boundary or cell.scope
    return Lifetime(
        name, contract_text(cell.contract), cell.state_class, cell.scope, cell.management, cell.initializer,
        _recurrence(cell), tuple(carried), f"with the {boundary}", cell.service_group,
        group.kind if group else None, update, group.aliasing if group else None, tuple(aliases),
        (*WORKFLOW, "state", name),
    )  # fmt: skip


def _recurrence(cell: StateCell) -> str:
    found = cell.recurrence
    if isinstance(found, Growing):
        return f"grows on axis {found.axis} by {found.increment} up to {found.max}"
    return f"bounded on axis {found.axis} by {found.max}" if isinstance(found, Bounded) else "invariant"


def _carriages(context: Context) -> dict[str, list[Carriage]]:
    """The loops of each cell, with what makes its next value and who reads it afterwards."""
    found: dict[str, list[Carriage]] = {}
    after = {value.path: value for value in context.scope.values if value.producer == "loop"}
    made: dict[str, list[Value]] = {}
    for value in context.scope.values:
        made.setdefault(value.name, []).append(value)
    for path, loop in context.loops:
        for index, carry in enumerate(loop.carried):
            cell = context.workflow.state.get(carry.cell) if context.workflow else None
            start = carry.initial or (cell.initializer if cell else "?")
            result = after.get((*path, "carried", index, "cell"))
            readers = tuple(show_path(use.path) for use in result.uses) if result else ()
            makers = [v for v in made.get(carry.next, ()) if v.step[: len(path)] == path] or made.get(carry.next, [])
            found.setdefault(carry.cell, []).append(Carriage(path, start, carry.next, _maker(makers), readers))
    return found


def _maker(values: list[Value]) -> str:
    if not values:
        return "nothing"
    return f"{values[0].component}.{values[0].port}" if values[0].component else values[0].producer


def _aliases(workflow: Workflow) -> dict[str, list[Alias]]:
    found: dict[str, list[Alias]] = {}
    for group in (workflow.serving.state_service.groups if workflow.serving else {}).values():
        for component, ports in group.ports.items():
            for cell, port in ports.items():
                alias = Alias(component, port.input, port.output, port.role, port.layer, port.access == "read_only")
                found.setdefault(cell, []).append(alias)
    return found

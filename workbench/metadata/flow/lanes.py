"""State as lanes: which cells share one, what each group of a serving runtime holds, and which ports are whose."""

from __future__ import annotations

from workbench.metadata.analyses.decoder_io import aliases_of
from workbench.metadata.analyses.tables import contract_text
from workbench.metadata.context import WORKFLOW
from workbench.metadata.document.state import Bounded, Growing, StateCell, StateGroup
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.flow.records import AliasRow, AliasTable, Lane, pattern

_FEW = 3


def lanes_of(workflow: Workflow) -> tuple[Lane, ...]:
    """A lane for each group, and for each cell without one; many cells of one pattern share a lane."""
    members: dict[tuple[bool, str], list[str]] = {}
    alike: dict[str, list[str]] = {}
    for name, cell in workflow.state.items():
        if not cell.service_group:
            alike.setdefault(pattern(name), []).append(name)
    for name, cell in workflow.state.items():
        folded = pattern(name) if len(alike.get(pattern(name), ())) > _FEW else name
        members.setdefault((bool(cell.service_group), cell.service_group or folded), []).append(name)
    return tuple(_lane(workflow, name, is_group, cells) for (is_group, name), cells in members.items())


def _lane(workflow: Workflow, name: str, is_group: bool, cells: list[str]) -> Lane:
    if not is_group:
        cell = workflow.state[cells[0]]
        note = f"{contract_text(cell.contract)}, {_recurrence(cell)}"
        path = (*WORKFLOW, "state", cells[0])
        return Lane(name, tuple(cells), note, path)
    groups = workflow.serving.state_service.groups if workflow.serving else {}
    path = (*WORKFLOW, "serving", "state_service", "groups", name)
    return Lane(name, tuple(cells), _group_note(groups.get(name)), path, is_group=True)


def _group_note(group: StateGroup | None) -> str:
    if group is None:
        return "a group that is not declared"
    update = group.update.kind if group.update else "append"
    return f"{group.kind}, {group.layout}, {update}, aliasing {group.aliasing}"


def _recurrence(cell: StateCell) -> str:
    found = cell.recurrence
    if isinstance(found, Growing):
        return f"grows on axis {found.axis} by {found.increment} up to {found.max}"
    return f"bounded on axis {found.axis} by {found.max}" if isinstance(found, Bounded) else "invariant"


def aliases(workflow: Workflow, lanes: tuple[Lane, ...]) -> tuple[AliasTable, ...]:
    """Each group's ports by component, in the order of layers."""
    place = {lane.name: index for index, lane in enumerate(lanes) if lane.is_group}
    groups = workflow.serving.state_service.groups if workflow.serving else {}
    found = []
    for name, group in groups.items():
        for component in group.ports:
            rows = _rows(workflow, group, component)
            if rows:
                found.append(AliasTable(place.get(name, -1), name, component, rows))
    return tuple(found)


def _rows(workflow: Workflow, group: StateGroup, component: str) -> tuple[AliasRow, ...]:
    rows = []
    for name, alias in aliases_of(group, component):
        cell = workflow.state.get(name)
        layer = -1 if alias.layer is None else alias.layer
        contract = contract_text(cell.contract) if cell else "not declared"
        rows.append(AliasRow(layer, alias.role or "", name, alias.input, alias.output or "", alias.access, contract))
    return tuple(rows)

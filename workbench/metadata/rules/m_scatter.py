"""Group M: buffers of a fixed capacity that are written to at given places (indexed_scatter)."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.metadata.context import WORKFLOW, Context
from workbench.metadata.document.state import IndexedScatter
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.registry import Finding, workflow_rule
from workbench.metadata.rules.m_groups import (
    Counter,
    Group,
    cells_in,
    counter_rules,
    groups,
)
from workbench.metadata.scope.compare import is_scalar_count, shown
from workbench.metadata.wording import q


def _scatters(workflow: Workflow) -> Iterator[tuple[Group, IndexedScatter]]:
    return ((found, found.scatter) for found in groups(workflow) if found.scatter)


@workflow_rule(166, "A group that is scattered to has logical_lengths.")
def _lengths(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found, _ in _scatters(workflow):
        if found.group.logical_lengths is None:
            message = (
                f"The buffers of {q(found.name)} are always full size, and nothing says how much of them is valid."
            )
            yield Finding((*found.path, "logical_lengths"), message, "Name the cell with the lengths.")


# --- write_indices and capacity -------------------------------------------------------------------------
def _indices(workflow: Workflow) -> Iterator[Counter]:
    for found, update in _scatters(workflow):
        name, path = update.write_indices, (*found.path, "update", "write_indices")
        yield Counter(path, name, workflow.state.get(name), f"write_indices of the group {q(found.name)}")


counter_rules(167, "write_indices", "its buffer", _indices)


@workflow_rule(171, "capacity names an input of the workflow or a state cell.")
def _capacity(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found, update in _scatters(workflow):
        if update.capacity not in workflow.inputs and update.capacity not in workflow.state:
            message = f"The capacity of {q(found.name)} is {q(update.capacity)}, which is no input and no state cell."
            yield Finding((*found.path, "update", "capacity"), message, "Declare it, or name another.")


@workflow_rule(172, "capacity is one whole number, of shape [] or [1].")
def _capacity_type(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found, update in _scatters(workflow):
        declared = workflow.inputs.get(update.capacity) or workflow.state.get(update.capacity)
        if declared is not None and not is_scalar_count(declared.contract):
            message = f"The capacity of {q(found.name)} is {q(update.capacity)}, {shown(declared.contract)}."
            yield Finding((*found.path, "update", "capacity"), message, "Take int64 of shape [], or of shape [1].")


# --- control ports --------------------------------------------------------------------------------------
_FIELDS = ("write_indices_ports", "kv_length_ports")


@workflow_rule(173, "A control port is a declared input port of its component.")
def _port(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found, update in _scatters(workflow):
        for field in _FIELDS:
            for name, port in getattr(update, field).items():
                component = workflow.components.get(name)
                if component and not component.infers_ports and port not in component.ports.inputs:
                    message = f"{q(name)} has no input port {q(port)}, where {q(found.name)} wants one of {field}."
                    yield Finding((*found.path, "update", field, name), message, "Name a declared input port.")


@workflow_rule(174, "Control ports are those of declared components.")
def _component(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found, update in _scatters(workflow):
        for field in _FIELDS:
            for name in getattr(update, field):
                if name not in workflow.components:
                    message = f"{field} of {q(found.name)} has the component {q(name)}, which is not declared."
                    yield Finding((*found.path, "update", field, name), message, "Declare it, or remove it.")


def _takes(found: Group, component: str) -> bool:
    """Whether a component gets keys or values of the group."""
    return any(alias.role in ("key", "value") for alias in found.group.ports[component].values())


@workflow_rule(175, "Every component with a buffer that is scattered to gets the places.")
def _places(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found, update in _scatters(workflow):
        for name in found.group.ports:
            if name not in update.write_indices_ports and name in workflow.components:  # else rule 184
                message = f"{q(name)} has buffers of {q(found.name)} and no port for the places to write to."
                yield Finding((*found.path, "update", "write_indices_ports"), message, f"Add one for {q(name)}.")


@workflow_rule(176, "Every component with keys or values that are scattered to gets their valid length.")
def _length(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found, update in _scatters(workflow):
        for name in found.group.ports:
            if name not in update.kv_length_ports and name in workflow.components and _takes(found, name):
                message = f"{q(name)} has keys or values of {q(found.name)} and no port for their valid length."
                yield Finding((*found.path, "update", "kv_length_ports"), message, f"Add one for {q(name)}.")


@workflow_rule(177, "A buffer that is scattered to keeps its shape.")
def _buffers(context: Context, workflow: Workflow) -> Iterator[Finding]:
    cells = cells_in(workflow)
    for found, update in _scatters(workflow):
        counters = (update.write_indices, found.group.logical_lengths)
        for name, cell in cells.get(found.name, ()):
            if cell.varying_axis is not None and name not in counters:
                message = f"The cell {q(name)} varies, and its group {q(found.name)} has buffers of a fixed capacity."
                yield Finding((*WORKFLOW, "state", name, "recurrence"), message, "Make it invariant.")

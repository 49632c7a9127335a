"""Group L: state cells, how long they live, and the storage of the runtime that holds them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from workbench.metadata.context import WORKFLOW, Context
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.state import Growing, Replace, SessionLease, StateCell, StateGroup
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.registry import Finding, workflow_rule
from workbench.metadata.wording import q


@dataclasses.dataclass(frozen=True)
class _Cell:
    path: Path
    name: str
    cell: StateCell
    group: StateGroup | None  # None without one, or where it is undeclared

    @property
    def group_name(self) -> str:
        return self.cell.service_group or ""


def _cells(workflow: Workflow) -> Iterator[_Cell]:
    groups = workflow.serving.state_service.groups if workflow.serving else {}
    for name, cell in workflow.state.items():
        yield _Cell((*WORKFLOW, "state", name), name, cell, groups.get(cell.service_group or ""))


def _leases(workflow: Workflow) -> Iterator[tuple[Path, str, SessionLease]]:
    for found in _cells(workflow):
        if found.cell.session:
            yield (*found.path, "session"), found.name, found.cell.session


@workflow_rule(141, "Only a cell of a session has session settings.")
def _lease(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, _ in _leases(workflow):
        if workflow.state[name].scope == "invocation":
            message = f"The cell {q(name)} lives for one invocation and has session settings."
            yield Finding(path, message, "Remove session, or make the scope session.")


@workflow_rule(142, "A session's state is held by one request at a time.")
def _policy(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, lease in _leases(workflow):
        if lease.policy == "copy_on_write":
            message = f"The cell {q(name)} asks for copy_on_write, which no reader of this format has."
            yield Finding((*path, "policy"), message, "Write exclusive.")


@workflow_rule(143, "A session's state has no time to live.")
def _ttl(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, lease in _leases(workflow):
        if lease.ttl_seconds is not None:
            message = f"The cell {q(name)} has ttl_seconds, which no reader of this format keeps."
            yield Finding((*path, "ttl_seconds"), message, "Remove it.")


@workflow_rule(144, "A session's state has no optimistic versions.")
def _versions(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for path, name, lease in _leases(workflow):
        if lease.optimistic_metadata_version:
            message = f"The cell {q(name)} asks for optimistic versions, which no reader of this format has."
            yield Finding((*path, "optimistic_metadata_version"), message, "Remove it.")


@workflow_rule(145, "The axis that grows or is bounded is one of the cell's.")
def _axis(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found in _cells(workflow):
        axis, rank = found.cell.varying_axis, found.cell.contract.rank
        if axis is not None and axis >= rank:
            message = f"The cell {q(found.name)} varies on axis {axis}, but has rank {rank}."
            yield Finding((*found.path, "recurrence", "axis"), message, f"Write an axis below {rank}.")


# --- cells in the storage of the runtime ----------------------------------------------------------------
@workflow_rule(146, "The service group of a cell is declared.")
def _group(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found in _cells(workflow):
        if found.cell.service_group is not None and found.group is None:
            message = f"The cell {q(found.name)} lies in the group {q(found.group_name)}, which is not declared."
            yield Finding((*found.path, "service_group"), message, "Declare it in serving.state_service.groups.")


@workflow_rule(147, "The sequence axis of a group is an axis of each of its cells.")
def _sequence_axis(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found in _cells(workflow):
        axis, rank = found.group.sequence_axis if found.group else None, found.cell.contract.rank
        if axis is not None and axis >= rank:
            message = (
                f"The group {q(found.group_name)} has sequence axis {axis}; its cell {q(found.name)} has rank {rank}."
            )
            yield Finding((*found.path, "contract", "rank"), message, "Correct sequence_axis or the cell.")


@workflow_rule(148, "A cell varies on the sequence axis of its group.")
def _same_axis(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found in _cells(workflow):
        axis, rank = found.cell.varying_axis, found.cell.contract.rank
        wanted = found.group.sequence_axis if found.group else None
        # An axis that the cell does not have is the matter of rules 145 and 147.
        if axis is None or wanted is None or axis == wanted or max(axis, wanted) >= rank:
            continue
        message = f"The cell {q(found.name)} varies on axis {axis}, its group {q(found.group_name)} on axis {wanted}."
        yield Finding((*found.path, "recurrence", "axis"), message, "Make the two the same.")


@workflow_rule(149, "A cell that varies lies in a group with a sequence axis.")
def _no_axis(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found in _cells(workflow):
        group = found.group
        # In a group that is replaced as a whole no cell may vary: rule 165.
        if group is None or found.cell.varying_axis is None or isinstance(group.update, Replace):
            continue
        if group.sequence_axis is None:
            message = f"The cell {q(found.name)} varies, but its group {q(found.group_name)} has no sequence_axis."
            yield Finding((*found.path, "recurrence"), message, "Add sequence_axis to the group.")


@workflow_rule(150, "A cell in a group has an entry for each request.")
def _aligned(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found in _cells(workflow):
        if found.group and found.cell.contract.request_axis is None:
            kind = found.cell.contract.batch_layout.kind
            message = f"The cell {q(found.name)} lies in the group {q(found.group_name)}, but its layout is {kind}."
            yield Finding((*found.path, "contract", "batch_layout"), message, "Make it request_aligned.")


@workflow_rule(151, "A cell in a group grows by the accepted length.")
def _increment(context: Context, workflow: Workflow) -> Iterator[Finding]:
    accepted = workflow.serving.accepted_len if workflow.serving else None
    for found in _cells(workflow):
        grows = found.cell.recurrence
        if not found.group or accepted is None or not isinstance(grows, Growing) or grows.increment == accepted:
            continue
        message = f"The cell {q(found.name)} grows by {q(grows.increment)}; serving.accepted_len is {q(accepted)}."
        yield Finding((*found.path, "recurrence", "increment"), message, f"Write {q(accepted)}.")


@workflow_rule(152, "State of the runtime leaves the package only through a checkpoint.")
def _published(context: Context, workflow: Workflow) -> Iterator[Finding]:
    emitted = {step.value: (*path, "value") for path, step in reversed(context.emits)}
    for found in _cells(workflow):
        unknown = found.cell.service_group is not None and found.group is None  # rule 146's matter
        if found.cell.management == "workflow" or unknown or (found.group and found.group.checkpoint):
            continue
        place = emitted.get(found.name)
        if place is None and found.name in workflow.outputs:
            place = (*WORKFLOW, "outputs", found.name)
        if place is not None:
            message = f"The cell {q(found.name)} belongs to the {found.cell.management}, and here it is published."
            yield Finding(place, message, "Add a checkpoint to its group, or publish something else.")


@workflow_rule(153, "A cell in a group is managed by the runtime.")
def _management(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found in _cells(workflow):
        if found.group and found.cell.management != "runtime":
            message = f"The cell {q(found.name)} lies in a group of the runtime, but is managed by the "
            message += f"{found.cell.management}."
            yield Finding((*found.path, "management"), message, "Write `management: runtime`.")


@workflow_rule(154, "State that is not the workflow's says when it is released.")
def _release(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found in _cells(workflow):
        if found.cell.management != "workflow" and found.cell.release_boundary is None:
            message = f"The cell {q(found.name)} belongs to the {found.cell.management} and is never released."
            yield Finding((*found.path, "release_boundary"), message, "Write invocation, session or row.")


@workflow_rule(155, "State of the workflow has no release boundary.")
def _no_release(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found in _cells(workflow):
        # In a group the management is what is wrong: rule 153.
        if found.cell.management == "workflow" and found.cell.release_boundary and not found.group:
            message = f"The cell {q(found.name)} is the workflow's, which releases it by itself."
            yield Finding((*found.path, "release_boundary"), message, "Remove it, or let the runtime manage the cell.")


@workflow_rule(156, "A cell that is released with a session lives in one.")
def _session(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found in _cells(workflow):
        if found.cell.release_boundary == "session" and found.cell.scope != "session":
            message = f"The cell {q(found.name)} is released with the session, but lives for one invocation."
            yield Finding(
                (*found.path, "release_boundary"), message, "Make the scope session, or the boundary another."
            )

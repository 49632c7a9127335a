"""Group M: what a serving runtime follows, and its state groups in themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from workbench.metadata.context import WORKFLOW, Context
from workbench.metadata.document.state import Append, IndexedScatter, Replace
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.registry import Finding, workflow_rule
from workbench.metadata.rules.m_groups import (
    GROUPS,
    Counter,
    cells_in,
    counter_rules,
    groups,
)
from workbench.metadata.wording import q


@workflow_rule(157, "A state group says how its storage is laid out.")
def _layout(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found in groups(workflow):
        if not found.group.layout.strip():
            message = f"The group {q(found.name)} has a blank layout."
            yield Finding((*found.path, "layout"), message, "Write it, such as bnsh.")


# --- logical_lengths ------------------------------------------------------------------------------------
def _lengths(workflow: Workflow) -> Iterator[Counter]:
    for found in groups(workflow):
        name = found.group.logical_lengths
        if name is not None:
            path = (*found.path, "logical_lengths")
            yield Counter(path, name, workflow.state.get(name), f"logical_lengths of the group {q(found.name)}")


counter_rules(158, "logical_lengths", "what it measures", _lengths)


# --- how a group is written to --------------------------------------------------------------------------
@workflow_rule(162, "total_length names a state cell.")
def _total(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found in groups(workflow):
        name = found.group.total_length
        if name is not None and name not in workflow.state:
            message = f"total_length of the group {q(found.name)} is {q(name)}, which is no state cell."
            yield Finding((*found.path, "total_length"), message, "Declare the cell in state, or name another.")


@workflow_rule(163, "A group that is appended or scattered to has a sequence axis.")
def _axis(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found in groups(workflow):
        update = found.group.update
        if isinstance(update, Append | IndexedScatter) and found.group.sequence_axis is None:
            message = f"The group {q(found.name)} is updated by {update.kind} and has no sequence_axis."
            yield Finding((*found.path, "sequence_axis"), message, "Say which axis is written along.")


@workflow_rule(164, "A group that is replaced as a whole has no sequence axis.")
def _no_axis(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found in groups(workflow):
        if isinstance(found.group.update, Replace) and found.group.sequence_axis is not None:
            message = f"The group {q(found.name)} is replaced as a whole and has a sequence_axis."
            yield Finding((*found.path, "sequence_axis"), message, "Remove it, or write another update.")


@workflow_rule(165, "The cells of a group that is replaced as a whole keep their shape.")
def _replaced(context: Context, workflow: Workflow) -> Iterator[Finding]:
    cells = cells_in(workflow)
    for found in groups(workflow):
        for name, cell in cells.get(found.name, ()) if isinstance(found.group.update, Replace) else ():
            if cell.varying_axis is not None:
                message = f"The cell {q(name)} varies, and its group {q(found.name)} is replaced as a whole."
                yield Finding((*WORKFLOW, "state", name, "recurrence"), message, "Make it invariant.")


# --- what a group can do --------------------------------------------------------------------------------
@workflow_rule(182, "A group cascades to groups that are declared.")
def _cascade(context: Context, workflow: Workflow) -> Iterator[Finding]:
    declared = {found.name for found in groups(workflow)}
    for found in groups(workflow):
        for index, name in enumerate(found.group.capabilities.cascade):
            if name not in declared:
                message = f"The group {q(found.name)} cascades to {q(name)}, which is not declared."
                yield Finding((*found.path, "capabilities", "cascade", index), message, "Declare it, or remove it.")


@workflow_rule(183, "A group that can roll back does so by at least one position.")
def _rollback(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for found in groups(workflow):
        if found.group.capabilities.rollback_positions == 0:
            message = f"The group {q(found.name)} rolls back by 0 positions."
            yield Finding((*found.path, "capabilities", "rollback_positions"), message, "Remove it to say: not at all.")


# --- serving --------------------------------------------------------------------------------------------
@workflow_rule(190, "A workflow that is served has a state group.")
def _some(context: Context, workflow: Workflow) -> Iterator[Finding]:
    if workflow.serving and not workflow.serving.state_service.groups:
        yield Finding(GROUPS, "The workflow is served and has no state group.", "Add one, or remove serving.")


@workflow_rule(191, "A workflow with state groups says how many tokens were accepted.")
def _accepted(context: Context, workflow: Workflow) -> Iterator[Finding]:
    serving = workflow.serving
    if serving and serving.state_service.groups and serving.accepted_len is None:
        message = "The workflow has state groups, and nothing says by how much they grow."
        yield Finding((*WORKFLOW, "serving", "accepted_len"), message, "Name the value with the accepted lengths.")


@workflow_rule(192, "What serving follows is a value of the top level after all steps.", lowered=True)
def _defined(context: Context, workflow: Workflow) -> Iterable[Finding]:
    return context.scope.findings(192)


@workflow_rule(193, "serving.active and serving.done are bool, one or one per request.", lowered=True)
def _flags(context: Context, workflow: Workflow) -> Iterable[Finding]:
    return context.scope.findings(193)


@workflow_rule(194, "serving.accepted_len is a whole number, one or one per request.", lowered=True)
def _count(context: Context, workflow: Workflow) -> Iterable[Finding]:
    return context.scope.findings(194)


@workflow_rule(195, "What serving follows has its requests on axis 0, unless it is one for all.", lowered=True)
def _aligned(context: Context, workflow: Workflow) -> Iterable[Finding]:
    return context.scope.findings(195)

"""Group P: speculative decoding. Here: the two roles, and what a rejected proposal takes back."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from workbench.metadata.context import WORKFLOW, Context
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.ports import Component
from workbench.metadata.document.speculative import Speculative
from workbench.metadata.document.state import Effect, SafetyNone, SafetyRewindable, StateGroup
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.registry import Finding, rule, workflow_rule
from workbench.metadata.scope.region import regions
from workbench.metadata.wording import q

SPECULATIVE: Path = ("speculative",)


@rule(237, "semantic", "Speculative decoding is that of a workflow.")
def _workflow(context: Context) -> Iterator[Finding]:
    if context.document.speculative and not context.workflow:
        message = "The document speaks of a proposer and a target, and has no workflow with them."
        yield Finding(SPECULATIVE, message, "Add pipeline.workflow, or remove the section.")


@workflow_rule(238, "The proposer and the target are components of the workflow.")
def _roles(context: Context, workflow: Workflow) -> Iterator[Finding]:
    contract = context.document.speculative
    for field in ("proposer", "target") if contract else ():
        name = getattr(contract, field)
        if name not in workflow.components:
            message = f"The {field} is {q(name)}, which is no component of the workflow."
            yield Finding((*SPECULATIVE, field), message, "Name a declared component.")


# --- state that is rolled back --------------------------------------------------------------------------
def _groups(workflow: Workflow) -> dict[str, StateGroup]:
    return dict(workflow.serving.state_service.groups) if workflow.serving else {}


@dataclasses.dataclass(frozen=True)
class _Reached:
    """A group that rolling a cell back reaches: the cell's own, or one that a reached group cascades to."""

    name: str
    group: StateGroup | None
    path: Path  # where rollback_state names the cell
    cell: str


def _reached(contract: Speculative, workflow: Workflow) -> Iterator[_Reached]:
    """Each group once, with the first cell that leads to it."""
    groups, seen = _groups(workflow), set()
    waiting = []
    for index, name in enumerate(contract.rollback_state):
        cell = workflow.state.get(name)
        if cell is not None and cell.service_group is not None:
            waiting.append((cell.service_group, (*SPECULATIVE, "rollback_state", index), name))
    waiting.reverse()
    while waiting:
        name, path, cell_name = waiting.pop()
        if name not in seen:
            seen.add(name)
            group = groups.get(name)
            yield _Reached(name, group, path, cell_name)
            waiting.extend((other, path, cell_name) for other in reversed(group.capabilities.cascade if group else ()))


@workflow_rule(265, "rollback_state names cells of the workflow.")
def _cells(context: Context, workflow: Workflow) -> Iterator[Finding]:
    contract = context.document.speculative
    for index, name in enumerate(contract.rollback_state) if contract else ():
        if name not in workflow.state:
            message = f"The cell {q(name)} is to be rolled back, and is not declared."
            yield Finding((*SPECULATIVE, "rollback_state", index), message, "Declare it in state, or remove it.")


@workflow_rule(266, "What is rolled back lies in declared groups, those that they cascade to included.")
def _declared(context: Context, workflow: Workflow) -> Iterator[Finding]:
    contract = context.document.speculative
    for found in _reached(contract, workflow) if contract else ():
        if found.group is None:
            message = f"Rolling back {q(found.cell)} reaches the group {q(found.name)}, which is not declared."
            yield Finding(found.path, message, "Declare the group, or correct service_group or cascade.")


@workflow_rule(267, "Every group that is rolled back says how far it can be.")
def _able(context: Context, workflow: Workflow) -> Iterator[Finding]:
    contract = context.document.speculative
    for found in _reached(contract, workflow) if contract else ():
        if found.group is not None and found.group.capabilities.rollback_positions is None:
            message = f"Rolling back {q(found.cell)} reaches the group {q(found.name)}, which cannot be rolled back."
            yield Finding(found.path, message, "Add capabilities.rollback_positions to the group.")


@workflow_rule(268, "Every group that is rolled back can be so by the widest proposal.")
def _wide_enough(context: Context, workflow: Workflow) -> Iterator[Finding]:
    contract = context.document.speculative
    for found in _reached(contract, workflow) if contract else ():
        positions = found.group.capabilities.rollback_positions if found.group else None
        assert contract is not None
        if positions and positions < contract.max_proposal_width:  # 0 is rule 183's matter
            message = f"The group {q(found.name)} rolls back {positions} positions, and a proposal has up to "
            message += f"{contract.max_proposal_width}."
            path = (*WORKFLOW, "serving", "state_service", "groups", found.name, "capabilities", "rollback_positions")
            yield Finding(path, message, "Make the group roll back further, or the proposal shorter.")


# --- effects in the region ------------------------------------------------------------------------------
def _effects(context: Context, workflow: Workflow) -> Iterator[tuple[str, str, Effect]]:
    """Component, domain and effect of all that runs in a speculative region, each once."""
    seen: set[tuple[str, str]] = set()
    for region in regions(context):
        for name in region.components:
            component: Component | None = workflow.components.get(name)
            for domain in component.effects if component else ():
                effect = workflow.effects.get(domain)  # where there is none: rule 135
                if effect is not None and (name, domain) not in seen:
                    seen.add((name, domain))
                    yield name, domain, effect


def _safety(domain: str) -> Path:
    return (*WORKFLOW, "effects", domain, "speculation_safety")


@workflow_rule(269, "What runs in the speculative region can be undone.")
def _safe(context: Context, workflow: Workflow) -> Iterator[Finding]:
    told = set()
    for name, domain, effect in _effects(context, workflow):
        if isinstance(effect.speculation_safety, SafetyNone) and domain not in told:
            told.add(domain)
            message = f"{q(name)} runs in the speculative region and has the effect {q(domain)}, which nothing undoes."
            yield Finding(_safety(domain), message, "Make it clonable or rewindable, or move it out of the loop.")


@workflow_rule(270, "What is rewound in the speculative region can be by the widest proposal.")
def _deep_enough(context: Context, workflow: Workflow) -> Iterator[Finding]:
    contract, told = context.document.speculative, set()
    for name, domain, effect in _effects(context, workflow):
        safety = effect.speculation_safety
        assert contract is not None
        if not isinstance(safety, SafetyRewindable) or domain in told or not safety.max_depth:  # 0: rule 137
            continue
        if safety.max_depth < contract.max_proposal_width:
            told.add(domain)
            message = f"The effect {q(domain)} of {q(name)} rewinds {safety.max_depth} positions, and a proposal has "
            message += f"up to {contract.max_proposal_width}."
            yield Finding((*_safety(domain), "max_depth"), message, "Make it rewind further, or the proposal shorter.")

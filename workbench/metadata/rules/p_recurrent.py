"""Group P: state that a chained proposal carries from token to token."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from workbench.metadata.context import Context
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.ports import Component
from workbench.metadata.document.speculative import Chained, RecurrenceBinding, Speculative
from workbench.metadata.document.state import PortAlias
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.registry import Finding, workflow_rule
from workbench.metadata.wording import q


@dataclasses.dataclass(frozen=True)
class _Bound:
    """A recurrent binding and what it is about: None where that is not declared."""

    path: Path
    binding: RecurrenceBinding
    contract: Speculative
    proposer: Component | None
    aliases: tuple[PortAlias, ...]  # of the state, on the proposer

    @property
    def state(self) -> str:
        return self.binding.state

    def has(self, side: str, port: str) -> bool:
        component = self.proposer
        return component is None or component.infers_ports or port in getattr(component.ports, side)


def _bound(context: Context, workflow: Workflow) -> Iterator[_Bound]:
    contract = context.document.speculative
    chained = contract.proposal_execution if contract else None
    if contract is None or not isinstance(chained, Chained):
        return
    aliases = _aliases(workflow, contract.proposer)
    for index, binding in enumerate(chained.recurrent):
        path = ("speculative", "proposal_execution", "recurrent", index)
        component = workflow.components.get(contract.proposer)
        yield _Bound(path, binding, contract, component, tuple(aliases.get(binding.state, ())))


def _aliases(workflow: Workflow, component: str) -> dict[str, list[PortAlias]]:
    found: dict[str, list[PortAlias]] = {}
    for group in (workflow.serving.state_service.groups if workflow.serving else {}).values():
        for cell, alias in group.ports.get(component, {}).items():
            found.setdefault(cell, []).append(alias)
    return found


@workflow_rule(255, "A state is carried once.")
def _once(context: Context, workflow: Workflow) -> Iterator[Finding]:
    seen = set()
    for one in _bound(context, workflow):
        if one.state in seen:
            message = f"The state {q(one.state)} is carried a second time."
            yield Finding((*one.path, "state"), message, "Remove one of the two bindings.")
        seen.add(one.state)


@workflow_rule(256, "What is carried is a state cell of the workflow.")
def _cell(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _bound(context, workflow):
        if one.state not in workflow.state:
            message = f"The state {q(one.state)} is carried, and is not declared."
            yield Finding((*one.path, "state"), message, "Declare it in state, or carry another.")


def _declared(context: Context, workflow: Workflow) -> Iterator[_Bound]:
    return (one for one in _bound(context, workflow) if one.state in workflow.state)


@workflow_rule(257, "What is carried is rolled back.")
def _rolled_back(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _declared(context, workflow):
        if one.state not in one.contract.rollback_state:
            message = f"The state {q(one.state)} is carried, and a rejected proposal leaves it changed."
            yield Finding((*one.path, "state"), message, "Add it to speculative.rollback_state.")


@workflow_rule(258, "What is carried goes into an input port of the proposer.")
def _input(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _bound(context, workflow):
        if not one.has("inputs", one.binding.input):
            message = f"The proposer {q(one.contract.proposer)} has no input port {q(one.binding.input)}."
            yield Finding((*one.path, "input"), message, "Name a declared input port.")


@workflow_rule(259, "What is carried comes out of an output port of the proposer.")
def _output(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _bound(context, workflow):
        if not one.has("outputs", one.binding.output):
            message = f"The proposer {q(one.contract.proposer)} has no output port {q(one.binding.output)}."
            yield Finding((*one.path, "output"), message, "Name a declared output port.")


@workflow_rule(260, "What is carried has ports of the proposer in a state group.")
def _alias(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _declared(context, workflow):
        if not one.aliases and one.proposer is not None:
            message = f"The state {q(one.state)} is carried, and no state group gives it ports of "
            message += f"{q(one.contract.proposer)}."
            hint = f"Add it to the ports of {q(one.contract.proposer)} in its group."
            yield Finding((*one.path, "state"), message, hint)


def _resolved(context: Context, workflow: Workflow) -> Iterator[tuple[_Bound, PortAlias]]:
    for one in _declared(context, workflow):
        yield from ((one, alias) for alias in one.aliases)


@workflow_rule(261, "The proposer writes to what is carried.")
def _written(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one, alias in _resolved(context, workflow):
        if alias.access == "read_only":
            message = f"The state {q(one.state)} is carried, and {q(one.contract.proposer)} only reads it."
            yield Finding((*one.path, "state"), message, "Make its ports read_write.")


@workflow_rule(262, "What is carried goes into the port that its group names.")
def _same_input(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one, alias in _resolved(context, workflow):
        if one.has("inputs", one.binding.input) and alias.input != one.binding.input:
            message = (
                f"The state {q(one.state)} is carried into {q(one.binding.input)}; its group names {q(alias.input)}."
            )
            yield Finding((*one.path, "input"), message, "Make the two the same.")


@workflow_rule(263, "What is carried comes out of the port that its group names.")
def _same_output(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one, alias in _resolved(context, workflow):
        if alias.output is not None and one.has("outputs", one.binding.output) and alias.output != one.binding.output:
            message = f"The state {q(one.state)} is carried out of {q(one.binding.output)}; its group names "
            yield Finding((*one.path, "output"), f"{message}{q(alias.output)}.", "Make the two the same.")


@workflow_rule(264, "What is carried has an output port in its group.")
def _no_output(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one, alias in _resolved(context, workflow):
        if alias.output is None:
            message = f"The state {q(one.state)} is carried, and its group names no output port of "
            yield Finding(
                (*one.path, "output"), f"{message}{q(one.contract.proposer)}.", "Add the output to its ports."
            )

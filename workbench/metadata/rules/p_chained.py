"""Group P: a proposal whose tokens are made one after another (chained)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from workbench.metadata.context import Context
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.ports import Component, OnnxImplementation
from workbench.metadata.document.speculative import Chained, Speculative
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.registry import Finding, workflow_rule
from workbench.metadata.wording import q

EXECUTION: Path = ("speculative", "proposal_execution")
_HIDDEN: Path = ("speculative", "port_bindings", "target_hidden_context")


@dataclasses.dataclass(frozen=True)
class _Chain:
    contract: Speculative
    chained: Chained
    proposer: Component | None  # None where it is not declared: rule 238

    @property
    def hidden(self) -> str | None:
        """The port that a folded carry lands in."""
        return self.contract.port_bindings.get("target_hidden_context")


def _chain(context: Context, workflow: Workflow) -> Iterator[_Chain]:
    contract = context.document.speculative
    if contract and isinstance(contract.proposal_execution, Chained):
        yield _Chain(contract, contract.proposal_execution, workflow.components.get(contract.proposer))


def _folded(context: Context, workflow: Workflow) -> Iterator[_Chain]:
    return (one for one in _chain(context, workflow) if one.chained.folded_carry_output is not None)


def _has(component: Component | None, side: str, port: str) -> bool:
    """Whether a port exists as far as the document says: a graph may have any, where none is declared."""
    return component is None or component.infers_ports or port in getattr(component.ports, side)


@workflow_rule(239, "token_embedding_input is an input port of the proposer.")
def _embedding(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _chain(context, workflow):
        port = one.chained.token_embedding_input
        if not _has(one.proposer, "inputs", port):
            message = f"The proposer {q(one.contract.proposer)} has no input port {q(port)}."
            yield Finding((*EXECUTION, "token_embedding_input"), message, "Name a declared input port.")


@workflow_rule(240, "logits_output is an output port of the proposer.")
def _logits(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _chain(context, workflow):
        if not _has(one.proposer, "outputs", one.chained.logits_output):
            message = f"The proposer {q(one.contract.proposer)} has no output port {q(one.chained.logits_output)}."
            yield Finding((*EXECUTION, "logits_output"), message, "Name a declared output port.")


@workflow_rule(241, "A chained proposal carries something from token to token.")
def _something(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _chain(context, workflow):
        if not one.chained.recurrent and one.chained.folded_carry_output is None:
            message = "The proposal is chained, and nothing of one token reaches the next."
            yield Finding((*EXECUTION, "recurrent"), message, "Add a recurrent binding, or a folded_carry_output.")


# --- a carry that is folded into the embedding ----------------------------------------------------------
@workflow_rule(242, "folded_carry_output is an output port of the proposer.")
def _carry(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _folded(context, workflow):
        port = one.chained.folded_carry_output or ""
        if not _has(one.proposer, "outputs", port):
            message = f"The proposer {q(one.contract.proposer)} has no output port {q(port)}."
            yield Finding((*EXECUTION, "folded_carry_output"), message, "Name a declared output port.")


@workflow_rule(243, "A folded carry says through which port it comes back.")
def _lands(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _folded(context, workflow):
        if one.hidden is None:
            message = "The carry is folded, and port_bindings does not say where it comes back."
            yield Finding(_HIDDEN, message, f"Bind it to {q(one.chained.token_embedding_input)}.")


@workflow_rule(244, "A folded carry comes back through an input port of the proposer.")
def _lands_in(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _folded(context, workflow):
        if one.hidden is not None and not _has(one.proposer, "inputs", one.hidden):
            message = f"The proposer {q(one.contract.proposer)} has no input port {q(one.hidden)}."
            yield Finding(_HIDDEN, message, f"Bind it to {q(one.chained.token_embedding_input)}.")


@workflow_rule(245, "A folded carry comes back through the port of the embedding.")
def _lands_beside(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _folded(context, workflow):
        port = one.chained.token_embedding_input
        # A port that does not exist is the matter of 239 and 244.
        known = one.hidden is not None and _has(one.proposer, "inputs", one.hidden)
        if known and one.hidden != port and _has(one.proposer, "inputs", port):
            message = (
                f"The folded carry comes back through {q(one.hidden or '')}, and the embedding goes into {q(port)}."
            )
            yield Finding(_HIDDEN, message, f"Bind it to {q(port)}: the two are halves of one input.")


@workflow_rule(246, "A folded carry says what it starts from.")
def _seed(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _folded(context, workflow):
        if one.chained.folded_carry_seed is None:
            message = "The carry is folded, and nothing says what the first token gets."
            yield Finding((*EXECUTION, "folded_carry_seed"), message, "Name an output of the target.")


@workflow_rule(247, "A folded carry starts from an output of a declared component.")
def _seed_component(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _folded(context, workflow):
        seed = one.chained.folded_carry_seed
        if seed and seed.component not in workflow.components:
            message = f"The carry starts from {q(seed.component)}, which is no component of the workflow."
            yield Finding((*EXECUTION, "folded_carry_seed", "component"), message, "Name the target.")


@workflow_rule(248, "A folded carry starts from an output port of its component.")
def _seed_port(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _folded(context, workflow):
        seed = one.chained.folded_carry_seed
        # Of another component than the target the port says nothing more.
        if seed and seed.component == one.contract.target:
            if not _has(workflow.components.get(seed.component), "outputs", seed.output):
                message = f"{q(seed.component)} has no output port {q(seed.output)}."
                yield Finding((*EXECUTION, "folded_carry_seed", "output"), message, "Name a declared output port.")


@workflow_rule(249, "A folded carry starts from an output of the target.")
def _seed_target(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _folded(context, workflow):
        seed, target = one.chained.folded_carry_seed, one.contract.target
        if seed and seed.component in workflow.components and seed.component != target:
            message = f"The carry starts from {q(seed.component)}, and the target is {q(target)}."
            yield Finding((*EXECUTION, "folded_carry_seed", "component"), message, f"Write {q(target)}.")


@workflow_rule(250, "A folded carry says which table the embedding is taken from.")
def _table(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _folded(context, workflow):
        if one.chained.token_embedding is None:
            message = "The carry is folded, and nothing says where the other half, the embedding, is from."
            yield Finding((*EXECUTION, "token_embedding"), message, "Name the target and its table.")


@workflow_rule(251, "The table of the embedding is that of a declared component.")
def _table_component(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _folded(context, workflow):
        table = one.chained.token_embedding
        if table and table.component not in workflow.components:
            message = f"The table is that of {q(table.component)}, which is no component of the workflow."
            yield Finding((*EXECUTION, "token_embedding", "component"), message, "Name the target.")


@workflow_rule(252, "The table of the embedding is that of the target.")
def _table_target(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _folded(context, workflow):
        table, target = one.chained.token_embedding, one.contract.target
        if table and table.component in workflow.components and table.component != target:
            message = f"The table is that of {q(table.component)}, and the target is {q(target)}."
            yield Finding((*EXECUTION, "token_embedding", "component"), message, f"Write {q(target)}.")


@workflow_rule(253, "The table of the embedding lies in an ONNX file.")
def _table_file(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _folded(context, workflow):
        table = one.chained.token_embedding
        component = workflow.components.get(table.component) if table else None
        if table is None or component is None or table.component != one.contract.target:
            continue
        implementation = component.implementation
        if not isinstance(implementation, OnnxImplementation):
            message = f"{q(table.component)} is a {implementation.kind}, which has no initializer {q(table.table)}."
            yield Finding((*EXECUTION, "token_embedding", "component"), message, "Make it an ONNX component.")


@workflow_rule(254, "The table of the embedding has a name.")
def _table_name(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for one in _folded(context, workflow):
        if one.chained.token_embedding and not one.chained.token_embedding.table.strip():
            message = "The table of the embedding has a blank name."
            yield Finding((*EXECUTION, "token_embedding", "table"), message, "Name an initializer of the target.")

"""The proposer of speculative decoding: what its ports are for, and the steps that end in a proposal."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from workbench.describe.builder import WorkflowBuilder
from workbench.describe.contracts import contract
from workbench.describe.facts import refuse
from workbench.describe.kinds.parts import Ends, add_graph, application_inputs
from workbench.describe.kinds.states import sort_of
from workbench.describe.policy.tokens import best_tokens
from workbench.describe.state_ports import StatePort, state_ports
from workbench.describe.steps import AnyStep, invoke
from workbench.describe.subject import Subject
from workbench.errors import UnsupportedError
from workbench.metadata.document.speculative import Block, Chained, Execution, RecurrenceBinding

NAME, PROPOSER, EMBEDDING, PICK = "speculative", "proposer", "embedding", "proposed_tokens"


@dataclasses.dataclass(frozen=True, eq=False)
class Proposer:
    """Ports, states, the steps up to ``step.proposal``, and how a proposal comes about."""

    ends: Ends
    states: tuple[StatePort, ...]
    steps: tuple[AnyStep, ...]
    execution: Execution


def proposer_of(
    subject: Subject, builder: WorkflowBuilder, state: Mapping[str, str], bindings: dict[str, str]
) -> Proposer:
    """The component and its steps. One that gives whole numbers proposes a block, one that gives scores a chain."""
    facts = subject.graphs[PROPOSER]
    main = next((name for name in ("input_ids", "inputs_embeds") if name in facts.inputs), None)
    ends = Ends.of(subject, PROPOSER, main)
    _check(subject, ends, state, bindings)
    states = tuple(p for p in state_ports(ends.inputs, ends.outputs, state) if p.output is not None)
    add_graph(builder, subject, PROPOSER, ends)
    tokens = [name for name, made in ends.outputs.items() if made.dtype.startswith("int") and made.rank == 2]
    scores = [name for name in ends.outputs if name.endswith("logits")]
    if tokens:
        steps = [_propose(builder, ends, states, main, {tokens[0]: "step.proposal"})]
        return Proposer(ends, states, tuple(steps), Block(kind="block"))
    if not scores or main != "inputs_embeds":
        raise UnsupportedError(
            f"The proposer {subject.artifact(PROPOSER)!r} gives neither tokens ([B, W], whole numbers) nor logits from "
            f"inputs_embeds. It has the inputs {', '.join(ends.inputs)} and the outputs {', '.join(ends.outputs)}."
        )
    steps = [*_embed(subject, builder), _propose(builder, ends, states, main, {scores[0]: "step.proposal_logits"})]
    return Proposer(ends, states, (*steps, _pick(builder, subject, scores[0])), _chained(states, main, scores[0]))


def cell_name(port: StatePort) -> str:
    """The cell of a state of the proposer."""
    if port.role:
        return f"{PROPOSER}.cache.{port.layer or 0}.{port.role}"
    return f"{PROPOSER}_{sort_of(port)}" + ("" if port.layer is None else f".{port.layer}")


def _check(subject: Subject, ends: Ends, state: Mapping[str, str], bindings: Mapping[str, str]) -> None:
    have = f"It has the inputs {', '.join(ends.inputs)} and the outputs {', '.join(ends.outputs)}."
    for name, output in state.items():
        if name not in ends.inputs or output not in ends.outputs:
            raise refuse(NAME, "state", {name: output}, f"the proposer has no such pair. {have}")
    for part, port in bindings.items():
        if port not in ends.inputs:
            raise refuse(NAME, "port_bindings", {part: port}, f"the proposer has no such input. {have}")


def _propose(
    builder: WorkflowBuilder, ends: Ends, states: tuple[StatePort, ...], main: str | None, made: dict[str, str]
) -> AnyStep:
    """One call of the proposer; in a chain the runtime repeats it."""
    cells = {port.input: cell_name(port) for port in states}
    fed = {main: "token" if main == "input_ids" else "step.inputs_embeds"} if main else {}
    rest = application_inputs(
        builder, ends, [n for n in ends.inputs if n not in fed and n not in cells], f"{PROPOSER}."
    )
    nexts = {str(port.output): f"next.{cells[port.input]}" for port in states}
    outputs = {name: made.get(name) or nexts.get(name) or f"{PROPOSER}.{name}" for name in ends.outputs}
    return invoke(PROPOSER, {**fed, **rest, **cells}, outputs)


def _embed(subject: Subject, builder: WorkflowBuilder) -> list[AnyStep]:
    if EMBEDDING not in subject.graphs:
        raise UnsupportedError(
            f"The proposer {subject.artifact(PROPOSER)!r} reads inputs_embeds; add the graph that makes them of tokens "
            f"as the component {EMBEDDING!r}."
        )
    ends = Ends.of(subject, EMBEDDING)
    if len(ends.inputs) != 1 or len(ends.outputs) != 1:
        raise UnsupportedError(f"The graph {subject.artifact(EMBEDDING)!r} must have one input and one output.")
    add_graph(builder, subject, EMBEDDING, ends)
    return [invoke(EMBEDDING, {next(iter(ends.inputs)): "token"}, {next(iter(ends.outputs)): "step.inputs_embeds"})]


def _pick(builder: WorkflowBuilder, subject: Subject, scores: str) -> AnyStep:
    port = subject.graphs[PROPOSER].outputs[scores]
    classes = port.dims[-1] if port.dims and port.dims[-1] is not None else "classes"
    assert port.dtype is not None
    word = Ends.of(subject, PROPOSER).outputs[scores].dtype
    builder.policy(
        PICK, best_tokens(port.dtype, classes), inputs={"logits": contract(word, "batch", "sequence", classes)},
        outputs={"tokens": contract("int64", "batch", "sequence")},
    )  # fmt: skip
    return invoke(PICK, {"logits": "step.proposal_logits"}, {"tokens": "step.proposal"})


def _chained(states: tuple[StatePort, ...], main: str, scores: str) -> Chained:
    recurrent = tuple(
        RecurrenceBinding(state=cell_name(port), input=port.input, output=str(port.output)) for port in states
    )
    return Chained(kind="chained", token_embedding_input=main, logits_output=scores, recurrent=recurrent)


__all__ = ["Proposer", "cell_name", "proposer_of"]

"""Guess several tokens with a small graph, judge them with one run of the large one, keep those that it agrees with.

Both have read tokens that are not kept, so what they remember must be cut back: every state of both is rolled back by
up to the width of a proposal. A proposer gives tokens (``block``), or scores for one token after the other, each from
the vector of the one before (``chained``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pydantic

from workbench.describe.builder import WorkflowBuilder, promise
from workbench.describe.contracts import contract
from workbench.describe.facts import fact, read_facts, refuse
from workbench.describe.kinds.base import Kind
from workbench.describe.kinds.parts import (
    CONTROLS,
    LIMIT,
    Ends,
    add_controls,
    add_graph,
    add_token_cell,
    application_inputs,
    batch_of,
)
from workbench.describe.kinds.proposing import Proposer, proposer_of
from workbench.describe.kinds.states import add_cache, add_recurrent
from workbench.describe.policy.tokens import joined_tokens
from workbench.describe.state_ports import StatePort, state_ports
from workbench.describe.steps import emit, given, invoke, loop
from workbench.describe.subject import Subject
from workbench.metadata.document.speculative import Speculative, SpeculativeVocabulary
from workbench.metadata.document.state import GroupCapabilities

NAME, PROPOSER, TARGET, EMBEDDING, VERIFIER = "speculative", "proposer", "target", "embedding", "verifier"
_VOCABULARY = (
    'how the proposer\'s tokens are the target\'s: {"kind": "identical"}, {"kind": "subset", "proposer_vocab_size": N} '
    'or {"kind": "mapped", "artifact": "file of ids"}'
)


@dataclasses.dataclass(frozen=True)
class SpeculativeFacts:
    """``distribution_preserving`` promises that tokens are drawn as the target alone would draw them."""

    max_proposal_width: int = fact("how many tokens are guessed at most")
    vocabulary: Mapping[str, Any] = fact(_VOCABULARY, default_factory=lambda: {"kind": "identical"})
    distribution_preserving: bool = fact("whether the target's distribution is kept", default=False)
    state: Mapping[str, str] = fact(
        "outputs of the proposer by the input that they are the next of", default_factory=dict
    )
    port_bindings: Mapping[str, str] = fact("parts that the proposer's ports play", default_factory=dict)


def fits(subject: Subject) -> bool:
    """Graphs ``proposer`` and ``target``, and ``embedding`` where a proposer reads vectors."""
    return {PROPOSER, TARGET} <= set(subject.graphs) <= {PROPOSER, TARGET, EMBEDDING}


def write(subject: Subject, builder: WorkflowBuilder) -> None:
    """One loop: propose, join, judge, emit what was accepted; and what is rolled back."""
    said = read_facts(NAME, SpeculativeFacts, subject.facts)
    target = Ends.of(subject, TARGET, "input_ids" if "input_ids" in subject.graphs[TARGET].inputs else None)
    _check(subject, said, target)
    tokens = target.inputs["input_ids"]
    batch = batch_of(tokens)
    builder.request("request.input_ids", tokens, "prompt_tokens")
    add_controls(builder, batch)
    add_token_cell(builder, tokens, "request.input_ids")
    proposer = proposer_of(subject, builder, said.state, dict(said.port_bindings))
    add_graph(builder, subject, TARGET, target)
    builder.policy(
        "candidates", joined_tokens(), inputs=_pair(batch), outputs={"tokens": contract("int64", batch, "joined")}
    )
    carried = _states(builder, said, proposer, target)
    judge = _verifier(builder, said, proposer, target, batch)
    controls = {name: f"next.{name}" for name in CONTROLS}
    join = invoke("candidates", {"first": "token", "then": "step.proposal"}, {"tokens": "step.candidates"})
    builder.add(loop(
        [*proposer.steps, join, _target_step(builder, target, carried), judge,
         emit("step.accepted", "tokens", mode="append", when="active", valid_length="next.accepted_len")],
        continue_when="active", max_iterations=LIMIT,
        carried={"token": "next.token", **{cell: f"next.{cell}" for cell in carried.values()}, **controls},
    ))  # fmt: skip
    builder.section("speculative", _section(said, proposer, list(carried.values())))


def _check(subject: Subject, said: SpeculativeFacts, target: Ends) -> None:
    width = said.max_proposal_width
    if width < 1:
        raise refuse(NAME, "max_proposal_width", width, "a whole number from 1 is wanted.")
    if "input_ids" not in target.inputs or "logits" not in target.outputs:
        have = f"the inputs {', '.join(target.inputs)} and the outputs {', '.join(target.outputs)}"
        raise refuse(
            NAME, "components", subject.artifact(TARGET), f"a target reads input_ids and gives logits; it has {have}."
        )
    outputs = subject.graphs[PROPOSER].outputs
    scores = next((port for name, port in outputs.items() if name.endswith("logits")), None)
    theirs = subject.graphs[TARGET].outputs["logits"]
    sizes = (scores.size(-1) if scores else None, theirs.size(-1))
    if said.vocabulary.get("kind") == "identical" and None not in sizes and sizes[0] != sizes[1]:
        why = f"the proposer scores {sizes[0]} tokens, the target {sizes[1]}. Say {_VOCABULARY}."
        raise refuse(NAME, "vocabulary", dict(said.vocabulary), why)


def _pair(batch: int | str) -> dict[str, Any]:
    return {"first": contract("int64", batch, "sequence"), "then": contract("int64", batch, "proposal")}


# --- state --------------------------------------------------------------------------------------------------
def _states(builder: WorkflowBuilder, said: SpeculativeFacts, proposer: Proposer, target: Ends) -> dict[str, str]:
    """Cells of both graphs by ``component/port``. All groups of one component go back together."""
    found: dict[str, str] = {}
    for name, ends, ports in (
        (PROPOSER, proposer.ends, proposer.states),
        (TARGET, target, state_ports(target.inputs, target.outputs)),
    ):
        groups = _groups(builder, said, name, ends, ports)
        found |= {f"{name}/{port}": cell for port, cell in groups.items()}
    return found


def _groups(
    builder: WorkflowBuilder, said: SpeculativeFacts, name: str, ends: Ends, ports: tuple[StatePort, ...]
) -> dict[str, str]:
    before, can = set(builder.groups), GroupCapabilities(rollback_positions=said.max_proposal_width, snapshot=True)
    cached, other = [p for p in ports if p.role], [p for p in ports if not p.role]
    cells: dict[str, str] = {}
    if cached:
        # Keys and values of a common beginning are of no use without the state that belongs to them.
        reuse: dict[str, Any] = {"reuse": None} if other else {}
        cells = add_cache(
            builder, name, cached, ends.inputs, group=f"{name}_cache", prefix=f"{name}.", capabilities=can, **reuse
        )  # fmt: skip
    cells |= add_recurrent(builder, name, other, ends.inputs, prefix=f"{name}_", capabilities=can)
    made = [group for group in builder.groups if group not in before]
    for group in made if len(made) > 1 else ():
        cascade = tuple(one for one in made if one != group)
        builder.groups[group]["capabilities"] = can.model_copy(update={"cascade": cascade})
    return cells


# --- steps --------------------------------------------------------------------------------------------------
def _target_step(builder: WorkflowBuilder, target: Ends, carried: Mapping[str, str]) -> Any:
    cells = {key.removeprefix(f"{TARGET}/"): cell for key, cell in carried.items() if key.startswith(f"{TARGET}/")}
    rest = [name for name in target.inputs if name != "input_ids" and name not in cells]
    fed = application_inputs(builder, target, rest, f"{TARGET}.")
    nexts = {str(p.output): f"next.{cells[p.input]}" for p in state_ports(target.inputs, target.outputs)}
    outputs = {name: nexts.get(name, f"step.{name}") for name in target.outputs}
    return invoke(TARGET, {"input_ids": "step.candidates", **fed, **cells}, outputs)


def _verifier(
    builder: WorkflowBuilder, said: SpeculativeFacts, proposer: Proposer, target: Ends, batch: int | str
) -> Any:
    """The runtime's own judge: how many tokens are kept, which, and the one that the next step begins with."""
    made = {name: contract(dtype, batch) for name, (dtype, _) in CONTROLS.items()}
    kept = contract("int64", batch, said.max_proposal_width + 1)
    inputs = {"proposal": contract("int64", batch, "proposal"), "logits": target.outputs["logits"]}
    builder.output("tokens", kept, "tokens")
    builder.binding(
        VERIFIER, promise("onnx-genai.speculative-verifier", "1.0"), inputs,
        {"tokens": kept, "token": contract("int64", batch, 1), **made},
    )  # fmt: skip
    controls = {name: f"next.{name}" for name in CONTROLS}
    return invoke(
        VERIFIER, {"proposal": "step.proposal", "logits": "step.logits"},
        {"tokens": "step.accepted", "token": "next.token", **controls},
    )  # fmt: skip


def _section(said: SpeculativeFacts, proposer: Proposer, cells: list[str]) -> Speculative:
    try:
        vocabulary = pydantic.TypeAdapter(SpeculativeVocabulary).validate_python(dict(said.vocabulary))
    except pydantic.ValidationError:
        raise refuse(NAME, "vocabulary", dict(said.vocabulary), f"it is {_VOCABULARY}.") from None
    return Speculative(**given(
        proposer=PROPOSER, target=TARGET, proposal_execution=proposer.execution, port_bindings=dict(said.port_bindings),
        vocabulary=vocabulary, max_proposal_width=said.max_proposal_width,
        distribution_preserving=said.distribution_preserving, rollback_state=tuple(cells),
    ))  # fmt: skip


KIND = Kind(
    NAME, "text, guessed by one graph and judged by another", fits, write,
    components={PROPOSER: "from tokens, or their vectors, to a proposal", TARGET: "from tokens to logits"},
    optional={EMBEDDING: "from tokens to the vectors that the proposer reads"}, facts=SpeculativeFacts,
)  # fmt: skip

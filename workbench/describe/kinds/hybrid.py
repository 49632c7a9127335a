"""A decoder that mixes attention with layers of another memory: keys and values grow, the other state is replaced.

A short convolution keeps its last columns, a linear attention its accumulator. Neither has an axis of tokens: a step
gives a whole new one of the same size, so nothing of it can be cut off or shared by a common beginning.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from workbench.analysis.graph_facts import Port
from workbench.describe.builder import WorkflowBuilder
from workbench.describe.contracts import contract_of
from workbench.describe.facts import fact, lacks, read_facts, refuse
from workbench.describe.kinds import decoder
from workbench.describe.kinds.base import Kind
from workbench.describe.kinds.parts import EOS, add_text_end
from workbench.describe.kinds.states import add_recurrent, sort_of
from workbench.describe.sections import add_model, add_tokenizer
from workbench.describe.state_ports import StatePort, state_ports
from workbench.describe.subject import Subject
from workbench.errors import UnsupportedError

NAME = "hybrid"


@dataclasses.dataclass(frozen=True)
class HybridFacts:
    """``state`` maps an input to the output that is its next one, where their names do not say so.

    ``eos_token_id`` is needed where the package has no configuration to say it.
    """

    state: Mapping[str, str] = fact("outputs by the input that they are the next of", default_factory=dict)
    eos_token_id: int | Sequence[int] | None = fact(EOS, default=None)


def recurrent_ports(subject: Subject) -> tuple[StatePort, ...]:
    """States of the graph that are no keys and values of attention."""
    facts, named = subject.graphs["model"], subject.facts.get("state", {})
    cached = {pair.past.name for pair in subject.cache()}
    left = [name for name in facts.inputs if name not in cached and name not in decoder.ROLES]
    given = {name: output for name, output in named.items() if name in left} if isinstance(named, Mapping) else {}
    return state_ports(left, facts.outputs, given)


def fits(subject: Subject) -> bool:
    """One graph from tokens to logits with a state that is not a key/value cache, and nothing else to be fed."""
    if tuple(subject.graphs) != ("model",):
        return False
    facts, states = subject.graphs["model"], recurrent_ports(subject)
    known = {*decoder.ROLES, *(pair.past.name for pair in subject.cache()), *(port.input for port in states)}
    return bool(states) and "input_ids" in facts.inputs and "logits" in facts.outputs and set(facts.inputs) <= known


def write(subject: Subject, builder: WorkflowBuilder) -> None:
    """The decoder's loop with more to carry."""
    _check(subject)
    decoder.check_prompt(subject)
    _text(subject, builder)
    feeds = decoder.add_inputs(subject, builder)
    decoder.add_components(subject, builder)
    decoder.add_cache(subject, builder, reusable=False)  # of no use without the state that belongs to them
    inputs, states = subject.graphs["model"].inputs, recurrent_ports(subject)
    cells = {pair.past.name: decoder.cell_of(pair) for pair in subject.cache()}
    outputs = {pair.present.name: f"next.{decoder.cell_of(pair)}" for pair in subject.cache()}
    made = {port.input: contract_of(inputs[port.input]) for port in states}
    cells |= add_recurrent(builder, decoder.COMPONENT, states, made)
    outputs |= {str(port.output): f"next.{cells[port.input]}" for port in states}
    decoder.add_loop(builder, feeds | cells, outputs, cells.values())
    sorts = list(dict.fromkeys(map(sort_of, states)))
    builder.notes.append(f"{' and '.join(sorts)}: replaced as a whole by every step, so it cannot be cut back.")


def _text(subject: Subject, builder: WorkflowBuilder) -> None:
    """Sizes and the end of a text: from the configuration, or from what was said."""
    if subject.config is not None:
        add_model(subject, builder)
        add_tokenizer(subject, builder)
        return
    said = read_facts(NAME, HybridFacts, subject.facts)
    if said.eos_token_id is None:
        raise lacks(NAME, "eos_token_id", EOS, subject.facts)
    add_text_end(subject, builder, NAME, contract_of(subject.graphs["model"].outputs["logits"]), said.eos_token_id)


def _check(subject: Subject) -> None:
    facts, named = subject.graphs["model"], subject.facts.get("state", {})
    for name, output in named.items():
        if name not in facts.inputs or output not in facts.outputs:
            have = f"inputs {', '.join(facts.inputs)}; outputs {', '.join(facts.outputs)}"
            raise refuse(NAME, "state", {name: output}, f"the graph has no such pair. It has the {have}.")
    leads: dict[str | None, str] = {pair.present.name: pair.past.name for pair in subject.cache()}
    for port in recurrent_ports(subject):
        if port.output in leads:
            raise UnsupportedError(
                f"The inputs {leads[port.output]!r} and {port.input!r} both lead to the output {port.output!r}, so "
                "nobody knows which one it is the next of. Say it: facts={'state': {input: output}}, or name each pair "
                "alike."
            )
        leads[port.output] = port.input
        _check_size(port, facts.inputs[port.input], facts.outputs[port.output or ""])


def _check_size(port: StatePort, before: Port, after: Port) -> None:
    """A recurrent state is as large after a step as before it."""
    sizes = [(old, new) for old, new in zip(before.dims, after.dims, strict=False) if isinstance(old, int)]
    other = any(isinstance(new, int) and old != new for old, new in sizes)
    ranks = {len(one.dims) for one in (before, after) if one.dims}
    if other or len(ranks) > 1 or (port.role is not None and ranks == {4} and before.size(2) is None):
        raise UnsupportedError(
            f"The state {port.input!r} is {list(before.dims)} and becomes {port.output!r} {list(after.dims)}, and a "
            "recurrent state is replaced by one of its size. Keys and values that grow are called "
            "past_key_values.N.key, past_key_values.N.value, present.N.key and present.N.value. Export the graph with "
            "these names, or import its genai_config.json, which says other ones."
        )


KIND = Kind(
    NAME, "text generation with a recurrent state beside attention, or alone", fits, write,
    components={"model": "the decoder, from tokens to logits"}, facts=HybridFacts,
)  # fmt: skip

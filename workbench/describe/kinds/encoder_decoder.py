"""An encoder that runs once, and a decoder that looks at what it gave in every step and never changes it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from workbench.analysis.graph_facts import Port
from workbench.describe.builder import WorkflowBuilder
from workbench.describe.contracts import contract
from workbench.describe.facts import fact, lacks, read_facts, refuse
from workbench.describe.kinds.base import Kind
from workbench.describe.kinds.parts import (
    DECODES,
    EOS,
    Ends,
    add_controls,
    add_graph,
    add_policy,
    add_text_end,
    add_token_cell,
    application_inputs,
    batch_of,
    ids_of,
    mask_inputs,
    text_loop,
)
from workbench.describe.kinds.states import add_cache
from workbench.describe.policy.tokens import repeated_tokens
from workbench.describe.state_ports import StatePort, state_ports
from workbench.describe.steps import given, invoke
from workbench.describe.subject import Subject
from workbench.metadata.document.tensor import TensorContract

NAME, ENCODER, DECODER = "encoder-decoder", "encoder", "decoder"
_START = "ids of the tokens that every answer begins with (decoder_start_token_id, forced tokens after it)"
_FROM = "outputs of the encoder by the input of the decoder that takes them"
_HIDDEN = ("encoder_hidden_states", "encoder_outputs", "last_hidden_state", "hidden_states")


@dataclasses.dataclass(frozen=True)
class EncoderDecoderFacts:
    """``decoder_start`` is a token id, or several. ``from_encoder`` is needed where names do not tell."""

    decoder_start: int | Sequence[int] = fact(_START)
    eos_token_id: int | Sequence[int] = fact(EOS)
    from_encoder: Mapping[str, str] = fact(_FROM, default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Parts:
    """What is what among the ports of the decoder; ``crossing`` maps inputs to outputs of the encoder."""

    tokens: str
    states: tuple[StatePort, ...]
    crossing: dict[str, str]
    fed: list[str]


def fits(subject: Subject) -> bool:
    """Two graphs, ``encoder`` and ``decoder``."""
    return set(subject.graphs) == {ENCODER, DECODER}


def write(subject: Subject, builder: WorkflowBuilder) -> None:
    """The encoder, then the decoder's loop; what comes from the encoder is only read.

    Every step is in the document where small graphs can make all that the decoder takes; else whoever runs it does.
    """
    from workbench.describe.kinds import encoder_decoder_spelled as spelled  # which is made of the parts below

    said = read_facts(NAME, EncoderDecoderFacts, subject.facts)
    parts = parts_of(subject, said)
    if not spelled.unmade(subject, parts):
        spelled.spell(subject, builder)
        return
    encoder, decoder = Ends.of(subject, ENCODER), Ends.of(subject, DECODER, parts.tokens)
    tokens = decoder.inputs[parts.tokens]
    _add_components(subject, builder, encoder, decoder)
    feeds, masks = feed_encoder(builder, encoder)
    first = first_tokens(subject, builder, feeds, said.decoder_start, tokens)
    add_controls(builder, batch_of(tokens))
    add_policy(builder, decoder.outputs["logits"], tokens, batch_of(tokens))
    add_text_end(subject, builder, NAME, decoder.outputs["logits"], said.eos_token_id)
    add_token_cell(builder, tokens, first)
    builder.add(invoke(ENCODER, feeds, {name: f"encoder.{name}" for name in encoder.outputs}))
    cells, borrowed = _add_state(builder, parts, decoder)
    shared = shared_masks(parts, masks)
    rest = application_inputs(builder, decoder, [port for port in parts.fed if port not in shared], "decoder.")
    outputs = {name: f"step.{name}" for name in decoder.outputs}
    step = invoke(DECODER, {parts.tokens: "token", **cells, **borrowed, **shared, **rest}, outputs)
    own = {cells[port.input]: outputs[str(port.output)] for port in parts.states if port.input in cells}
    builder.add(text_loop([step], {**own, **{cell: cell for cell in borrowed.values()}}))


def first_tokens(
    subject: Subject,
    builder: WorkflowBuilder,
    feeds: Mapping[str, str],
    said: int | Sequence[int],
    tokens: TensorContract,
) -> str:
    """What the decoder reads first: one token as a constant, several by a graph that repeats them for every row."""
    ids = ids_of(said)
    if not ids or min(ids) < 0:
        raise refuse(NAME, "decoder_start", said, "a token id, or several of them, is wanted.")
    made = contract("int64", batch_of(tokens), len(ids))
    if len(ids) == 1:
        return builder.literal("package.decoder_start", made, ids[0])
    port, value = next(iter(feeds.items()))
    like = subject.graphs[ENCODER].inputs[port]
    assert like.dtype is not None
    inputs = {"like": builder.inputs[value].contract}
    builder.policy(
        "decoder_start", repeated_tokens(ids, like.dtype, len(like.dims)), inputs=inputs, outputs={"tokens": made}
    )
    builder.add(invoke("decoder_start", {"like": value}, {"tokens": "decoder.start"}))
    return "decoder.start"


# --- what is what -------------------------------------------------------------------------------------------
def parts_of(subject: Subject, said: EncoderDecoderFacts) -> Parts:
    """What is what among the ports of the decoder.

    Raises:
        ConfigError: it reads no tokens or gives no logits, or names do not tell what it takes from the encoder.
    """
    facts, given_by = subject.graphs[DECODER], subject.graphs[ENCODER].outputs
    tokens = next((name for name in ("input_ids", "decoder_input_ids") if name in facts.inputs), None)
    if tokens is None or "logits" not in facts.outputs:
        raise refuse(
            NAME, "components", subject.artifact(DECODER),
            "the decoder must take input_ids or decoder_input_ids and give logits. "
            f"It has the inputs {', '.join(facts.inputs)} and the outputs {', '.join(facts.outputs)}.",
        )  # fmt: skip
    states = tuple(port for port in state_ports(facts.inputs, facts.outputs) if port.input not in said.from_encoder)
    own = tuple(port for port in states if not port.cross)
    left = [name for name in facts.inputs if name != tokens and name not in {port.input for port in own}]
    crossing = {name: output for name in left if (output := _from(name, said.from_encoder, given_by)) is not None}
    lost = [port.input for port in states if port.cross and port.input not in crossing]
    if lost or not crossing:
        raise lacks(
            NAME, "from_encoder", f"{_FROM} ({', '.join(lost) or 'the decoder reads nothing of it'})", subject.facts
        )
    return Parts(tokens, own, crossing, [name for name in left if name not in crossing])


def _from(name: str, said: Mapping[str, str], outputs: Mapping[str, Port]) -> str | None:
    """The encoder's output that a decoder's input takes."""
    if name in said:
        if said[name] not in outputs:
            raise refuse(NAME, "from_encoder", said[name], f"the encoder gives {', '.join(outputs)}.")
        return said[name]
    pair = state_ports([name], outputs)
    if pair and pair[0].output is not None:
        return pair[0].output
    if name in outputs:
        return name
    return next((word for word in _HIDDEN if word in outputs), None) if name in _HIDDEN else None


def shared_masks(parts: Parts, masks: Mapping[str, str]) -> dict[str, str]:
    """A decoder that is given the encoder's mask masks by the same one."""
    named = {port: port.removeprefix("encoder_") for port in parts.fed if port.startswith("encoder_")}
    return {port: masks[name] for port, name in named.items() if name in masks}


# --- inputs and components ----------------------------------------------------------------------------------
def _add_components(subject: Subject, builder: WorkflowBuilder, encoder: Ends, decoder: Ends) -> None:
    add_graph(builder, subject, ENCODER, encoder)
    add_graph(builder, subject, DECODER, decoder, contract=DECODES)


def feed_encoder(builder: WorkflowBuilder, encoder: Ends) -> tuple[dict[str, str], dict[str, str]]:
    """The first input from the request: tokens, or sound as numbers; masks and the rest from whoever runs it."""
    main, *others = encoder.inputs
    made = encoder.inputs[main]
    role = "prompt_tokens" if made.dtype.startswith("int") else "media"
    feeds = {main: builder.request(f"request.{main}", made, role)}
    masks = mask_inputs(builder, encoder, [port for port in others if port.endswith("mask")])
    rest = application_inputs(builder, encoder, [port for port in others if port not in masks])
    return feeds | masks | rest, masks


# --- state --------------------------------------------------------------------------------------------------
def _add_state(builder: WorkflowBuilder, parts: Parts, decoder: Ends) -> tuple[dict[str, str], dict[str, str]]:
    """Cells of the decoder's own cache, and of what it borrows; by input port.

    Its own keys and values hold what it read of the source, so no other request may reuse them for the same tokens.
    """
    own = [port for port in parts.states if port.role]
    cells = add_cache(builder, DECODER, own, decoder.inputs, group="self_attention", reuse=None) if own else {}
    return cells, borrow_all(builder, parts, decoder)


def borrow_all(builder: WorkflowBuilder, parts: Parts, decoder: Ends) -> dict[str, str]:
    """A cell for everything that the decoder takes from the encoder, by input port."""
    borrowed = {}
    for name, output in parts.crossing.items():
        port = next(iter(state_ports([name], ())), None)
        borrowed[name] = _borrow(builder, name, f"encoder.{output}", port, decoder)
    return borrowed


def _borrow(builder: WorkflowBuilder, name: str, value: str, port: StatePort | None, decoder: Ends) -> str:
    """A cell that begins with what the encoder gave and stays so: keys and values, or hidden states."""
    made = decoder.inputs[name]
    cached = port is not None and port.role is not None
    group = "cross_attention" if cached else "encoder"
    if group not in builder.groups:
        layout, axis = ("bnsh", 2) if cached else ("bsd", 1)
        builder.group(group, group, layout, sequence_axis=axis)
    cell = f"cross.{port.layer or 0}.{port.role}" if port is not None and cached else f"encoder.{name}.kept"
    builder.cell(cell, made, value, group=group)
    words = given(role=port.role, layer=port.layer or 0) if port is not None and cached else {}
    builder.alias(group, DECODER, cell, name, access="read_only", **words)
    return cell


def _spell(subject: Subject, builder: WorkflowBuilder) -> None:
    from workbench.describe.kinds.encoder_decoder_spelled import spell

    spell(subject, builder)


KIND = Kind(
    NAME, "text out of a text or of sound, by an encoder and a decoder", fits, write,
    components={ENCODER: "from the source to hidden states, or to keys and values", DECODER: "from tokens to logits"},
    facts=EncoderDecoderFacts, spell=_spell,
)  # fmt: skip

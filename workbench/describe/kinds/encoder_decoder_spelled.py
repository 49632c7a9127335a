"""An encoder and a decoder, every step in the document."""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

from workbench.describe.builder import WorkflowBuilder
from workbench.describe.facts import read_facts
from workbench.describe.kinds import encoder_decoder as plain
from workbench.describe.kinds import spelling
from workbench.describe.kinds.parts import Ends, add_controls, add_graph, add_text_end, batch_of, ids_of
from workbench.describe.steps import AnyStep, invoke
from workbench.describe.subject import Subject


def unmade(subject: Subject, parts: plain.Parts) -> list[str]:
    """What the decoder takes that neither the encoder nor a small graph makes."""
    facts, masks = subject.graphs[plain.DECODER], set(subject.graphs[plain.ENCODER].inputs)
    fed = [port for port in parts.fed if not port.startswith("encoder_") or port.removeprefix("encoder_") not in masks]
    tokens = [] if facts.inputs[parts.tokens].dtype == ir.DataType.INT64 else [parts.tokens]
    return tokens + spelling.unmade(facts, parts.states, fed)


def spell(subject: Subject, builder: WorkflowBuilder) -> None:
    """Encode, run the decoder on the first tokens, then a token a round."""
    said = read_facts(plain.NAME, plain.EncoderDecoderFacts, subject.facts)
    parts = plain.parts_of(subject, said)
    spelling.refuse_unmade(subject.artifact(plain.DECODER), unmade(subject, parts))
    encoder, decoder = Ends.of(subject, plain.ENCODER), Ends.of(subject, plain.DECODER, parts.tokens)
    tokens, ids = decoder.inputs[parts.tokens], ids_of(said.eos_token_id)
    batch = batch_of(tokens)
    feeds, masks = _begin(subject, builder, encoder, decoder, batch)
    add_text_end(subject, builder, plain.NAME, decoder.outputs["logits"], said.eos_token_id)
    led = bool(set(spelling.LED) & set(parts.fed))
    spelled = spelling.Spelling(builder, plain.DECODER, subject.graphs[plain.DECODER], parts.states, ids, led)
    spelled.add_policies()
    first = plain.first_tokens(subject, builder, feeds, said.decoder_start, tokens)
    builder.add(invoke(plain.ENCODER, feeds, {name: f"encoder.{name}" for name in encoder.outputs}))
    spelled.add_state(decoder, batch, "self_attention", reusable=False)
    borrowed = plain.borrow_all(builder, parts, decoder)
    given = {name: f"encoder.{output}" for name, output in parts.crossing.items()}
    shared = plain.shared_masks(parts, masks)

    def run(ids: str, places: Mapping[str, str], made: str) -> list[AnyStep]:
        crossing = given if made == "first" else borrowed
        return spelled.call({parts.tokens: ids, **crossing, **shared}, ids, places, made)

    builder.add(spelled.loop(run, first, list(borrowed.values())))


def _begin(
    subject: Subject, builder: WorkflowBuilder, encoder: Ends, decoder: Ends, batch: int | str
) -> tuple[dict[str, str], dict[str, str]]:
    """Both graphs, what the encoder is fed, and which rows still run; the values fed, and the masks among them."""
    add_graph(builder, subject, plain.ENCODER, encoder)
    add_graph(builder, subject, plain.DECODER, decoder)
    fed = plain.feed_encoder(builder, encoder)
    add_controls(builder, batch)
    return fed


__all__ = ["spell", "unmade"]

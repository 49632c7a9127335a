"""An encoder and a decoder, every step in the document: small graphs choose tokens, end rows and move the cursor."""

from __future__ import annotations

import onnx_ir as ir

from workbench.analysis.graph_facts import graph_facts
from workbench.describe.builder import WorkflowBuilder, promise
from workbench.describe.contracts import contract, contract_of
from workbench.describe.facts import read_facts
from workbench.describe.kinds import encoder_decoder as plain
from workbench.describe.kinds.parts import LIMIT, LONGEST, Ends, add_controls, add_graph, add_text_end
from workbench.describe.policy import graphs
from workbench.describe.state_ports import StatePort
from workbench.describe.steps import AnyStep, emit, invoke, loop
from workbench.describe.subject import Subject
from workbench.errors import UnsupportedError
from workbench.metadata.document.state import Append, Bounded
from workbench.metadata.document.tensor import TensorContract

LENGTHS, START, ROOM = "cache_lengths", "start", "package.max_context"
_PLACES = ("write_indices", "kv_lengths")
_LED = ("attention_mask", "position_ids")
Named = dict[str, str]
"""Values, or cells, by the input port of the decoder that reads them."""


def spell(subject: Subject, builder: WorkflowBuilder) -> None:
    """Encode, run the decoder on the first tokens, then a token a round: emit, end rows, move the cursor, decode."""
    said = read_facts(plain.NAME, plain.EncoderDecoderFacts, subject.facts)
    parts = plain.parts_of(subject, said)
    encoder, decoder = Ends.of(subject, plain.ENCODER), Ends.of(subject, plain.DECODER, parts.tokens)
    _check(subject, parts)
    add_graph(builder, subject, plain.ENCODER, encoder)
    add_graph(builder, subject, plain.DECODER, decoder)
    feeds, masks = plain.feed_encoder(builder, encoder)
    tokens = decoder.inputs[parts.tokens]
    batch = tokens.shape[0] if tokens.shape else "batch"
    add_controls(builder, batch)
    add_text_end(subject, builder, plain.NAME, decoder.outputs["logits"], said.eos_token_id)
    _add_policies(subject, builder, parts, said)
    builder.output("tokens", contract("int64", batch, 1), "tokens")
    first = plain.first_tokens(subject, builder, feeds, said.decoder_start, tokens)
    shared = plain.shared_masks(parts, masks)
    builder.add(invoke(plain.ENCODER, feeds, {name: f"encoder.{name}" for name in encoder.outputs}))
    builder.literal(ROOM, contract("int64", 1, batch=None), LONGEST)
    _add_cells(builder, batch)
    cells = _add_cache(builder, parts, decoder)
    borrowed = plain.borrow_all(builder, parts, decoder)
    builder.add(_loop(parts, decoder, first, shared, cells, borrowed))


def unmade(subject: Subject, parts: plain.Parts) -> list[str]:
    """Ports of the decoder that no small graph makes, and states that are no cache."""
    masks = set(subject.graphs[plain.ENCODER].inputs)
    fed = [port for port in parts.fed if port not in _LED and port.removeprefix("encoder_") not in masks]
    states = [port.input for port in parts.states if not port.role or not _sized(subject, port)]
    return fed + states + ([] if parts.states else ["no cache"])


def _sized(subject: Subject, port: StatePort) -> bool:
    dims = subject.graphs[plain.DECODER].inputs[port.input].dims
    return len(dims) == 4 and isinstance(dims[1], int) and isinstance(dims[3], int)


def _check(subject: Subject, parts: plain.Parts) -> None:
    if left := unmade(subject, parts):
        raise UnsupportedError(
            f"policy='graphs': the decoder {subject.artifact(plain.DECODER)!r} takes {', '.join(left)}, which no small "
            "graph makes. Leave policy out."
        )


def _add_policies(
    subject: Subject, builder: WorkflowBuilder, parts: plain.Parts, said: plain.EncoderDecoderFacts
) -> None:
    facts = subject.graphs[plain.DECODER]
    cache, logits = facts.inputs[parts.states[0].input], facts.outputs["logits"]
    (heads, _, width), ends = cache.dims[1:], said.eos_token_id
    assert isinstance(heads, int) and isinstance(width, int) and cache.dtype is not None and logits.dtype is not None
    ids = [ends] if isinstance(ends, int) else list(ends)
    _policy(builder, START, graphs.start((heads, 0, width), cache.dtype))
    if set(_LED) & set(parts.fed):
        _policy(builder, "positions", graphs.positions())
    _policy(builder, "greedy", graphs.greedy(logits.dtype), "onnx-genai.token-sampler")
    _policy(builder, "termination", graphs.termination(ids, LONGEST), "onnx-genai.termination-predicate")
    _policy(builder, "advance", graphs.advance(LONGEST))


def _policy(builder: WorkflowBuilder, name: str, model: ir.Model, promised: str = "") -> None:
    facts = graph_facts(model)
    builder.policy(
        name, model, promise(promised, "1") if promised else None,
        inputs={port.name: contract_of(port) for port in facts.inputs.values()},
        outputs={port.name: contract_of(port) for port in facts.outputs.values()},
    )  # fmt: skip


def _add_cells(builder: WorkflowBuilder, batch: int | str) -> None:
    builder.cell("token", contract("int64", batch, 1), "first.token")
    builder.cell(LENGTHS, contract("int64", batch), f"{START}.kv_lengths")


def _add_cache(builder: WorkflowBuilder, parts: plain.Parts, decoder: Ends) -> dict[str, str]:
    builder.group(
        "self_attention",
        "full_attention",
        "bnsh",
        sequence_axis=2,
        logical_lengths=LENGTHS,
        update=Append(kind="append"),
    )
    cells = {}
    for port in parts.states:
        name = _cell(port)
        made: TensorContract = decoder.inputs[port.input]
        builder.cell(
            name, made, f"first.{name}", group="self_attention", recurrence=Bounded(kind="bounded", axis=2, max=ROOM)
        )
        builder.alias(
            "self_attention", plain.DECODER, name, port.input, port.output, role=port.role, layer=port.layer or 0
        )
        cells[port.input] = name
    return cells


def _cell(port: StatePort) -> str:
    return f"cache.{port.layer or 0}.{port.role}"


# --- steps --------------------------------------------------------------------------------------------------
def _loop(
    parts: plain.Parts,
    decoder: Ends,
    first: str,
    shared: dict[str, str],
    cells: dict[str, str],
    borrowed: dict[str, str],
) -> AnyStep:
    given = {name: f"encoder.{output}" for name, output in parts.crossing.items()}
    start = invoke(START, {"input_ids": first}, {name: f"{START}.{name}" for name in (*_PLACES, "empty_cache")})
    empty = dict.fromkeys(cells, f"{START}.empty_cache")
    places = {name: f"{START}.{name}" for name in _PLACES}
    setup = [start, *_run(parts, decoder, {parts.tokens: first, **empty, **given, **shared}, places, "first")]
    body: list[AnyStep] = [
        emit("token", "tokens", mode="append", when="active"),
        invoke("termination", {"token": "token", "cache_lengths": LENGTHS, "active": "active"}, {
            "next_active": "next.active", "done": "next.done", "accepted_len": "next.accepted_len",
        }),
        invoke("advance", {"cache_lengths": LENGTHS, "active": "next.active"}, {
            "kv_lengths": "step.kv_lengths", "next_lengths": f"next.{LENGTHS}",
        }),
        *_run(parts, decoder, {parts.tokens: "token", **cells, **borrowed, **shared},
              {"write_indices": LENGTHS, "kv_lengths": "step.kv_lengths"}, "next"),
    ]  # fmt: skip
    names = ["token", LENGTHS, "active", "done", "accepted_len", *cells.values()]
    return loop(
        body, setup=setup, continue_when="active", max_iterations=LIMIT, termination="generation_eos",
        carried={name: f"next.{name}" for name in names} | {cell: cell for cell in borrowed.values()},
    )  # fmt: skip


def _run(parts: plain.Parts, decoder: Ends, feeds: dict[str, str], places: dict[str, str], made: str) -> list[AnyStep]:
    nexts = {str(port.output): f"{made}.{_cell(port)}" for port in parts.states}
    outputs = {name: nexts.get(name, f"{made}.{name}") for name in decoder.outputs}
    led = {port: f"{made}.{port}" for port in _LED if port in parts.fed}
    lead = invoke("positions", {"input_ids": feeds[parts.tokens], **places}, {port: f"{made}.{port}" for port in _LED})
    choose = invoke("greedy", {"logits": f"{made}.logits", **places}, {"token": f"{made}.token"})
    return [*([lead] if led else []), invoke(plain.DECODER, {**feeds, **led}, outputs), choose]

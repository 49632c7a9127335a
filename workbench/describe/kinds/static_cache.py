"""A decoder with a cache of fixed length.

Where the graph can be told the slot of each row (``cache_ports``), the workflow says every step: the cursor is a
state cell, policy graphs choose the token, move the cursor and end rows, and the cache is written by indexed scatter.
Where an operator finds the slot by itself in the mask, the runtime's decode loop runs the graph on buffers of that
length.
"""

from __future__ import annotations

import onnx_ir as ir

from workbench.analysis.graph_facts import GraphFacts, graph_facts
from workbench.describe.builder import WorkflowBuilder, promise
from workbench.describe.cache_ports import KV_LENGTHS, WRITE_INDICES, can_be_told, with_cache_ports
from workbench.describe.contracts import contract, contract_of
from workbench.describe.kinds import decoder
from workbench.describe.kinds.base import Kind
from workbench.describe.policy import graphs
from workbench.describe.sections import add_model, add_tokenizer, ends_of
from workbench.describe.steps import AnyStep, emit, invoke, loop
from workbench.describe.subject import PAST, CachePair, Subject
from workbench.metadata.document.state import IndexedScatter

LENGTHS, CAPACITY = "cache_lengths", "package.cache_capacity"
_ROOM = "Prompt and answer together have at most {} tokens: the slots of the cache."
_B = contract("int64", "batch_size")
_ON = contract("bool", "batch_size")
_TOKEN = contract("int64", "batch_size", 1)


def fits(subject: Subject) -> bool:
    """A decoder whose cache has a fixed length."""
    return decoder.is_decoder(subject) and subject.graphs["model"].capacity(PAST[0]) is not None


def write(subject: Subject, builder: WorkflowBuilder) -> None:
    """By indexed scatter where the graph can be told the slot, else by the runtime's decode loop."""
    capacity = subject.graphs["model"].capacity(PAST[0])
    assert capacity is not None
    if can_be_told(subject.package.models["model"]):
        _write_scatter(subject, builder, capacity)
        return
    decoder.write(subject, builder, capacity=capacity)
    builder.notes.append(_ROOM.format(capacity))


def _write_scatter(subject: Subject, builder: WorkflowBuilder, capacity: int) -> None:
    model = with_cache_ports(subject.package.models["model"])
    builder.models["model"] = model
    builder.notes.append(
        f"The graph takes {WRITE_INDICES} and {KV_LENGTHS} in place of a mask and positions. {_ROOM.format(capacity)}"
    )
    add_model(subject, builder, capacity=capacity)
    add_tokenizer(subject, builder)
    facts = graph_facts(model)
    _add_ends(builder, facts, capacity)
    _add_components(subject, builder, facts, capacity)
    _add_cache(subject, builder)
    builder.add(_decode(subject, ends=bool(ends_of(subject))))


def _add_ends(builder: WorkflowBuilder, facts: GraphFacts, capacity: int) -> None:
    builder.request("request.input_ids", contract_of(facts.inputs["input_ids"]), "prompt_tokens")
    builder.request(
        "request.max_output_tokens", contract("int64", 1, batch=None), "max_output_tokens", default=capacity
    )
    builder.literal(CAPACITY, contract("int64", 1, batch=None), capacity)
    for name, made, value in (("true", _ON, True), ("false", _ON, False), ("zero", _B, 0)):
        builder.literal(f"package.{name}", made, value)
    builder.output("tokens", _TOKEN, "tokens")


def _add_components(subject: Subject, builder: WorkflowBuilder, facts: GraphFacts, capacity: int) -> None:
    roles = {port: role for port, role in decoder.ROLES.items() if port in (*facts.inputs, *facts.outputs)}
    builder.onnx(decoder.COMPONENT, subject.artifact("model"), roles=roles)
    logits, cache = facts.outputs["logits"], subject.cache()[0].past
    assert logits.dtype is not None and cache.dtype is not None
    _policy(builder, "start", graphs.start(_slots(cache.dims), cache.dtype))
    _policy(builder, "greedy", graphs.greedy(logits.dtype), "onnx-genai.token-sampler")
    _policy(builder, "termination", graphs.termination(ends_of(subject), capacity), "onnx-genai.termination-predicate")
    _policy(builder, "advance", graphs.advance(capacity))


def _slots(dims: tuple[int | str | None, ...]) -> tuple[int, int, int]:
    K, C, D = (size for size in dims[1:] if isinstance(size, int))
    return K, C, D


def _policy(builder: WorkflowBuilder, name: str, model: ir.Model, promised: str = "") -> None:
    """A policy graph with the contracts of its ports, so that its values can be checked."""
    facts = graph_facts(model)
    builder.policy(
        name, model, promise(promised, "1") if promised else None,
        inputs={port.name: contract_of(port) for port in facts.inputs.values()},
        outputs={port.name: contract_of(port) for port in facts.outputs.values()},
    )  # fmt: skip


def _add_cache(subject: Subject, builder: WorkflowBuilder) -> None:
    for name, made, first in (
        ("token", _TOKEN, "first.token"), (LENGTHS, _B, "start.kv_lengths"), ("active", _ON, "package.true"),
        ("done", _ON, "package.false"), ("accepted_len", _B, "package.zero"),
    ):  # fmt: skip
        builder.cell(name, made, first)
    builder.serve(active="active", done="done", accepted_len="accepted_len")
    for kind in decoder.kinds_of_attention(subject, subject.cache()):
        told = {decoder.COMPONENT: WRITE_INDICES}, {decoder.COMPONENT: KV_LENGTHS}
        update = IndexedScatter(
            kind="indexed_scatter", write_indices=LENGTHS, capacity=CAPACITY, write_indices_ports=told[0],
            kv_length_ports=told[1],
        )  # fmt: skip
        builder.group(kind, kind, "bnsh", sequence_axis=2, logical_lengths=LENGTHS, aliasing="permitted", update=update)
    for pair in subject.cache():
        kind = decoder.attention_of(subject, pair.layer)
        cell = builder.cell(decoder.cell_of(pair), contract_of(pair.past), f"first.{decoder.cell_of(pair)}", group=kind)
        builder.alias(
            kind, decoder.COMPONENT, cell, pair.past.name, pair.present.name, role=pair.role, layer=pair.layer
        )


def _decode(subject: Subject, *, ends: bool) -> AnyStep:
    """The prompt first, then a token a round: end rows, move the cursor, run the graph, choose the next token."""
    pairs = subject.cache()
    setup: list[AnyStep] = [
        invoke("start", {"input_ids": "request.input_ids"}, {
            WRITE_INDICES: "start.write_indices", KV_LENGTHS: "start.kv_lengths", "empty_cache": "start.empty_cache",
        }),
        _run(pairs, "request.input_ids", "start.write_indices", "start.kv_lengths", "first", empty=True),
        _choose("start.write_indices", "start.kv_lengths", "first"),
    ]  # fmt: skip
    body: list[AnyStep] = [
        emit("token", "tokens", mode="append", when="active"),
        invoke("termination", {"token": "token", "cache_lengths": LENGTHS, "active": "active"}, {
            "next_active": "next.active", "done": "next.done", "accepted_len": "next.accepted_len",
        }),
        invoke("advance", {"cache_lengths": LENGTHS, "active": "next.active"}, {
            KV_LENGTHS: "step.kv_lengths", "next_lengths": f"next.{LENGTHS}",
        }),
        _run(pairs, "token", LENGTHS, "step.kv_lengths", "next"),
        _choose(LENGTHS, "step.kv_lengths", "next"),
    ]  # fmt: skip
    names = ["token", LENGTHS, "active", "done", "accepted_len", *map(decoder.cell_of, pairs)]
    return loop(
        body, setup=setup, continue_when="active", max_iterations="request.max_output_tokens",
        termination="generation_eos" if ends else "predicate", carried={name: f"next.{name}" for name in names},
    )  # fmt: skip


def _run(
    pairs: tuple[CachePair, ...], tokens: str, write: str, lengths: str, made: str, *, empty: bool = False
) -> AnyStep:
    """The graph once, on the cache that there is or on an empty one."""
    past = {p.past.name: "start.empty_cache" if empty else decoder.cell_of(p) for p in pairs}
    present = {p.present.name: f"{made}.{decoder.cell_of(p)}" for p in pairs}
    feeds = {"input_ids": tokens, WRITE_INDICES: write, KV_LENGTHS: lengths}
    return invoke(decoder.COMPONENT, feeds | past, {"logits": f"{made}.logits", **present})


def _choose(write: str, lengths: str, made: str) -> AnyStep:
    feeds = {"logits": f"{made}.logits", WRITE_INDICES: write, KV_LENGTHS: lengths}
    return invoke("greedy", feeds, {"token": f"{made}.token"})


KIND = Kind("static_cache", "text generation with a cache of fixed length", fits, write)

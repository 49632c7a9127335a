"""A loop whose every step is in the document: small graphs choose tokens, end rows, move the cursor, make masks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import onnx_ir as ir

from workbench.analysis.graph_facts import GraphFacts, graph_facts
from workbench.describe.builder import WorkflowBuilder, promise
from workbench.describe.cache_ports import KV_LENGTHS, WRITE_INDICES
from workbench.describe.contracts import contract, contract_of
from workbench.describe.kinds.parts import CONTROLS, LIMIT, LONGEST, Ends
from workbench.describe.kinds.states import up_to_context
from workbench.describe.policy import graphs
from workbench.describe.state_ports import StatePort
from workbench.describe.steps import AnyStep, emit, invoke, loop
from workbench.errors import UnsupportedError
from workbench.metadata.document.state import Append, Reuse

LENGTHS, START, POSITIONS = "cache_lengths", "start", "positions"
LED = ("attention_mask", "position_ids")
"""Ports that are made from the tokens and from how many slots of the cache are in use."""
_PLACES = (WRITE_INDICES, KV_LENGTHS)
_PROMISED = {"greedy": "onnx-genai.token-sampler", "termination": "onnx-genai.termination-predicate"}
_FLOATS = (ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16)
Run = Callable[[str, Mapping[str, str], str], list[AnyStep]]
"""Tokens, the two numbers of each row, and the word before what is made (``first``, ``next``): steps to ``logits``."""


def unmade(facts: GraphFacts, states: Sequence[StatePort], fed: Sequence[str]) -> list[str]:
    """Of a decoder with these facts: what it is fed, or keeps, that no small graph makes."""
    odd = [name for name in fed if name not in LED or not _is_ids(facts, name)]
    caches = {port.input: _cache(facts, port) for port in states}
    odd += [name for name, found in caches.items() if found is None or found != next(iter(caches.values()))]
    logits = facts.outputs.get("logits")
    scores = logits is not None and logits.dtype in _FLOATS
    return odd + ([] if states else ["no cache"]) + ([] if scores else ["logits"])


def refuse_unmade(artifact: str, left: Sequence[str]) -> None:
    """
    Raises:
        UnsupportedError: something is left.
    """
    if left:
        raise UnsupportedError(
            f"policy='graphs': the decoder {artifact!r} takes {', '.join(left)}, which no small graph makes. "
            "Leave policy out."
        )


def _is_ids(facts: GraphFacts, name: str) -> bool:
    return facts.inputs[name].dtype == ir.DataType.INT64 and len(facts.inputs[name].dims) == 2


def _cache(facts: GraphFacts, port: StatePort) -> tuple[ir.DataType, int, int] | None:
    """dtype, K and D of keys or values ``[B, K, P, D]`` that grow; None for another state."""
    found = facts.inputs[port.input]
    if port.role is None or port.output is None or len(found.dims) != 4 or found.dtype not in _FLOATS:
        return None
    heads, width = found.size(1), found.size(3)
    if found.dtype is None or heads is None or width is None or found.size(2) is not None:
        return None
    return found.dtype, heads, width


@dataclasses.dataclass(frozen=True, eq=False)
class Spelling:
    """The loop of one decoder on its way into a builder."""

    builder: WorkflowBuilder
    component: str
    facts: GraphFacts
    states: tuple[StatePort, ...]
    ends: tuple[int, ...]
    led: bool

    def add_policies(self) -> None:
        """The small graphs, with the contracts of their ports."""
        cache, logits = _cache(self.facts, self.states[0]), self.facts.outputs["logits"].dtype
        assert cache is not None and logits is not None
        dtype, heads, width = cache
        made = {START: graphs.start((heads, 0, width), dtype), "greedy": graphs.greedy(logits)}
        add_policy_graphs(self.builder, made, self.ends, LONGEST, led=self.led)

    def add_state(self, ends: Ends, batch: int | str, group: str, *, reusable: bool) -> dict[str, str]:
        """The token, the cursor and the cache; the cell of each input port."""
        builder, reuse = self.builder, Reuse(prefix_reusable=True) if reusable else None
        builder.output("tokens", contract("int64", batch, 1), "tokens")
        builder.cell("token", contract("int64", batch, 1), "first.token")
        builder.cell(LENGTHS, contract("int64", batch), f"{START}.kv_lengths")
        builder.group(
            group, "full_attention", "bnsh", sequence_axis=2, logical_lengths=LENGTHS, update=Append(kind="append"),
            reuse=reuse,
        )  # fmt: skip
        grows = up_to_context(builder, 2)
        for port in self.states:
            cell, layer = cell_of(port), port.layer or 0
            builder.cell(cell, ends.inputs[port.input], f"first.{cell}", group=group, recurrence=grows)
            builder.alias(group, self.component, cell, port.input, port.output, role=port.role, layer=layer)
        return {port.input: cell_of(port) for port in self.states}

    def call(self, feeds: Mapping[str, str], tokens: str, places: Mapping[str, str], made: str) -> list[AnyStep]:
        """The decoder once, with what is made for it, and the token that follows."""
        past = {p.input: f"{START}.empty_cache" if made == "first" else cell_of(p) for p in self.states}
        nexts = {str(port.output): f"{made}.{cell_of(port)}" for port in self.states}
        outputs = {name: nexts.get(name, f"{made}.{name}") for name in self.facts.outputs}
        led = {port: f"{made}.{port}" for port in LED}
        taken = {port: value for port, value in led.items() if self.led and port in self.facts.inputs}
        lead = [invoke(POSITIONS, {"input_ids": tokens, **places}, led)] if taken else []
        choose = invoke("greedy", {"logits": f"{made}.logits", **places}, {"token": f"{made}.token"})
        return [*lead, invoke(self.component, {**feeds, **past, **taken}, outputs), choose]

    def loop(self, run: Run, first: str, kept: Sequence[str] = ()) -> AnyStep:
        """See :func:`decode_loop`; the cells are those of the decoder's own cache."""
        return decode_loop(run, first, list(map(cell_of, self.states)), kept=kept)


def add_policy_graphs(
    builder: WorkflowBuilder, made: Mapping[str, ir.Model], ends: Sequence[int], capacity: int, *, led: bool
) -> None:
    """The policy graphs of a loop, each with the contracts of its ports, so that its values can be checked.

    ``made`` are those that look at the decoder, ``start`` and ``greedy``; ``led``: mask or positions are made as well.
    """
    every = {
        START: made[START], **({POSITIONS: graphs.positions()} if led else {}), "greedy": made["greedy"],
        "termination": graphs.termination(ends, capacity), "advance": graphs.advance(capacity),
    }  # fmt: skip
    for name, model in every.items():
        facts = graph_facts(model)
        builder.policy(
            name, model, promise(_PROMISED[name], "1") if name in _PROMISED else None,
            inputs={port.name: contract_of(port) for port in facts.inputs.values()},
            outputs={port.name: contract_of(port) for port in facts.outputs.values()},
        )  # fmt: skip


def decode_loop(
    run: Run, first: str, cells: Sequence[str], *, kept: Sequence[str] = (), has_end: bool = True
) -> AnyStep:
    """The ``first`` tokens, then one a round: emit, end rows, move the cursor, run.

    ``cells`` are those of the cache, ``kept`` ones stay as they are; ``has_end`` says whether a token ends a text.
    """
    start = invoke(START, {"input_ids": first}, {name: f"{START}.{name}" for name in (*_PLACES, "empty_cache")})
    body: list[AnyStep] = [
        emit("token", "tokens", mode="append", when="active"),
        invoke("termination", {"token": "token", "cache_lengths": LENGTHS, "active": "active"}, {
            "next_active": "next.active", "done": "next.done", "accepted_len": "next.accepted_len",
        }),
        invoke("advance", {"cache_lengths": LENGTHS, "active": "next.active"}, {
            KV_LENGTHS: "step.kv_lengths", "next_lengths": f"next.{LENGTHS}",
        }),
        *run("token", {WRITE_INDICES: LENGTHS, KV_LENGTHS: "step.kv_lengths"}, "next"),
    ]  # fmt: skip
    return loop(
        body, setup=[start, *run(first, {name: f"{START}.{name}" for name in _PLACES}, "first")],
        continue_when="active", max_iterations=LIMIT, termination="generation_eos" if has_end else "predicate",
        carried={name: f"next.{name}" for name in ("token", LENGTHS, *CONTROLS, *cells)} | {c: c for c in kept},
    )  # fmt: skip


def cell_of(port: StatePort) -> str:
    """The cell of a layer's keys or values."""
    return f"cache.{port.layer or 0}.{port.role}"


__all__ = [
    "LED", "LENGTHS", "POSITIONS", "START", "Spelling", "add_policy_graphs", "cell_of", "decode_loop", "refuse_unmade",
    "unmade",
]  # fmt: skip

"""A loop whose every step is in the document: small graphs choose tokens, end rows, move the cursor, make masks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import onnx_ir as ir

from workbench.analysis.graph_facts import GraphFacts, graph_facts
from workbench.describe.builder import WorkflowBuilder, promise
from workbench.describe.contracts import contract, contract_of
from workbench.describe.kinds.parts import LIMIT, LONGEST, Ends
from workbench.describe.kinds.states import up_to_context
from workbench.describe.policy import graphs
from workbench.describe.state_ports import StatePort
from workbench.describe.steps import AnyStep, emit, invoke, loop
from workbench.errors import UnsupportedError
from workbench.metadata.document.state import Append, Reuse

LENGTHS, START = "cache_lengths", "start"
LED = ("attention_mask", "position_ids")
"""Ports that are made from the tokens and from how many slots of the cache are in use."""
_PLACES = ("write_indices", "kv_lengths")
_FLOATS = (ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16)
Run = Callable[[str, Mapping[str, str], str], list[AnyStep]]
"""Tokens, the two numbers of each row, and the word before what is made (``first``, ``next``): steps to ``logits``."""


def unmade(facts: GraphFacts, states: Sequence[StatePort], fed: Sequence[str]) -> list[str]:
    """Of a decoder with these facts: what it is fed, or keeps, that no small graph makes."""
    odd = [name for name in fed if name not in LED or not _is_ids(facts, name)]
    caches = {port.input: _cache(facts, port) for port in states}
    odd += [name for name, found in caches.items() if found is None or found != next(iter(caches.values()))]
    logits = facts.outputs["logits"]
    return odd + ([] if states else ["no cache"]) + ([] if logits.dtype in _FLOATS else ["logits"])


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
    heads, slots, width = found.dims[1:]
    sized = isinstance(heads, int) and isinstance(width, int) and not isinstance(slots, int)
    return (found.dtype, int(heads), int(width)) if sized and found.dtype is not None else None  # type: ignore[arg-type]


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
        self._policy(START, graphs.start((heads, 0, width), dtype))
        if self.led:
            self._policy("positions", graphs.positions())
        self._policy("greedy", graphs.greedy(logits), "onnx-genai.token-sampler")
        self._policy("termination", graphs.termination(self.ends, LONGEST), "onnx-genai.termination-predicate")
        self._policy("advance", graphs.advance(LONGEST))

    def _policy(self, name: str, model: ir.Model, promised: str = "") -> None:
        facts = graph_facts(model)
        self.builder.policy(
            name, model, promise(promised, "1") if promised else None,
            inputs={port.name: contract_of(port) for port in facts.inputs.values()},
            outputs={port.name: contract_of(port) for port in facts.outputs.values()},
        )  # fmt: skip

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
        lead = [invoke("positions", {"input_ids": tokens, **places}, led)] if taken else []
        choose = invoke("greedy", {"logits": f"{made}.logits", **places}, {"token": f"{made}.token"})
        return [*lead, invoke(self.component, {**feeds, **past, **taken}, outputs), choose]

    def loop(self, run: Run, first: str, kept: Sequence[str] = ()) -> AnyStep:
        """The first tokens, then one a round: emit, end rows, move the cursor, run. ``kept`` cells stay as they are."""
        start = invoke(START, {"input_ids": first}, {name: f"{START}.{name}" for name in (*_PLACES, "empty_cache")})
        setup = [start, *run(first, {name: f"{START}.{name}" for name in _PLACES}, "first")]
        body: list[AnyStep] = [
            emit("token", "tokens", mode="append", when="active"),
            invoke("termination", {"token": "token", "cache_lengths": LENGTHS, "active": "active"}, {
                "next_active": "next.active", "done": "next.done", "accepted_len": "next.accepted_len",
            }),
            invoke("advance", {"cache_lengths": LENGTHS, "active": "next.active"}, {
                "kv_lengths": "step.kv_lengths", "next_lengths": f"next.{LENGTHS}",
            }),
            *run("token", {"write_indices": LENGTHS, "kv_lengths": "step.kv_lengths"}, "next"),
        ]  # fmt: skip
        names = ["token", LENGTHS, "active", "done", "accepted_len", *map(cell_of, self.states)]
        return loop(
            body, setup=setup, continue_when="active", max_iterations=LIMIT, termination="generation_eos",
            carried={name: f"next.{name}" for name in names} | {cell: cell for cell in kept},
        )  # fmt: skip


def cell_of(port: StatePort) -> str:
    """The cell of a layer's keys or values."""
    return f"cache.{port.layer or 0}.{port.role}"


__all__ = ["LED", "Spelling", "cell_of", "refuse_unmade", "unmade"]

"""A decode loop whose every step is in the document: policy graphs choose tokens, end rows and move the cursor.

A graph that is ``told`` the slot of each row has its cache written by indexed scatter. For any other, one more policy
graph makes mask and positions from the same two numbers a row.
"""

from __future__ import annotations

import dataclasses

import onnx_ir as ir

from workbench.analysis.graph_facts import graph_facts
from workbench.describe.builder import WorkflowBuilder, promise
from workbench.describe.cache_ports import KV_LENGTHS, WRITE_INDICES
from workbench.describe.contracts import contract, contract_of
from workbench.describe.kinds import decoder
from workbench.describe.policy import graphs
from workbench.describe.sections import add_model, add_tokenizer, ends_of
from workbench.describe.steps import AnyStep, emit, invoke, loop
from workbench.describe.subject import PAST, CachePair, Subject
from workbench.metadata.document.state import Append, Bounded, IndexedScatter

LENGTHS, CAPACITY, START, POSITIONS = "cache_lengths", "package.cache_capacity", "start", "positions"
_LIMIT = "request.max_output_tokens"
_B = contract("int64", "batch_size")
_ON = contract("bool", "batch_size")
_TOKEN = contract("int64", "batch_size", 1)
_ONE = contract("int64", 1, batch=None)
_LED = ("attention_mask", "position_ids")


@dataclasses.dataclass(frozen=True)
class Spelled:
    """One loop on its way into a builder. ``subject`` holds the graph as it is run; ``capacity`` is the most tokens of
    prompt and answer; ``told`` says whether the graph takes the slot of each row."""

    subject: Subject
    builder: WorkflowBuilder
    capacity: int
    told: bool

    def write(self) -> None:
        """All of it."""
        decoder.check_prompt(self.subject)
        add_model(self.subject, self.builder, capacity=self.capacity)
        add_tokenizer(self.subject, self.builder)
        decoder.say_ends(self.subject, self.builder)
        self._ends()
        self._components()
        self._controls()
        self._cache()
        self.builder.add(self._decode())

    @property
    def _pairs(self) -> tuple[CachePair, ...]:
        return self.subject.cache()

    def _ends(self) -> None:
        ids = self.subject.graphs["model"].inputs["input_ids"]
        self.builder.request("request.input_ids", contract_of(ids), "prompt_tokens")
        self.builder.request(_LIMIT, _ONE, "max_output_tokens", default=self.capacity)
        self.builder.literal(CAPACITY, _ONE, self.capacity)
        for name, made, value in (("true", _ON, True), ("false", _ON, False), ("zero", _B, 0)):
            self.builder.literal(f"package.{name}", made, value)
        self.builder.output("tokens", _TOKEN, "tokens")

    # --- components -------------------------------------------------------------------------------------------
    def _components(self) -> None:
        facts = self.subject.graphs["model"]
        roles = {port: role for port, role in decoder.ROLES.items() if port in (*facts.inputs, *facts.outputs)}
        self.builder.onnx(decoder.COMPONENT, self.subject.artifact("model"), roles=roles)
        logits, cache = facts.outputs["logits"], self._pairs[0].past
        assert logits.dtype is not None and cache.dtype is not None
        ends = ends_of(self.subject)
        self._policy(START, graphs.start(self._slots(), cache.dtype))
        if not self.told:
            self._policy(POSITIONS, graphs.positions())
        self._policy("greedy", graphs.greedy(logits.dtype, last=logits.size(1) == 1), "onnx-genai.token-sampler")
        self._policy("termination", graphs.termination(ends, self.capacity), "onnx-genai.termination-predicate")
        self._policy("advance", graphs.advance(self.capacity))

    def _slots(self) -> tuple[int, int, int]:
        """Sizes K, C, D of an empty cache; one that grows begins without slots."""
        heads, _, width = self._pairs[0].past.dims[1:]
        assert isinstance(heads, int) and isinstance(width, int)
        return heads, self.capacity if self._fixed else 0, width

    @property
    def _fixed(self) -> bool:
        return self.subject.graphs["model"].capacity(PAST[0]) is not None

    def _policy(self, name: str, model: ir.Model, promised: str = "") -> None:
        """A policy graph with the contracts of its ports, so that its values can be checked."""
        facts = graph_facts(model)
        self.builder.policy(
            name, model, promise(promised, "1") if promised else None,
            inputs={port.name: contract_of(port) for port in facts.inputs.values()},
            outputs={port.name: contract_of(port) for port in facts.outputs.values()},
        )  # fmt: skip

    # --- state ------------------------------------------------------------------------------------------------
    def _controls(self) -> None:
        for name, made, first in (
            ("token", _TOKEN, "first.token"), (LENGTHS, _B, f"{START}.kv_lengths"), ("active", _ON, "package.true"),
            ("done", _ON, "package.false"), ("accepted_len", _B, "package.zero"),
        ):  # fmt: skip
            self.builder.cell(name, made, first)
        self.builder.serve(active="active", done="done", accepted_len="accepted_len")

    def _cache(self) -> None:
        aliasing = "permitted" if self.subject.writes_in_place() else None
        for kind in decoder.kinds_of_attention(self.subject, self._pairs):
            self.builder.group(
                kind, kind, "bnsh", sequence_axis=2, logical_lengths=LENGTHS, aliasing=aliasing, update=self._update()
            )
        grows = None if self._fixed else Bounded(kind="bounded", axis=2, max=CAPACITY)
        for pair in self._pairs:
            name, kind = decoder.cell_of(pair), decoder.attention_of(self.subject, pair.layer)
            self.builder.cell(name, contract_of(pair.past), f"first.{name}", group=kind, recurrence=grows)
            self.builder.alias(
                kind, decoder.COMPONENT, name, pair.past.name, pair.present.name, role=pair.role, layer=pair.layer
            )

    def _update(self) -> Append | IndexedScatter:
        if not self.told:
            return Append(kind="append")
        return IndexedScatter(
            kind="indexed_scatter", write_indices=LENGTHS, capacity=CAPACITY,
            write_indices_ports={decoder.COMPONENT: WRITE_INDICES}, kv_length_ports={decoder.COMPONENT: KV_LENGTHS},
        )  # fmt: skip

    # --- steps ------------------------------------------------------------------------------------------------
    def _decode(self) -> AnyStep:
        """The prompt first, then a token a round: end rows, move the cursor, run the graph, choose the next token."""
        setup: list[AnyStep] = [
            invoke(START, {"input_ids": "request.input_ids"}, {
                name: f"{START}.{name}" for name in (WRITE_INDICES, KV_LENGTHS, "empty_cache")
            }),
            *self._run("request.input_ids", f"{START}.{WRITE_INDICES}", f"{START}.{KV_LENGTHS}", "first"),
        ]  # fmt: skip
        body: list[AnyStep] = [
            emit("token", "tokens", mode="append", when="active"),
            invoke("termination", {"token": "token", "cache_lengths": LENGTHS, "active": "active"}, {
                "next_active": "next.active", "done": "next.done", "accepted_len": "next.accepted_len",
            }),
            invoke("advance", {"cache_lengths": LENGTHS, "active": "next.active"}, {
                KV_LENGTHS: "step.kv_lengths", "next_lengths": f"next.{LENGTHS}",
            }),
            *self._run("token", LENGTHS, "step.kv_lengths", "next"),
        ]  # fmt: skip
        names = ["token", LENGTHS, "active", "done", "accepted_len", *map(decoder.cell_of, self._pairs)]
        return loop(
            body, setup=setup, continue_when="active", max_iterations=_LIMIT,
            termination="generation_eos" if ends_of(self.subject) else "predicate",
            carried={name: f"next.{name}" for name in names},
        )  # fmt: skip

    def _run(self, tokens: str, write: str, lengths: str, made: str) -> list[AnyStep]:
        """The graph once, on the cache that there is or at first on an empty one, and the token that follows."""
        places = {WRITE_INDICES: write, KV_LENGTHS: lengths}
        past = {p.past.name: f"{START}.empty_cache" if made == "first" else decoder.cell_of(p) for p in self._pairs}
        present = {p.present.name: f"{made}.{decoder.cell_of(p)}" for p in self._pairs}
        given = {"logits": f"{made}.logits", **present}
        choose = invoke("greedy", {"logits": f"{made}.logits", **places}, {"token": f"{made}.token"})
        if self.told:
            return [invoke(decoder.COMPONENT, {"input_ids": tokens, **places, **past}, given), choose]
        led = {name: f"{made}.{name}" for name in _LED}
        fed = {name: value for name, value in led.items() if name in self.subject.graphs["model"].inputs}
        return [
            invoke(POSITIONS, {"input_ids": tokens, **places}, led),
            invoke(decoder.COMPONENT, {"input_ids": tokens, **fed, **past}, given),
            choose,
        ]


def spell(subject: Subject, builder: WorkflowBuilder) -> None:
    """Every step of a decoder, whether its cache grows or not.

    Rows of a batch have prompts of one length: a row's mask ends where its cache does.
    """
    facts = subject.graphs["model"]
    longest = decoder.longest_of(subject)
    Spelled(decoder.in_int64(subject, builder), builder, facts.capacity(PAST[0]) or longest, told=False).write()


__all__ = ["CAPACITY", "LENGTHS", "POSITIONS", "START", "Spelled", "spell"]

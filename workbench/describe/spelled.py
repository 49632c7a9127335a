"""A decode loop whose every step is in the document: policy graphs choose tokens, end rows and move the cursor.

A graph that is ``told`` the slot of each row has its cache written by indexed scatter. For any other, one more policy
graph makes mask and positions from the same two numbers a row.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import onnx_ir as ir

from workbench.describe.builder import WorkflowBuilder
from workbench.describe.cache_ports import KV_LENGTHS, WRITE_INDICES
from workbench.describe.contracts import contract, contract_of
from workbench.describe.kinds import decoder
from workbench.describe.kinds.decoder_ports import check_spelled
from workbench.describe.kinds.parts import add_limit, add_rows, batch_of
from workbench.describe.kinds.spelling import LED, LENGTHS, POSITIONS, START, add_policy_graphs, decode_loop
from workbench.describe.policy import graphs
from workbench.describe.policy.graphs import float_of
from workbench.describe.sections import add_model, add_tokenizer, ends_of
from workbench.describe.steps import AnyStep, invoke
from workbench.describe.subject import PAST, CachePair, Subject
from workbench.errors import UnsupportedError
from workbench.metadata.document.state import Append, Bounded, IndexedScatter

CAPACITY = "package.cache_capacity"
_ONE = contract("int64", 1, batch=None)


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
        check_spelled(self.subject.graphs["model"])
        add_model(self.subject, self.builder, capacity=self.capacity)
        add_tokenizer(self.subject, self.builder)
        decoder.say_ends(self.subject, self.builder)
        self._ends()
        self._components()
        self._controls()
        self._cache()
        cells = list(map(decoder.cell_of, self._pairs))
        has_end = bool(ends_of(self.subject))
        self.builder.add(decode_loop(self._run, "request.input_ids", cells, has_end=has_end))

    @property
    def _batch(self) -> int | str:
        """The size B of the prompt as the graph has it."""
        return batch_of(contract_of(self.subject.graphs["model"].inputs["input_ids"]))

    @property
    def _pairs(self) -> tuple[CachePair, ...]:
        return self.subject.cache()

    def _ends(self) -> None:
        ids = self.subject.graphs["model"].inputs["input_ids"]
        self.builder.request("request.input_ids", contract_of(ids), "prompt_tokens")
        add_limit(self.builder, self.capacity)
        self.builder.literal(CAPACITY, _ONE, self.capacity)
        self.builder.output("tokens", contract("int64", self._batch, 1), "tokens")

    # --- components -------------------------------------------------------------------------------------------
    def _components(self) -> None:
        facts = self.subject.graphs["model"]
        roles = {port: role for port, role in decoder.ROLES.items() if port in (*facts.inputs, *facts.outputs)}
        self.builder.onnx(decoder.COMPONENT, self.subject.artifact("model"), roles=roles)
        logits = facts.outputs["logits"]
        made = {
            START: graphs.start(*self._empty()),
            "greedy": graphs.greedy(float_of(logits), last=logits.size(1) == 1),
        }
        add_policy_graphs(self.builder, made, ends_of(self.subject), self.capacity, led=not self.told)

    def _empty(self) -> tuple[tuple[int, int, int], ir.DataType]:
        """Sizes K, C, D and dtype of the one empty cache of all layers; one that grows begins without slots."""
        past = self._pairs[0].past
        heads, width = past.size(1), past.size(3)
        alike = all((p.past.size(1), p.past.size(3), p.past.dtype) == (heads, width, past.dtype) for p in self._pairs)
        if not alike or heads is None or width is None:
            raise UnsupportedError(
                f"A small graph makes one empty cache for all layers; {past.name!r} is {list(past.dims)}. Export the "
                "graph with numbers for heads and head size, the same in every layer."
            )
        return (heads, self.capacity if self._fixed else 0, width), float_of(past)

    @property
    def _fixed(self) -> bool:
        return self.subject.graphs["model"].capacity(PAST[0]) is not None

    # --- state ------------------------------------------------------------------------------------------------
    def _controls(self) -> None:
        batch = self._batch
        self.builder.cell("token", contract("int64", batch, 1), "first.token")
        self.builder.cell(LENGTHS, contract("int64", batch), f"{START}.kv_lengths")
        add_rows(self.builder, batch)

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
    def _run(self, tokens: str, places: Mapping[str, str], made: str) -> list[AnyStep]:
        """The graph once, on the cache that there is or at first on an empty one, and the token that follows."""
        past = {p.past.name: f"{START}.empty_cache" if made == "first" else decoder.cell_of(p) for p in self._pairs}
        present = {p.present.name: f"{made}.{decoder.cell_of(p)}" for p in self._pairs}
        given = {"logits": f"{made}.logits", **present}
        choose = invoke("greedy", {"logits": f"{made}.logits", **places}, {"token": f"{made}.token"})
        if self.told:
            return [invoke(decoder.COMPONENT, {"input_ids": tokens, **places, **past}, given), choose]
        led = {name: f"{made}.{name}" for name in LED}
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
    capacity = facts.capacity(PAST[0]) or decoder.longest_text(subject)
    Spelled(decoder.in_int64(subject, builder), builder, capacity, told=False).write()


__all__ = ["CAPACITY", "Spelled", "spell"]

"""The token policy: from logits to the next token of each request, whether it goes on, and how many were taken.

What a port is for comes from the contract's bindings, else from the port's name, else from the cell that takes the
value along (``serving.active``, or the condition of a loop, takes whether a request goes on), or from the output.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workbench.interpret.arrays import Array, numpy_dtype
from workbench.interpret.decoding import Decoding
from workbench.interpret.diagnostic import Violation
from workbench.interpret.roles import Facts, port_of
from workbench.interpret.sampling import Sampling, choose
from workbench.metadata.document.ports import Component
from workbench.metadata.document.state import IndexedScatter
from workbench.metadata.document.steps import InvokeStep
from workbench.metadata.wording import few, q

TOKEN_POLICY = "onnx-genai.token-policy"
_NAMES = {
    "token": "token",
    "tokens": "token",
    "next_token": "token",
    "token_ids": "token",
    "active": "active",
    "next_active": "active",
    "done": "done",
    "next_done": "done",
    "accepted_len": "accepted_len",
    "write_indices": "slots",
    "next_write_indices": "slots",
    "logits": "logits",
}
MEANINGS = ("token", "active", "done", "accepted_len", "slots")


class Policy:
    """The policy of one run. ``live`` are the requests that have not ended, ``chosen`` the tokens ``[B]`` of the last
    round (None before the first). Each request draws from a generator of its own: its tokens do not depend on the
    others beside it."""

    def __init__(self, facts: Facts, sampling: Sampling, seed: int, requests: int, ends: tuple[int, ...]) -> None:
        self.facts, self.sampling, self.ends = facts, sampling, ends
        self.live = np.ones(requests, bool)
        self.chosen: Array | None = None
        self._generators = [np.random.default_rng([seed, row]) for row in range(requests)]

    def go_on(self, flags: Array) -> None:
        """Who is live in the round that begins, as the loop around it says: one flag, or one per request."""
        if flags.size in (1, self.live.size):
            self.live = np.broadcast_to(flags.reshape(-1), self.live.shape).copy()

    def call(
        self, name: str, component: Component, step: InvokeStep, feeds: Mapping[str, Array], decoding: Decoding | None
    ) -> dict[str, Array]:
        """The outputs that the step reads.

        Raises:
            Violation: a port without a meaning, logits of another shape, a row with no finite logit.
        """
        tokens = self._choose(self._logits(name, component, feeds), decoding)
        taken = self.live.copy()
        self.live = taken & ~np.isin(tokens, self.ends)
        self.chosen = tokens
        slots = decoding.slots_after if decoding is not None and decoding.step is not None else np.zeros_like(tokens)
        made = {"token": tokens, "active": self.live, "done": ~self.live, "accepted_len": taken, "slots": slots}
        meanings = {port: self._meaning(name, component, port, value) for port, value in step.outputs.items()}
        return {port: self._shaped(component, port, made[meaning]) for port, meaning in meanings.items()}

    def _logits(self, name: str, component: Component, feeds: Mapping[str, Array]) -> Array:
        bound = component.contract.bindings.get("logits") if component.contract else None
        port = bound or port_of(component, "logits") or ("logits" if "logits" in feeds else None)
        if port is None and len(feeds) == 1:
            port = next(iter(feeds))
        if port is None or port not in feeds:
            raise Violation(
                "run.component",
                f"The token policy {q(name)} has no port for logits; it is given {few(list(feeds))}.",
                "Bind `logits` in its contract.",
            )
        logits = feeds[port]
        if logits.ndim not in (2, 3) or 0 in logits.shape:
            raise Violation(
                "run.rank",
                f"The logits of {q(name)} have the shape {list(logits.shape)}; [B, V] or [B, S, V] is taken.",
                "Correct the graph that makes them.",
            )
        return logits

    def _choose(self, logits: Array, decoding: Decoding | None) -> Array:
        """``[B]`` the token of each request, of its last real position."""
        found = []
        for row in range(len(logits)):
            line = logits[row] if logits.ndim == 2 else logits[row, self._last(row, logits, decoding)]
            numbers = line.astype(np.float64)
            if not np.isfinite(numbers).any():
                raise Violation(
                    "run.non-finite",
                    f"No logit of request {row} is finite, so there is no token to take.",
                    "Look at the first step whose values are not finite.",
                )
            found.append(choose(numbers, self.sampling, self._generators[row]))
        return np.array(found, np.int64)

    def _last(self, row: int, logits: Array, decoding: Decoding | None) -> int:
        step = decoding.step if decoding is not None else None
        return int(step.last[row]) if step is not None and step.valid.shape == logits.shape[:2] else -1

    def _meaning(self, name: str, component: Component, port: str, value: str) -> str:
        bound = {to: role for role, to in (component.contract.bindings if component.contract else {}).items()}
        word = _NAMES.get(bound.get(port, port)) or self._by_cell(value)
        if word not in MEANINGS:
            raise Violation(
                "run.component",
                f"The token policy {q(name)} has an output {q(port)} whose meaning is not known.",
                f"Bind it in its contract to one of {', '.join(MEANINGS[:-1])}.",
                value,
            )
        return word

    def _by_cell(self, value: str) -> str:
        cell, serving = self.facts.carried_into.get(value), self.facts.workflow.serving
        if cell is None:
            return "token" if value in self.facts.published_tokens else ""
        said: dict[str | None, str] = dict.fromkeys(self.facts.conditions, "active")
        if serving is not None:
            said |= {serving.active: "active", serving.done: "done", serving.accepted_len: "accepted_len"}
        for group in self.facts.groups.values():
            said.setdefault(group.logical_lengths, "slots")
            if isinstance(group.update, IndexedScatter):
                said.setdefault(group.update.write_indices, "slots")
        return said.get(cell, "token" if self._is_tokens(cell) else "")

    def _is_tokens(self, cell: str) -> bool:
        contract = self.facts.workflow.state[cell].contract
        return contract.rank == 2 and contract.dtype in ("int64", "int32")

    def _shaped(self, component: Component, port: str, array: Array) -> Array:
        """In the dtype of its contract; a token of rank 2 is ``[B, 1]``."""
        contract = component.ports.outputs.get(port)
        if contract is None:
            return array[:, None] if array is self.chosen else array.astype(np.int64) if array.dtype != bool else array
        made = array.astype(numpy_dtype(contract.dtype))
        return made[:, None] if contract.rank == 2 else made

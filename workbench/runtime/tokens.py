"""Feeds of a text-generation graph, and the loop that runs it with its cache."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from workbench.errors import FeedsError
from workbench.runtime.arrays import NUMPY
from workbench.runtime.padding import check_padding
from workbench.types import Padding

Array = npt.NDArray[Any]


class Session(Protocol):
    """What the loop asks of a loaded graph."""

    inputs: dict[str, Any]
    outputs: tuple[str, ...]

    def run(self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]: ...


@dataclasses.dataclass(frozen=True, eq=False)
class TokenStep:
    """One call: ``input_ids [B, S]``, ``attention_mask [B, T]`` over cache and new tokens."""

    input_ids: Array
    attention_mask: Array

    @property
    def valid(self) -> npt.NDArray[np.bool_]:
        """[B, S] True where a new token is real."""
        return self.attention_mask[:, -self.input_ids.shape[1] :].astype(bool)

    @property
    def position_ids(self) -> Array:
        """[B, S] how many real tokens stand before each new one; 0 in padding at the front."""
        counted = np.maximum(np.cumsum(self.attention_mask, axis=1) - 1, 0)
        return counted[:, -self.input_ids.shape[1] :]

    @property
    def last(self) -> npt.NDArray[np.intp]:
        """[B] which new token of each row is its last real one."""
        return np.asarray(self.valid.shape[1] - 1 - self.valid[:, ::-1].argmax(axis=1))

    @property
    def ending(self) -> TokenStep:
        """The last real token of each row as a step of its own: padding stands in front of what came before it."""
        rows, total = np.arange(len(self.input_ids)), self.attention_mask.shape[1]
        real = self.attention_mask.sum(axis=1)
        mask = (np.arange(total)[None] >= total - real[:, None]).astype(self.attention_mask.dtype)
        return TokenStep(self.input_ids[rows, self.last][:, None], mask)


def right_padded(rows: Sequence[Sequence[int]], pad_token_id: int = 0) -> TokenStep:
    """A prefill of rows of different lengths, padded on the right.

    Raises:
        FeedsError: no rows, or an empty one.
    """
    if not rows or any(len(row) == 0 for row in rows):
        raise FeedsError("Each row needs at least one token; give a longer prompt.")
    width = max(len(row) for row in rows)
    ids = np.array([[*row, *[pad_token_id] * (width - len(row))] for row in rows], np.int64)
    mask = np.array([[1] * len(row) + [0] * (width - len(row)) for row in rows], np.int64)
    return TokenStep(ids, mask)


def next_step(step: TokenStep, tokens: Array) -> TokenStep:
    """The decode step after ``step`` with one new token ``[B]`` per row."""
    grown = np.concatenate([step.attention_mask, np.ones((len(tokens), 1), np.int64)], axis=1)
    return TokenStep(np.asarray(tokens, np.int64)[:, None], grown)


class TokenRunner:
    """Runs steps one after the other on a loaded graph and keeps its cache in between.

    Raises:
        FeedsError: the graph takes other inputs than a text-generation graph, or a step breaks the padding contract.
    """

    def __init__(self, session: Session, padding: Padding) -> None:
        self._session, self._padding = session, padding
        self._past: dict[str, Array] = {}
        self._cache_names = [name for name in session.inputs if name.startswith("past_key_values.")]
        lengths = {session.inputs[name].shape[2] for name in self._cache_names}
        self._capacity = next((length for length in lengths if isinstance(length, int)), None)
        odd = set(session.inputs) - set(self._cache_names) - {"input_ids", "attention_mask", "position_ids"}
        if odd or "logits" not in session.outputs:
            raise FeedsError(
                f"Not a text-generation graph: inputs {', '.join(session.inputs)}; "
                f"outputs {', '.join(session.outputs)}. Give feeds of your own with feeds=."
            )

    def run(self, step: TokenStep) -> Array:
        """Logits ``[B, S, V]`` of a step as float32."""
        past = self._past or self._empty(len(step.input_ids))
        slots = step.attention_mask.shape[1]
        if self._capacity is not None and slots > self._capacity:
            raise FeedsError(f"{slots} slots are needed, and the cache of this graph has {self._capacity}.")
        check_padding(step.attention_mask, self._padding, past=slots - step.input_ids.shape[1])
        given = {"input_ids": step.input_ids, "attention_mask": step.attention_mask, "position_ids": step.position_ids}
        feeds = {n: a.astype(self._dtype(n)) for n, a in given.items() if n in self._session.inputs} | past
        found = self._session.run(feeds)
        self._past = {name: found[name.replace("past_key_values", "present")] for name in self._cache_names}
        return np.asarray(found["logits"], np.float32)

    def _dtype(self, name: str) -> np.dtype[Any]:
        return NUMPY[self._session.inputs[name].type]

    def _empty(self, batch: int) -> dict[str, Array]:
        shapes = {name: self._session.inputs[name].shape for name in self._cache_names}
        length = self._capacity or 0
        return {n: np.zeros([batch, shape[1], length, shape[3]], self._dtype(n)) for n, shape in shapes.items()}


def greedy(runner: TokenRunner, prompt: Sequence[int], max_new_tokens: int, stop: Iterable[int] = ()) -> list[int]:
    """The tokens a graph likes best after a prompt, up to and without a stop token."""
    stops, step, made = set(stop), right_padded([prompt]), list[int]()
    for _ in range(max_new_tokens):
        token = int(runner.run(step)[0, -1].argmax())
        if token in stops:
            break
        made.append(token)
        step = next_step(step, np.array([token]))
    return made

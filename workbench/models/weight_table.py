"""The words of a family's weight table: which checkpoint tensors become which parameters of our modules.

Templates name tensors without ``.weight`` or ``.bias`` (both are converted where they exist); ``{i}`` stands for a
layer, ``{e}`` for an expert or a head. What no entry consumes keeps its name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Shape = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Target:
    """One parameter made from the sources of an entry: its shape, and how its values are computed."""

    name: str
    shape: Callable[[Sequence[Shape], Any], Shape]
    make: Callable[[Sequence[Array], Any], Array]


@dataclasses.dataclass(frozen=True)
class Entry:
    """``sources`` (templates; one with ``{e}`` stands for as many as there are) become ``targets``."""

    sources: tuple[str, ...]
    targets: tuple[Target, ...]


WeightTable = tuple[Entry, ...]


def rename(source: str, target: str) -> Entry:
    """The same tensor under our name."""
    return Entry((source,), (Target(target, lambda shapes, _: shapes[0], lambda arrays, _: arrays[0]),))


def turned(source: str, target: str) -> Entry:
    """A matrix stored ``[in, out]`` (Conv1D) as ``[out, in]``; vectors stay."""
    return Entry((source,), (Target(target, lambda shapes, _: shapes[0][::-1], lambda arrays, _: arrays[0].T),))


def plus_one(source: str, target: str | None = None) -> Entry:
    """A norm that multiplies with ``1 + weight``."""
    one = Target(
        target or source, lambda shapes, _: shapes[0], lambda arrays, _: (arrays[0] + 1).astype(arrays[0].dtype)
    )
    return Entry((source,), (one,))


def split_rows(
    source: str, targets: Sequence[str], sizes: Callable[[Any], Sequence[int]], *, turn: bool = False
) -> Entry:
    """Rows of a packed matrix, one block after the other; ``turn`` for those stored ``[in, out]``."""

    def part(index: int, name: str) -> Target:
        def bounds(config: Any) -> tuple[int, int]:
            widths = list(sizes(config))
            start = sum(widths[:index])
            return start, start + widths[index]

        def make(arrays: Sequence[Array], config: Any) -> Array:
            start, end = bounds(config)
            return (arrays[0].T if turn else arrays[0])[start:end]

        def shape(shapes: Sequence[Shape], config: Any) -> Shape:
            start, end = bounds(config)
            whole = shapes[0][::-1] if turn else shapes[0]
            return (end - start, *whole[1:]) if sum(sizes(config)) == whole[0] else (-1, *whole[1:])

        return Target(name, shape, make)

    return Entry((source,), tuple(part(i, name) for i, name in enumerate(targets)))


def split_heads(source: str, targets: Sequence[str]) -> Entry:
    """Query, key and value of each head side by side: rows ``[H, 3, D]``."""

    def part(index: int, name: str) -> Target:
        def make(arrays: Sequence[Array], config: Any) -> Array:
            rows = arrays[0].reshape(config.num_attention_heads, len(targets), config.head_dim, *arrays[0].shape[1:])
            return rows[:, index].reshape(-1, *arrays[0].shape[1:])

        return Target(name, lambda shapes, _: (shapes[0][0] // len(targets), *shapes[0][1:]), make)

    return Entry((source,), tuple(part(i, name) for i, name in enumerate(targets)))


def stacked(source: str, target: str) -> Entry:
    """One tensor per head or expert, stacked along a new first axis."""
    return Entry((source,), (Target(target, lambda s, _: (len(s), *s[0]), lambda arrays, _: np.stack(arrays)),))


def gate_up_experts(gate: str, up: str, target: str) -> Entry:
    """Gate and up matrices of each expert as ``[N, 2F, E]``, gate rows first."""

    def make(arrays: Sequence[Array], _: Any) -> Array:
        half = len(arrays) // 2
        return np.concatenate([np.stack(arrays[:half]), np.stack(arrays[half:])], axis=1)

    def shape(shapes: Sequence[Shape], _: Any) -> Shape:
        return (len(shapes) // 2, 2 * shapes[0][0], shapes[0][1])

    return Entry((gate, up), (Target(target, shape, make),))

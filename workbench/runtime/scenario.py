"""The ways in which graphs are called for a parity report: the same steps for each, recorded with the reference."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.analysis.parity import DECODE, PREFILL, RIGHT_PADDED, ParityCase
from workbench.runtime.tokens import TokenRunner, TokenStep, next_step, right_padded

Array = npt.NDArray[Any]
DECODE_STEPS = 3
SHORTER = 3
"""How many tokens the second row of a right-padded batch lacks when only one prompt is given."""


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """Steps that share a cache, the case of each, and its logits ``[B, S, V]`` (or another output)."""

    cases: tuple[ParityCase, ...]
    steps: tuple[TokenStep, ...]
    logits: tuple[Array, ...]
    output: str = "logits"


def record(new_runner: Callable[[], TokenRunner], rows: Sequence[Sequence[int]], pad_token_id: int) -> tuple[Run, Run]:
    """Run the reference: the first row alone, then all rows as a right-padded batch with three decode steps.

    The tokens of the decode steps are the reference's own choices, so that every graph sees the same ones.
    """
    alone = right_padded(rows[:1])
    batch = right_padded(rows if len(rows) > 1 else [rows[0], rows[0][: max(1, len(rows[0]) - SHORTER)]], pad_token_id)
    prefill = Run((PREFILL,), (alone,), (new_runner().run(alone),))
    runner = new_runner()
    steps, logits = [batch], [runner.run(batch)]
    for _ in range(DECODE_STEPS):
        steps.append(next_step(steps[-1], _choices(steps[-1], logits[-1])))
        logits.append(runner.run(steps[-1]))
    return prefill, Run((RIGHT_PADDED, *[DECODE] * DECODE_STEPS), tuple(steps), tuple(logits))


def _choices(step: TokenStep, logits: Array) -> Array:
    """[B] the best token after the last real one of each row."""
    return logits[np.arange(len(logits)), step.last].argmax(axis=-1)


def last_only(run: Run) -> Run:
    """A run as a graph with ``last_token_logits`` gives it: of each row the last real token alone, ``[B, 1, V]``."""
    logits = [
        found if found.shape[1] == 1 else found[np.arange(len(found)), step.last][:, None]
        for step, found in zip(run.steps, run.logits, strict=True)
    ]
    return dataclasses.replace(run, steps=tuple(step.ending for step in run.steps), logits=tuple(logits))


def replay(new_runner: Callable[[], TokenRunner], runs: Sequence[Run]) -> tuple[Run, ...]:
    """The same steps on another graph."""
    made = []
    for run in runs:
        runner = new_runner()
        made.append(Run(run.cases, run.steps, tuple(runner.run(step) for step in run.steps)))
    return tuple(made)

"""Running a graph on rows of tokens: alone, padded on either side, and one token at a time after that."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from workbench.runtime.ort_cpu import OrtCpuSession
from workbench.runtime.tokens import TokenRunner, TokenStep
from workbench.types import Padding

Rows = Sequence[Sequence[int]]
RowLogits = tuple[np.ndarray, np.ndarray]
"""Logits of one row: ``[S, V]`` of its prompt and ``[N, V]`` of the tokens after it. Padding is left out."""

PAD = 7
"""What padding is filled with: a token as good as any, so that looking at it would show."""


def alone(session: OrtCpuSession, rows: Rows, decode: Rows, padding: Padding = "any") -> list[RowLogits]:
    """Each row by itself, without padding."""
    return [batch(session, [row], [more], "right", padding)[0] for row, more in zip(rows, decode, strict=True)]


def batch(
    session: OrtCpuSession, rows: Rows, decode: Rows, side: str, padding: Padding = "any", extra: int = 0
) -> list[RowLogits]:
    """All rows at once, padded on one ``side`` to the longest and ``extra`` slots more."""
    runner, width = TokenRunner(session, padding), max(len(row) for row in rows) + extra
    ids = np.array([_pad(row, width, PAD, side) for row in rows])
    mask = np.array([_pad([1] * len(row), width, 0, side) for row in rows])
    prefill = runner.run(TokenStep(ids, mask))
    steps = []
    for tokens in np.array(decode).T:
        mask = np.concatenate([mask, np.ones((len(rows), 1), mask.dtype)], axis=1)
        steps.append(runner.run(TokenStep(tokens[:, None], mask))[:, -1])
    real = [slice(None, len(row)) if side == "right" else slice(width - len(row), None) for row in rows]
    return [(prefill[b][real[b]], np.stack(steps)[:, b]) for b in range(len(rows))]


def _pad(row: Sequence[int], width: int, filler: int, side: str) -> list[int]:
    filling = [filler] * (width - len(row))
    return [*row, *filling] if side == "right" else [*filling, *row]


def run(model: ir.Model, rows: Rows, decode: Rows, padding: Padding = "any") -> dict[str, list[RowLogits]]:
    """``alone`` and ``right`` (a right-padded batch), in one session."""
    with OrtCpuSession(model) as session:
        return {
            "alone": alone(session, rows, decode, padding),
            "right": batch(session, rows, decode, "right", padding),
        }


def distance(found: Sequence[RowLogits], expected: Sequence[RowLogits]) -> float:
    """The largest difference of any logit; inf where shapes differ or anything is not finite."""
    worst = 0.0
    for (prefill, steps), (wanted, wanted_steps) in zip(found, expected, strict=True):
        for a, b in ((prefill, wanted), (steps, wanted_steps)):
            if a.shape != b.shape or not np.isfinite(a).all():
                return float("inf")
            worst = max(worst, float(np.abs(a.astype(np.float64) - b).max()))
    return worst

"""Parity as pure numbers: two sets of logits in, a row per position out. Nothing is run here.

Shapes: ``B`` batch rows, ``S`` positions, ``V`` vocabulary. A candidate that holds NaN or Inf differs,
whatever the tolerance.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from workbench.errors import FeedsError
from workbench.types import Tolerance

Verdict = Literal["ok", "ill-conditioned", "differs", "not run"]
"""``ok`` within the tolerance, ``differs`` beyond it (NaN and Inf included), ``not run`` with a reason.

``ill-conditioned``: beyond the tolerance, and the reference's own graph differs from itself by a third of that or more.
"""

Label = Literal["ep-kernels", "graph-on-cpu", "not-run"]
"""What the numbers prove: the provider's own kernels, its graph on CPU kernels, or nothing."""

LABELS = ("ep-kernels", "graph-on-cpu", "not-run")
VERDICTS = ("ok", "ill-conditioned", "differs", "not run")
ILL_FACTOR = 3
"""How many times what the reference differs from itself by a graph may be off, to be called ill-conditioned."""
ILL_SHARE = 1e-3
"""Share of the largest logit that a reference may differ from itself by; beyond it, it cannot judge anything."""
_NAN = float("nan")
_Array = npt.NDArray[Any]


@dataclasses.dataclass(frozen=True)
class ParityCase:
    """One way of calling the graphs: a name and what it exercises, in words."""

    name: str
    about: str = ""


PREFILL = ParityCase("prefill", "the whole prompt at once, no padding")
RIGHT_PADDED = ParityCase("right-padded", "a batch whose shorter rows are padded on the right")
DECODE = ParityCase("decode", "one new token at a time, with the cache of the step before")


@dataclasses.dataclass(frozen=True)
class Subject:
    """Whose graph ran, in which dtype, on what, and what that proves.

    ``executor`` names the runtime (``ort-cpu``); ``label`` is one of ``ep-kernels``, ``graph-on-cpu``,
    ``not-run``.
    """

    execution_provider: str
    dtype: str
    executor: str
    label: Label

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if not getattr(self, field.name):
                raise ValueError(f"A parity subject needs {field.name}.")
        if self.label not in LABELS:
            raise ValueError(f"Unknown parity label {self.label!r}. Known: {', '.join(LABELS)}.")


@dataclasses.dataclass(frozen=True)
class ParityRow:
    """One output at one position of one batch row.

    ``max_abs``, ``mean_abs`` over the vocabulary, in logits; ``kl`` is KL(reference || candidate) in nats;
    ``top1`` whether both choose the same token; ``floor`` the error that the dtype alone makes.
    """

    execution_provider: str
    dtype: str
    executor: str
    label: Label
    output: str
    position: int
    max_abs: float
    mean_abs: float
    kl: float
    top1: bool | None
    floor: float
    tolerance: Tolerance
    verdict: Verdict
    case: str
    row: int
    reason: str = ""


def compare_logits(
    reference: npt.ArrayLike,
    candidate: npt.ArrayLike,
    valid: npt.ArrayLike,
    *,
    floor: npt.ArrayLike | None,
    tolerance: Tolerance,
    subject: Subject,
    case: ParityCase | str,
    output: str = "logits",
    first_position: int = 0,
    own_floor: bool = False,
) -> tuple[ParityRow, ...]:
    """Compare two runs at every valid position.

    Args:
        reference: [B, S, V] logits of the reference, finite.
        candidate: [B, S, V] logits to judge; NaN and Inf give the verdict ``differs``.
        valid: [B, S] True where a real token is: padded positions give no row.
        floor: [B, S] or scalar, the largest error that the dtype alone makes there; None is 0 (same dtype).
        tolerance: the largest ``max_abs`` that is still ``ok``.
        subject: whose run the candidate is.
        case: the way the graphs were called.
        output: name of the compared output.
        first_position: position of column 0 in the sequence (decode steps).
        own_floor: ``floor`` is what the reference's graph differs from itself by, in the same dtype; beyond the
            tolerance a row is then ``ill-conditioned`` up to ``ILL_FACTOR`` times that.

    Returns:
        Rows ordered by batch row, then position.

    Raises:
        FeedsError: shapes do not fit each other, no position is valid, or the reference is not finite.
    """
    ref, cand, mask = np.asarray(reference), np.asarray(candidate), np.asarray(valid, dtype=bool)
    floors = _checked(ref, cand, mask, floor, output)
    name = case if isinstance(case, str) else case.name
    return tuple(
        _row(
            ref[b, s],
            cand[b, s],
            float(floors[b, s]),
            tolerance,
            subject,
            (name, int(b)),
            (output, first_position + int(s)),
            own_floor,
        )
        for b, s in zip(*np.nonzero(mask), strict=True)
    )


def _row(
    ref: _Array,
    cand: _Array,
    floor: float,
    tolerance: Tolerance,
    subject: Subject,
    case_row: tuple[str, int],
    output_position: tuple[str, int],
    own_floor: bool,
) -> ParityRow:
    max_abs, mean_abs, kl, top1 = _numbers(ref, cand)
    verdict, reason = _judge(max_abs, cand, tolerance)
    if own_floor and floor > 0 and verdict == "differs":
        verdict, reason = _with_floor(max_abs, floor, float(np.abs(ref).max()), reason)
    return ParityRow(
        execution_provider=subject.execution_provider,
        dtype=subject.dtype,
        executor=subject.executor,
        label=subject.label,
        output=output_position[0],
        position=output_position[1],
        max_abs=max_abs,
        mean_abs=mean_abs,
        kl=kl,
        top1=top1,
        floor=floor,
        tolerance=tolerance,
        verdict=verdict,
        case=case_row[0],
        row=case_row[1],
        reason=reason,
    )


def not_run(
    subject: Subject, case: ParityCase | str, reason: str, tolerance: Tolerance, output: str = "logits"
) -> ParityRow:
    """The row that stands where no number can: NaN everywhere, with the reason in a sentence."""
    if not reason:
        raise ValueError("A parity case that is not run needs the reason.")
    return ParityRow(
        execution_provider=subject.execution_provider,
        dtype=subject.dtype,
        executor=subject.executor,
        label="not-run",
        output=output,
        position=-1,
        max_abs=_NAN,
        mean_abs=_NAN,
        kl=_NAN,
        top1=None,
        floor=_NAN,
        tolerance=tolerance,
        verdict="not run",
        case=case if isinstance(case, str) else case.name,
        row=-1,
        reason=reason,
    )


def _checked(
    ref: _Array,
    cand: _Array,
    mask: npt.NDArray[np.bool_],
    floor: npt.ArrayLike | None,
    output: str,
) -> npt.NDArray[np.float64]:
    if ref.ndim != 3 or ref.shape != cand.shape:
        raise FeedsError(
            f"Output {output!r}: the reference has shape {ref.shape} and the candidate {cand.shape}; "
            "both must be [B, S, V] and equal."
        )
    if mask.shape != ref.shape[:2]:
        raise FeedsError(f"Output {output!r}: valid has shape {mask.shape}, not [B, S] = {ref.shape[:2]}.")
    if not mask.any():
        raise FeedsError(f"Output {output!r}: no position is valid, so nothing would be compared.")
    if not np.isfinite(ref[mask]).all():
        raise FeedsError(f"Output {output!r}: the reference itself holds NaN or Inf; nothing can be judged by it.")
    return _floors(floor, mask.shape, output)


def _floors(floor: npt.ArrayLike | None, shape: tuple[int, ...], output: str) -> npt.NDArray[np.float64]:
    values = np.asarray(0.0 if floor is None else floor, dtype=np.float64)
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise FeedsError(f"Output {output!r}: floor has shape {values.shape}, not [B, S] = {shape}.") from None


def _numbers(ref: _Array, cand: _Array) -> tuple[float, float, float, bool]:
    """max_abs, mean_abs, kl, top1 of one position, in float64; NaN where the candidate is not finite."""
    a, b = ref.astype(np.float64), cand.astype(np.float64)
    if not np.isfinite(b).all():
        return _NAN, _NAN, _NAN, False
    error = np.abs(a - b)
    log_p, log_q = _log_softmax(a), _log_softmax(b)
    kl = float(np.sum(np.exp(log_p) * (log_p - log_q)))
    return float(error.max()), float(error.mean()), max(kl, 0.0), bool(a.argmax() == b.argmax())


def _log_softmax(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    shifted = x - x.max()
    result: npt.NDArray[np.float64] = shifted - np.log(np.exp(shifted).sum())
    return result


def _judge(max_abs: float, cand: _Array, tolerance: Tolerance) -> tuple[Verdict, str]:
    if math.isnan(max_abs):
        bad = int((~np.isfinite(cand.astype(np.float64))).sum())
        return "differs", f"{bad} of {cand.size} logits are NaN or Inf"
    if max_abs <= tolerance.atol:
        return "ok", ""
    return "differs", f"max|d| {max_abs:.2g} is beyond {tolerance.atol:.2g} ({tolerance.reason})"


def _with_floor(max_abs: float, floor: float, largest: float, reason: str) -> tuple[Verdict, str]:
    """The verdict beyond the tolerance, beside what the reference's graph differs from itself by."""
    own = f"the generic graph differs from itself by {floor:.2g} here"
    if floor > ILL_SHARE * largest:
        return "differs", f"{reason}; {own}, which is too much to judge by"
    if max_abs <= ILL_FACTOR * floor:
        return "ill-conditioned", f"{reason}; {own}"
    return "differs", f"{reason}, and {own} only"


@dataclasses.dataclass(frozen=True, eq=False)
class LogitSample:
    """Pairs of logits of one execution provider, for scatter plots: two float32 vectors of the same
    length.
    """

    subject: Subject
    reference: npt.NDArray[np.float32]
    candidate: npt.NDArray[np.float32]


def sample_logits(
    reference: _Array,
    candidate: _Array,
    valid: npt.ArrayLike,
    *,
    subject: Subject,
    seed: int,
    limit: int = 20_000,
) -> LogitSample:
    """At most ``limit`` pairs from the valid positions of [B, S, V] logits, chosen by ``seed``."""
    mask = np.asarray(valid, dtype=bool)
    a, b = reference[mask].ravel(), candidate[mask].ravel()
    if a.size > limit:
        pick = np.random.default_rng(seed).choice(a.size, limit, replace=False)
        pick.sort()
        a, b = a[pick], b[pick]
    return LogitSample(subject, a.astype(np.float32), b.astype(np.float32))

"""Parity rows folded for reading: the worst numbers of one execution provider, and the verdict over them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from workbench.analysis.decades import at_most, bound, comparison, decade, within
from workbench.analysis.markup import block, table
from workbench.analysis.parity import Label, ParityRow, Verdict
from workbench.types import Tolerance

if TYPE_CHECKING:
    import pandas as pd

SUMMARY_COLUMNS = [
    "execution_provider",
    "dtype",
    "executor",
    "label",
    "case",
    "positions",
    "max_abs",
    "kl",
    "top1",
    "floor",
    "tolerance",
    "verdict",
    "reason",
]


@dataclasses.dataclass(frozen=True)
class ParityGroup:
    """One execution provider in one case (or, ``case=""``, in all of them): the worst numbers, and the
    verdict.

    ``top1`` is the number of positions, of ``positions``, at which both runs choose the same token; None where the
    output chooses none (hidden states).
    """

    execution_provider: str
    dtype: str
    executor: str
    label: Label
    case: str
    positions: int
    max_abs: float
    kl: float
    top1: int | None
    floor: float
    tolerance: Tolerance
    verdict: Verdict
    reason: str

    @property
    def choices(self) -> str:
        """``18/18``, or a dash where nothing ran or nothing is chosen."""
        return "-" if self.top1 is None or not self.positions else f"{self.top1}/{self.positions}"

    @property
    def text(self) -> str:
        """One line, the origin of the tolerance included, without any digit that changes from machine to machine."""
        return self._line(f" ({self.tolerance.reason})")

    @property
    def short(self) -> str:
        """The same line without the origin of the tolerance."""
        return self._line("")

    def _line(self, origin: str) -> str:
        if self.verdict == "not run":
            return f"{self.execution_provider} {self.dtype}: not run: {self.reason}"
        head = f"{self.execution_provider} {self.dtype} on {self.executor} ({self.label})"
        numbers = f"{comparison(self.max_abs, self.tolerance.atol)}{origin}"
        tail = f"; {self.reason}" if self.reason else ""
        choices = "" if self.top1 is None else f", top1 {self.choices}"
        return f"{head}: {numbers} {self.verdict}{choices}{tail}"

    def _max_abs(self) -> str:
        if self.verdict == "ok":
            return within(self.max_abs, self.tolerance.atol)
        return f"{self.max_abs:.2g}" if math.isfinite(self.max_abs) else decade(self.max_abs)

    def cells(self) -> list[object]:
        """What the HTML table shows: errors in decades."""
        ran = self.verdict != "not run"
        limit = bound(self.tolerance.atol) if ran else "-"
        kl = "-" if self.top1 is None else at_most(self.kl, 1e-9)
        worst = [decade(self.max_abs), kl, self.choices, decade(self.floor)] if ran else ["-", "-", "-", "-"]
        return [
            self.execution_provider,
            self.dtype,
            self.executor,
            self.label,
            self.case,
            *worst,
            limit,
            self.verdict,
            self.reason,
        ]


@dataclasses.dataclass(frozen=True)
class ParitySummary:
    """A row per execution provider and case."""

    rows: tuple[ParityGroup, ...]

    def to_frame(self) -> pd.DataFrame:
        """Worst ``max_abs`` and ``kl``, share of positions with the same top token, floor, tolerance,
        verdict.
        """
        import pandas as pd

        rows = [
            [
                g.execution_provider,
                g.dtype,
                g.executor,
                g.label,
                g.case,
                g.positions,
                g.max_abs,
                g.kl,
                g.top1 / g.positions if g.positions and g.top1 is not None else float("nan"),
                g.floor,
                g.tolerance.atol,
                g.verdict,
                g.reason,
            ]
            for g in self.rows
        ]
        return pd.DataFrame(rows, columns=SUMMARY_COLUMNS)

    def __repr__(self) -> str:
        lines = [f"  {group.case}: {group.short}" for group in self.rows]
        return "\n".join(["ParitySummary", *lines])

    def _repr_html_(self) -> str:
        columns = [
            "execution_provider",
            "dtype",
            "executor",
            "label",
            "case",
            "max|d|",
            "KL",
            "top1",
            "floor",
            "tolerance",
            "verdict",
            "note",
        ]
        rows = [group.cells() for group in self.rows]
        if not any(row[-1] for row in rows):  # no notes: no column for them
            columns, rows = columns[:-1], [row[:-1] for row in rows]
        return block("Parity, errors rounded up to decades", table(columns, rows))


def worst_verdict(verdicts: Iterable[Verdict]) -> Verdict:
    found = set(verdicts)
    order: tuple[Verdict, ...] = ("differs", "ill-conditioned", "ok")
    return next((verdict for verdict in order if verdict in found), "not run")


def _max(values: Iterable[float]) -> float:
    """The largest, NaN when any is: a number that cannot be compared is worse than any that can."""
    found = list(values)
    return float("nan") if not found or any(map(math.isnan, found)) else max(found)


def fold(rows: list[ParityRow], case: str) -> ParityGroup:
    """Fold rows of one execution provider; rows that did not run only count when none did."""
    ran = [row for row in rows if row.verdict != "not run"] or rows
    first = ran[0]
    verdict = worst_verdict(row.verdict for row in ran)
    worst = max(ran, key=_excess)
    loosest = max((row.tolerance for row in ran), key=lambda t: t.atol)
    limit = loosest if verdict == "ok" else worst.tolerance
    return ParityGroup(
        first.execution_provider,
        first.dtype,
        first.executor,
        first.label,
        case,
        len(ran) if verdict != "not run" else 0,
        _max(row.max_abs for row in ran),
        _max(row.kl for row in ran),
        None if all(row.top1 is None for row in ran) else sum(row.top1 is True for row in ran),
        _max(row.floor for row in ran),
        limit,
        verdict,
        _note(rows, ran),
    )


def _excess(row: ParityRow) -> float:
    return math.inf if math.isnan(row.max_abs) else row.max_abs - row.tolerance.atol


def _note(rows: list[ParityRow], ran: list[ParityRow]) -> str:
    """Why something differs, cannot be told or did not run; machine-stable unless it differs."""
    left = [row for row in rows if row.verdict == "not run"]
    parts = dict.fromkeys(f"{row.case} not run: {row.reason}" if ran[0] is not left[0] else row.reason for row in left)
    bad = [row for row in ran if row.verdict == "differs" and math.isnan(row.max_abs)]
    parts.update(dict.fromkeys(row.reason for row in bad[:1]))
    ill = [row for row in ran if row.verdict == "ill-conditioned"]
    if ill:
        most = decade(_max(row.floor for row in ill))
        parts[f"at {len(ill)} of {len(ran)} positions the generic graph differs from itself by up to {most}"] = None
    return "; ".join(parts)

"""The report over all parity rows: per execution provider and case, and the verdict over all of them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench.analysis.markup import block, escape
from workbench.analysis.parity import ILL_FACTOR, LABELS, VERDICTS, LogitSample, ParityRow, Verdict
from workbench.analysis.parity_summary import ParityGroup, ParitySummary, fold, worst_verdict
from workbench.types import Tolerance

if TYPE_CHECKING:
    import pandas as pd

    from workbench.viz.figure import Figure

PARITY_COLUMNS = [
    "execution_provider",
    "dtype",
    "executor",
    "label",
    "output",
    "position",
    "max_abs",
    "mean_abs",
    "kl",
    "top1",
    "floor",
    "tolerance",
    "verdict",
    "case",
    "row",
    "reason",
]


@dataclasses.dataclass(frozen=True, eq=False)
class ParityReport:
    """How far each execution provider's graph is from the reference, and everything needed to read that
    honestly.

    Args:
        rows: a row per output, position and batch row; each carries executor, label, dtype, floor and
        tolerance. reference: what was compared with (``generic float32 on ort-cpu``).
        seed: seed of the inputs and of the sample.
        versions: package versions, ``onnxruntime`` among them.
        session_options: options of the sessions that ran, as text.
        prompts: the prompts, empty when feeds were given.
        samples: logits for the scatter plot, by execution provider.

    Raises:
        ValueError: something that makes the numbers meaningful is missing.
    """

    rows: tuple[ParityRow, ...]
    reference: str
    seed: int
    versions: Mapping[str, str]
    session_options: Mapping[str, str]
    prompts: tuple[str, ...] = ()
    samples: Mapping[str, LogitSample] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        _check(self)
        for name in ("versions", "session_options", "samples"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def verdict(self) -> Verdict:
        """The worst of the rows: ``differs``, ``ill-conditioned``, ``ok``; ``not run`` if nothing ran."""
        return worst_verdict(row.verdict for row in self.rows)

    @property
    def conclusion(self) -> str:
        """The verdict, and beside it whose graph did not run: ``ok; not run: dml``."""
        idle = [group.execution_provider for group in self.overall() if group.verdict == "not run"]
        return f"{self.verdict}; not run: {', '.join(idle)}" if idle and self.verdict != "not run" else self.verdict

    @property
    def execution_providers(self) -> tuple[str, ...]:
        """Names in the order of the rows."""
        return tuple(dict.fromkeys(row.execution_provider for row in self.rows))

    @property
    def cases(self) -> tuple[str, ...]:
        """Names of the cases in the order of the rows."""
        return tuple(dict.fromkeys(row.case for row in self.rows))

    def summary(self) -> ParitySummary:
        """One row per execution provider and case."""
        pairs = dict.fromkeys((row.execution_provider, row.case) for row in self.rows)
        return ParitySummary(tuple(fold(self._of(ep, case), case) for ep, case in pairs))

    def overall(self) -> tuple[ParityGroup, ...]:
        """One row per execution provider over all its cases."""
        return tuple(fold(self._of(ep), "") for ep in self.execution_providers)

    def _of(self, execution_provider: str, case: str | None = None) -> list[ParityRow]:
        rows = (row for row in self.rows if row.execution_provider == execution_provider)
        return [row for row in rows if case in (None, row.case)]

    def to_frame(self) -> pd.DataFrame:
        """A row per output, position and batch row, with exact numbers; ``tolerance`` is the absolute
        limit.
        """
        import pandas as pd

        rows = [[_plain(getattr(row, column)) for column in PARITY_COLUMNS] for row in self.rows]
        return pd.DataFrame(rows, columns=PARITY_COLUMNS)

    def plot(self, kind: str = "position") -> Figure:
        """``position``: error against position, a panel per case. ``scatter``: density of logits on the
        identity line.

        Raises:
            UnknownNameError: another kind.
        """
        from workbench.viz.parity import plot_parity

        return plot_parity(self, kind)

    def __repr__(self) -> str:
        lines = [f"  {group.text}" for group in self.overall()]
        return "\n".join([f"ParityReport(against {self.reference}: {self.conclusion})", *lines])

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{escape(group.text)}</li>" for group in self.overall())
        prompts = f"<p>Prompts: {escape(', '.join(map(repr, self.prompts)))}</p>" if self.prompts else ""
        title = f"Parity against {self.reference}: {self.conclusion}"
        return block(title, f"<ul>{lines}</ul>{prompts}{self.summary()._repr_html_()}")


def _plain(value: object) -> object:
    return value.atol if isinstance(value, Tolerance) else value


def _check(report: ParityReport) -> None:
    if not report.rows:
        raise ValueError("A parity report needs at least one row; a case that did not run has one with the reason.")
    if not report.reference or not report.versions:
        raise ValueError("A parity report needs the name of its reference and the package versions.")
    if not report.session_options and any(row.verdict != "not run" for row in report.rows):
        raise ValueError("A parity report of something that ran needs the session options.")
    for row in report.rows:
        _check_row(row)


def _check_row(row: ParityRow) -> None:
    place = f"{row.execution_provider} {row.case}"
    if row.label not in LABELS or row.verdict not in VERDICTS:
        raise ValueError(f"Parity row {place}: unknown label {row.label!r} or verdict {row.verdict!r}.")
    if not row.executor or not row.dtype or not row.tolerance.reason:
        raise ValueError(f"Parity row {place}: executor, dtype and the reason of the tolerance are needed.")
    if not (math.isfinite(row.tolerance.atol) and row.tolerance.atol >= 0):
        raise ValueError(f"Parity row {place}: a tolerance of {row.tolerance.atol} cannot fail.")
    if row.verdict == "not run":
        if not row.reason or row.label != "not-run":
            raise ValueError(f"Parity row {place}: 'not run' needs a reason and the label 'not-run'.")
    elif not math.isfinite(row.floor):
        raise ValueError(f"Parity row {place}: the floor is missing.")
    elif row.verdict == "ok" and not row.max_abs <= row.tolerance.atol:
        raise ValueError(f"Parity row {place}: 'ok' with max_abs {row.max_abs} beyond {row.tolerance.atol}.")
    elif row.verdict == "ill-conditioned" and not row.tolerance.atol < row.max_abs <= ILL_FACTOR * row.floor:
        raise ValueError(
            f"Parity row {place}: 'ill-conditioned' with max_abs {row.max_abs}, tolerance {row.tolerance.atol} and "
            f"floor {row.floor}; it is for what is beyond the tolerance and within {ILL_FACTOR} times the floor."
        )

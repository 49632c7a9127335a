"""Why a rule runs for one execution provider and not for another: the plan's own reasons, side by side."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from workbench.analysis.markup import block, table

if TYPE_CHECKING:
    import pandas as pd

PLAN_COLUMNS = ["execution_provider", "rule", "planned", "reason"]


@dataclasses.dataclass(frozen=True)
class PlanRow:
    """One rule for one execution provider: whether it is planned, and because of what."""

    execution_provider: str
    rule: str
    planned: bool
    reason: str


@dataclasses.dataclass(frozen=True)
class PlanTable:
    """All rules of all execution providers: first those planned, in the order in which they run, then the others."""

    rows: tuple[PlanRow, ...]

    def to_frame(self) -> pd.DataFrame:
        """A row per execution provider and rule: execution_provider, rule, planned, reason."""
        import pandas as pd

        return pd.DataFrame([dataclasses.astuple(row) for row in self.rows], columns=PLAN_COLUMNS)

    def folded(self) -> list[PlanRow]:
        """Rows of one execution provider with the same reason and outcome joined: their rules share a row."""
        groups: dict[tuple[str, bool, str], list[str]] = {}
        for r in self.rows:
            groups.setdefault((r.execution_provider, r.planned, r.reason), []).append(r.rule)
        return [PlanRow(name, ", ".join(rules), planned, why) for (name, planned, why), rules in groups.items()]

    def __repr__(self) -> str:
        lines = [f"  {r.execution_provider} {'+' if r.planned else '-'} {r.rule}: {r.reason}" for r in self.folded()]
        return "\n".join(["PlanTable(+ planned, - not planned)", *lines])

    def _repr_html_(self) -> str:
        rows = [(r.execution_provider, r.rule, "yes" if r.planned else "no", r.reason) for r in self.folded()]
        return block("Which rules run, and why", table(PLAN_COLUMNS, rows, empty="No rule is known."))

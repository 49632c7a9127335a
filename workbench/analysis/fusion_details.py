"""Rules, what they did for each provider, and their misses folded over layers, each with its nearest miss."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from workbench.analysis.markup import block
from workbench.analysis.misses import MissRow, MissTable, alike, group, miss_table
from workbench.analysis.near_miss import NearMiss, in_graph
from workbench.analysis.rebuilt import rebuilt
from workbench.analysis.tables import FusionTable, fusion_table
from workbench.rules.report import Miss, OptimizationReport, RuleReport

if TYPE_CHECKING:
    import pandas as pd

    from workbench.rules.recording import Recording

COLUMNS = [
    "execution_provider", "rule", "candidates", "applied", "fact", "precondition", "unmatched", "partial",
]  # fmt: skip
PARTIAL = "partial"
"""The kind of a rewrite that was done and could have taken more with it."""
MOST_IN_TEXT = 20


@dataclasses.dataclass(frozen=True, slots=True)
class FusionLine:
    """What one planned rule did for one execution provider; misses are counted by kind."""

    execution_provider: str
    rule: str
    candidates: int
    applied: int
    fact: int
    precondition: int
    unmatched: int
    partial: int


@dataclasses.dataclass(frozen=True)
class MissFold:
    """Misses that are alike but for the layer, and the nearest miss of the first of them.

    ``kind`` is that of the misses, or ``partial``. ``nodes`` and ``scopes`` name every one.
    """

    execution_provider: str
    rule: str
    kind: str
    where: str
    reason: str
    nodes: tuple[str, ...]
    scopes: tuple[str, ...]
    near: NearMiss


@dataclasses.dataclass(frozen=True)
class FusionDetails:
    """Everything a report on fusions shows. ``fusions`` and ``misses`` are the tables that it goes beyond."""

    lines: tuple[FusionLine, ...]
    folds: tuple[MissFold, ...]
    fusions: FusionTable
    misses: MissTable

    @property
    def execution_providers(self) -> tuple[str, ...]:
        """Names in the order given, those for which no rule was planned included."""
        return self.fusions.execution_providers

    def to_frame(self) -> pd.DataFrame:
        """A row per execution provider and planned rule: ``COLUMNS``, misses counted by kind."""
        import pandas as pd

        return pd.DataFrame([dataclasses.astuple(line) for line in self.lines], columns=COLUMNS)

    def __repr__(self) -> str:
        missed = [
            f"  {fold.execution_provider} {fold.rule}: {fold.where}: {fold.kind}: {fold.reason}" for fold in self.folds
        ]
        return "\n".join([repr(self.fusions).replace("FusionTable", "FusionDetails", 1), *missed])

    def _repr_html_(self) -> str:
        summary = self.misses.summary()._repr_html_()
        near = "".join(fold.near._repr_html_() for fold in self.folds[:MOST_IN_TEXT])
        left = len(self.folds) - MOST_IN_TEXT
        more = f"<p>{left} more of them are in the table.</p>" if left > 0 else ""
        return self.fusions._repr_html_() + summary + (block("Nearest misses", near, more) if near else "")

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def fusion_details(
    reports: Mapping[str, OptimizationReport],
    graphs: Mapping[str, ir.Model] | None = None,
    recordings: Mapping[str, Recording] | None = None,
) -> FusionDetails:
    """Put reports, the graphs that they are about, and recordings where there are any, into one result."""
    lines = [_line(name, rule) for name, report in reports.items() for rule in report.rules]
    folds: list[MissFold] = []
    for name, report in reports.items():
        graph = (graphs or {}).get(name)
        folds += _folds(name, report, _Looking(graph, (recordings or {}).get(name)))
    return FusionDetails(tuple(lines), tuple(folds), fusion_table(reports), miss_table(reports))


@dataclasses.dataclass
class _Looking:
    """Where a provider's misses are looked up; a graph of a moment is rebuilt once."""

    final: ir.Model | None
    recording: Recording | None
    moments: dict[int, ir.Graph] = dataclasses.field(default_factory=dict)

    def near(self, miss: Miss, pattern: str) -> NearMiss:
        index = self.recording.looked(miss.rule, miss.node) if self.recording is not None else None
        if self.recording is None or index is None:
            return in_graph(miss, self.final.graph if self.final is not None else None, "the final graph", pattern)
        if index not in self.moments:
            self.moments[index] = rebuilt(self.recording, index)
        return in_graph(miss, self.moments[index], "when the rule looked", pattern)


def _line(name: str, rule: RuleReport) -> FusionLine:
    fact, precondition, unmatched = (rule.missed(kind) for kind in ("fact", "precondition", "unmatched"))
    return FusionLine(
        name, rule.rule, rule.candidates, rule.applied, fact, precondition, unmatched, len(rule.partial)
    )  # fmt: skip


def _folds(name: str, report: OptimizationReport, looking: _Looking) -> list[MissFold]:
    found: dict[MissRow, Miss] = {}
    patterns = {rule.rule: rule.pattern for rule in report.rules}
    for rule in report.rules:
        found |= {MissRow(name, m.rule, m.node, m.scope, m.kind, m.reason): m for m in rule.misses}
        found |= {MissRow(name, m.rule, m.node, m.scope, PARTIAL, m.reason): m for m in rule.partial}
    return [_fold(members, looking.near(found[members[0]], patterns[members[0].rule])) for members in alike(found)]


def _fold(members: list[MissRow], near: NearMiss) -> MissFold:
    folded = group(members)
    return MissFold(
        folded.execution_provider, folded.rule, folded.kind, folded.where, folded.reason,
        tuple(row.node for row in members), tuple(row.scope for row in members), near,
    )  # fmt: skip

"""Execution providers side by side: what operators each graph has, and what each rule did on the way there.

Names of graphs keep the order in which they are given; a graph named ``generic`` comes first.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import onnx_ir as ir

from workbench.analysis.histogram import OpHistogram, histogram, line
from workbench.analysis.markup import block, escape, plural, table
from workbench.analysis.plan_table import PlanRow, PlanTable
from workbench.types import OpId

if TYPE_CHECKING:
    import pandas as pd

    from workbench.rules.report import OptimizationReport, RuleReport
    from workbench.viz.figure import Figure
    from workbench.widgets.op_histogram import OpHistogram as OpBars

GENERIC = "generic"
"""Name of the graph that no execution provider has touched."""

OP_COLUMNS = ["execution_provider", "domain", "op_type", "count"]
FUSION_COLUMNS = [
    "execution_provider",
    "rule",
    "candidates",
    "applied",
    "fact",
    "precondition",
    "unmatched",
]


@dataclasses.dataclass(frozen=True)
class OpTable:
    """Operator counts of several graphs: ``histograms`` maps the graph's name to its :class:`OpHistogram`."""

    histograms: Mapping[str, OpHistogram]

    def __post_init__(self) -> None:
        first = [name for name in self.histograms if name == GENERIC]
        order = first + [name for name in self.histograms if name != GENERIC]
        ordered = MappingProxyType({name: self.histograms[name] for name in order})
        object.__setattr__(self, "histograms", ordered)

    def ops(self) -> list[OpId]:
        """Every operator of every graph once, the highest count of any graph first, ties by name."""
        names = {op for h in self.histograms.values() for op in h.counts}
        most = {op: max(h.counts.get(op, 0) for h in self.histograms.values()) for op in names}
        return sorted(names, key=lambda op: (-most[op], op.op_type, op.domain))

    def count(self, execution_provider: str, op_type: str, domain: str | None = None) -> int:
        """Nodes of an op type in one graph; 0 when there are none."""
        return self.histograms[execution_provider].count(op_type, domain)

    def to_frame(self) -> pd.DataFrame:
        """A row per graph and operator: execution_provider, domain, op_type, count."""
        import pandas as pd

        rows = [[name, op.domain, op.op_type, n] for name, h in self.histograms.items() for op, n in h.counts.items()]
        return pd.DataFrame(rows, columns=OP_COLUMNS)

    def pivot(self) -> pd.DataFrame:
        """Operators down, graphs across, 0 where a graph has none."""
        import pandas as pd

        index = pd.MultiIndex.from_tuples([(op.domain, op.op_type) for op in self.ops()], names=OP_COLUMNS[1:3])
        columns = pd.Index(list(self.histograms), name="execution_provider")
        return pd.DataFrame(self._grid(), index=index, columns=columns, dtype=int)

    def _grid(self) -> list[list[int]]:
        return [[h.counts.get(op, 0) for h in self.histograms.values()] for op in self.ops()]

    def plot(self) -> Figure:
        """A column of horizontal bars per graph, the same operator in the same row."""
        from workbench.viz.ops import plot_histograms

        return plot_histograms(self.histograms)

    def widget(self) -> OpBars:
        """The bars to sort, search and choose from, in a notebook."""
        from workbench.widgets.op_histogram import OpHistogram as OpBars

        return OpBars(self)

    def __repr__(self) -> str:
        lines = [f"  {name}: {line(h)}" for name, h in self.histograms.items()]
        return "\n".join([f"OpTable({plural(len(lines), 'graph')})", *lines])

    def _repr_html_(self) -> str:
        names = list(self.histograms)
        rows: list[list[object]] = [
            [op.domain or "ai.onnx", op.op_type, *counts] for op, counts in zip(self.ops(), self._grid(), strict=True)
        ]
        if rows:
            rows.append(["", "all nodes", *(h.total for h in self.histograms.values())])
        return block("Nodes per operator", table(["domain", "op_type", *names], rows, empty="No graph has any node."))


@dataclasses.dataclass(frozen=True)
class FusionRow:
    """What one planned rule did for one execution provider."""

    execution_provider: str
    rule: str
    candidates: int
    applied: int
    fact: int = 0
    precondition: int = 0
    unmatched: int = 0

    @property
    def text(self) -> str:
        """``30/30`` applied of candidates."""
        return f"{self.applied}/{self.candidates}"


@dataclasses.dataclass(frozen=True)
class FusionTable:
    """Applied rewrites of candidates per rule and execution provider.

    ``planned`` and ``skipped`` map each execution provider to ``(rule, reason)`` pairs. A rule that is not
    planned has no row: ``skipped`` says why.
    """

    rows: tuple[FusionRow, ...]
    planned: Mapping[str, tuple[tuple[str, str], ...]]
    skipped: Mapping[str, tuple[tuple[str, str], ...]]

    @property
    def execution_providers(self) -> tuple[str, ...]:
        """Names in the order given, those without any row included."""
        return tuple(self.planned)

    def rules(self) -> list[str]:
        """Rules that were planned for at least one execution provider, in pipeline order, then those never
        planned.
        """
        done = dict.fromkeys(row.rule for row in self.rows)
        never = dict.fromkeys(rule for pairs in self.skipped.values() for rule, _ in pairs)
        stages = {"fuse": 0, "lower": 1}
        return sorted({**done, **never}, key=lambda rule: stages.get(rule.split("/")[0], 2))

    def row(self, execution_provider: str, rule: str) -> FusionRow | None:
        """The row of a rule, or None when it was not planned for this execution provider."""
        match = (r for r in self.rows if (r.execution_provider, r.rule) == (execution_provider, rule))
        return next(match, None)

    def to_frame(self) -> pd.DataFrame:
        """A row per execution provider and planned rule; ``fact``, ``precondition``, ``unmatched`` count
        misses.
        """
        import pandas as pd

        return pd.DataFrame([dataclasses.astuple(row) for row in self.rows], columns=FUSION_COLUMNS)

    def plan(self) -> PlanTable:
        """Why each rule is in the plan of each execution provider, or is not."""
        rows = [
            PlanRow(name, rule, planned, why)
            for name in self.planned
            for planned, pairs in ((True, self.planned[name]), (False, self.skipped.get(name, ())))
            for rule, why in pairs
        ]
        return PlanTable(tuple(rows))

    def plot(self) -> Figure:
        """Stacked bars per rule and execution provider: applied, then the misses by kind."""
        from workbench.viz.fusions import plot_fusions

        return plot_fusions(self)

    def _line(self, name: str) -> str:
        rows = [r for r in self.rows if r.execution_provider == name]
        done = [f"{r.rule} {r.text}" for r in rows if r.candidates]
        idle = f"{len(rows) - len(done)} without candidates" if len(rows) > len(done) else ""
        return f"  {name}: {', '.join([*done, idle] if idle else done) or 'no rules planned'}"

    def __repr__(self) -> str:
        lines = [self._line(name) for name in self.planned]
        return "\n".join(["FusionTable(applied/candidates)", *lines])

    def _repr_html_(self) -> str:
        rows = [dataclasses.astuple(row) for row in self.rows]
        empty = f"No rule was planned for {', '.join(self.planned) or 'any execution provider'}."
        none = [f"<li>{escape(n)}: no rules planned</li>" for n in self.planned if not self.planned[n]]
        tail = f"<ul>{''.join(none)}</ul>" if none and rows else ""
        return block("Rewrites applied of candidates", table(FUSION_COLUMNS, rows, empty=empty), tail)


def op_table(models: Mapping[str, ir.Model | OpHistogram]) -> OpTable:
    """Count the operators of several graphs, subgraphs and function bodies included. Pure: nothing is run."""
    return OpTable({n: m if isinstance(m, OpHistogram) else histogram(m) for n, m in models.items()})


def fusion_table(reports: Mapping[str, OptimizationReport]) -> FusionTable:
    """Tabulate what the pipeline did, from one report per execution provider."""
    rows = [_fusion_row(name, rule) for name, report in reports.items() for rule in report.rules]
    planned = MappingProxyType({name: tuple(report.planned) for name, report in reports.items()})
    skipped = MappingProxyType({name: tuple(report.skipped) for name, report in reports.items()})
    return FusionTable(tuple(rows), planned, skipped)


def _fusion_row(name: str, r: RuleReport) -> FusionRow:
    missed = r.missed("fact"), r.missed("precondition"), r.missed("unmatched")
    return FusionRow(name, r.rule, r.candidates, r.applied, *missed)

"""Why candidates were left alone: one row a node, or folded over the layers of a model."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from workbench.analysis.layers import ranges
from workbench.analysis.markup import block, table

if TYPE_CHECKING:
    import pandas as pd

    from workbench.rules.report import OptimizationReport
    from workbench.viz.figure import Figure

MISS_COLUMNS = ["execution_provider", "rule", "node", "scope", "kind", "reason"]
SUMMARY_COLUMNS = ["execution_provider", "rule", "kind", "where", "nodes", "reason"]
_NO_MISSES = "Every candidate was rewritten: no misses."
_INDEX = re.compile(r"(?<=\.)\d+(?=\.|$)")  # a whole dotted component, as in layers.3


@dataclasses.dataclass(frozen=True)
class MissRow:
    """One candidate that a rule left alone for one execution provider."""

    execution_provider: str
    rule: str
    node: str
    scope: str
    kind: str
    reason: str


@dataclasses.dataclass(frozen=True)
class MissGroup:
    """Misses of one rule for the same reason; ``where`` folds layers: ``model.layers.0-29.self_attn
    (30)``.
    """

    execution_provider: str
    rule: str
    kind: str
    where: str
    nodes: int
    reason: str


@dataclasses.dataclass(frozen=True)
class MissTable:
    """Every miss of every execution provider, in pipeline order."""

    rows: tuple[MissRow, ...]

    def summary(self) -> MissSummary:
        """The same misses with layers folded, one row per execution provider, rule, kind and reason."""
        return MissSummary(_fold(self.rows))

    def to_frame(self) -> pd.DataFrame:
        """A row per miss: execution_provider, rule, node, scope, kind, reason."""
        import pandas as pd

        return pd.DataFrame([dataclasses.astuple(row) for row in self.rows], columns=MISS_COLUMNS)

    def plot(self) -> Figure:
        """Misses per rule and execution provider, by kind."""
        from workbench.viz.fusions import plot_misses

        return plot_misses(self)

    def __repr__(self) -> str:
        return repr(self.summary()).replace("MissSummary", "MissTable", 1)

    def _repr_html_(self) -> str:
        return block(_size(len(self.rows)), table(MISS_COLUMNS, map(dataclasses.astuple, self.rows), empty=_NO_MISSES))


@dataclasses.dataclass(frozen=True)
class MissSummary:
    """Misses folded over layers, for reading."""

    rows: tuple[MissGroup, ...]

    def to_frame(self) -> pd.DataFrame:
        """A row per group: execution_provider, rule, kind, where, nodes, reason."""
        import pandas as pd

        return pd.DataFrame([dataclasses.astuple(row) for row in self.rows], columns=SUMMARY_COLUMNS)

    def __repr__(self) -> str:
        lines = [f"  {g.execution_provider} {g.rule}: {g.where}: {g.kind}: {g.reason}" for g in self.rows]
        total = sum(group.nodes for group in self.rows)
        return "\n".join([f"MissSummary({_size(total)})", *lines])

    def _repr_html_(self) -> str:
        rows = [dataclasses.astuple(group) for group in self.rows]
        return block("Misses, layers folded", table(SUMMARY_COLUMNS, rows, empty=_NO_MISSES))


def miss_table(reports: Mapping[str, OptimizationReport]) -> MissTable:
    """Tabulate the misses of one report per execution provider."""
    rows = [
        MissRow(name, miss.rule, miss.node, miss.scope, miss.kind, miss.reason)
        for name, report in reports.items()
        for miss in report.misses
    ]
    return MissTable(tuple(rows))


def _size(count: int) -> str:
    return "1 miss" if count == 1 else f"{count:,} misses"


def alike(rows: Iterable[MissRow]) -> list[list[MissRow]]:
    """Rows that differ in nothing but the index of a layer, together."""
    groups: dict[tuple[str, ...], list[MissRow]] = {}
    for row in rows:
        place = row.scope or row.node
        key = (row.execution_provider, row.rule, row.kind, _INDEX.sub("*", row.reason), _INDEX.sub("*", place))
        groups.setdefault(key, []).append(row)
    return list(groups.values())


def _fold(rows: Iterable[MissRow]) -> tuple[MissGroup, ...]:
    return tuple(map(group, alike(rows)))


def group(members: list[MissRow]) -> MissGroup:
    """One row for rows that are alike."""
    first = members[0]
    where = f"{fold_names([m.scope or m.node for m in members])} ({len(members)})"
    said = first.reason if len({m.reason for m in members}) == 1 else _INDEX.sub("*", first.reason)
    return MissGroup(first.execution_provider, first.rule, first.kind, where, len(members), said)


def fold_names(names: Iterable[str]) -> str:
    """One text for names that differ in dotted indices only: ``layers.0.mlp, layers.1.mlp`` ->
    ``layers.0-1.mlp``.
    """
    names = list(names)
    columns = list(zip(*(map(int, _INDEX.findall(name)) for name in names), strict=True))
    folded = iter([ranges(column) for column in columns])
    return _INDEX.sub(lambda _: next(folded), names[0])

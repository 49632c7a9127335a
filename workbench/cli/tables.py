"""A comparison as tables in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from workbench.analysis.parity_report import ParityReport
    from workbench.analysis.parity_summary import ParityGroup
    from workbench.compare import Comparison
    from workbench.rules.report import OptimizationReport
    from workbench.support import Support
    from workbench.zoo import ModelTable


def show_comparison(console: Console, comparison: Comparison, parity: ParityReport | None) -> None:
    """Providers, operators, fusions, misses, parity: the order in which one reads them."""
    frame = comparison.to_frame().rename(columns={"execution_provider": "provider"})
    show(console, comparison.name, list(frame.columns), frame.to_numpy().tolist())
    _ops(console, comparison)
    _fusions(console, comparison)
    misses = comparison.misses().summary().to_frame().rename(columns={"execution_provider": "provider"})
    if len(misses):
        show(console, "Misses", list(misses.columns), misses.to_numpy().tolist())
    else:
        console.print("Misses: none, every candidate was rewritten.")
    if parity is None:
        console.print("Parity: not run, there are no weights.")
    else:
        _parity(console, parity)


def _ops(console: Console, comparison: Comparison) -> None:
    pivot = comparison.ops().pivot()
    rows = [
        [f"{domain}.{name}" if domain else name, *counts]
        for (domain, name), counts in zip(pivot.index, pivot.to_numpy().tolist(), strict=True)
    ]
    show(console, "Operators", ["op_type", *pivot.columns], [[_dash(cell) for cell in row] for row in rows])


def _fusions(console: Console, comparison: Comparison) -> None:
    """Rules down, providers across: applied of candidates, a dash where a rule is not planned."""
    table = comparison.fusions()
    names = list(table.execution_providers)
    rows = []
    for rule in table.rules():
        found = [table.row(name, rule) for name in names]
        rows.append([rule, *(row.text if row else "-" for row in found)])
    show(console, "Rewrites: applied/candidates", ["rule", *names], rows)


def _parity(console: Console, parity: ParityReport) -> None:
    """A row per provider and case; what the limits mean stands below, once."""
    groups = parity.summary().rows
    columns = ["provider", "dtype", "label", "case", "error", "floor", "limit", "top1", "verdict"]
    rows = [
        [g.execution_provider, g.dtype, g.label, g.case, *_numbers(g), g.verdict] for g in groups
    ]  # fmt: skip
    show(console, f"Parity against {parity.reference}", columns, rows)
    for line in dict.fromkeys(f"limit in {g.dtype}: {g.tolerance.reason}" for g in groups if g.verdict != "not run"):
        console.print(line)
    for line in dict.fromkeys(f"{g.execution_provider} {g.case}: {g.reason}" for g in groups if g.reason):
        console.print(line)
    console.print(f"Parity: {parity.conclusion}")


def _numbers(group: ParityGroup) -> list[str]:
    """Error, floor, limit and share of equal choices; dashes where nothing ran."""
    if group.verdict == "not run":
        return ["-"] * 4
    numbers = (group.max_abs, group.floor, group.tolerance.atol)
    return [*(f"{number:.1e}" if number else "0" for number in numbers), group.choices]


def show_report(console: Console, report: OptimizationReport) -> None:
    """What the pipeline did for one provider."""
    columns = ["rule", "candidates", "applied", "missed", "because"]
    why = dict(report.planned)
    rows = [[r.rule, r.candidates, r.applied, len(r.misses), _because(why, r.rule)] for r in report.rules]
    title = f"{report.execution_provider} {report.dtype}: {report.nodes_before} -> {report.nodes_after} nodes"
    show(console, title, columns, rows)


def show_models(console: Console, table: ModelTable) -> None:
    """A row per family."""
    rows = [
        [f.model_type, f.task, ", ".join(f.roles), f.proven, "-" if f.max_abs_diff is None else f"{f.max_abs_diff:.1e}",
         f.versions.get("transformers", "")]
        for f in table.families
    ]  # fmt: skip
    show(console, repr(table), ["model_type", "task", "roles", "proven", "max_abs_diff", "transformers"], rows)


def show_support(console: Console, found: Support) -> None:
    """The verdict, then its reasons."""
    console.print(str(found), markup=False, highlight=False)
    for reason in found.reasons:
        console.print(f"  {reason}", markup=False, highlight=False)


def _because(planned: dict[str, str], rule: str) -> str:
    return next((why for name, why in planned.items() if name.split(" ")[0] == rule), "")


def show(console: Console, title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """One table; cells are text and never markup."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", header_style="", box=box.SIMPLE_HEAD)
    numeric = _numeric(rows := [list(row) for row in rows])
    for index, column in enumerate(columns):
        table.add_column(Text(str(column)), justify="right" if index in numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    console.print(table)


def _numeric(rows: list[list[Any]]) -> set[int]:
    width = len(rows[0]) if rows else 0
    return {i for i in range(width) if all(isinstance(row[i], int | float) or row[i] == "-" for row in rows)}


def _dash(cell: Any) -> Any:
    return "-" if cell == 0 else cell

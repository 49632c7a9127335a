"""A comparison as tables in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from workbench.analysis.decades import decade

if TYPE_CHECKING:
    from rich.console import Console

    from workbench.analysis.parity_report import ParityReport
    from workbench.compare import Comparison
    from workbench.rules.report import OptimizationReport
    from workbench.support import Support
    from workbench.zoo import ModelTable


def show_comparison(console: Console, comparison: Comparison, parity: ParityReport | None) -> None:
    """Providers, operators, fusions, misses, parity: the order in which one reads them."""
    frame = comparison.to_frame()
    show(console, comparison.name, list(frame.columns), frame.to_numpy().tolist())
    _ops(console, comparison)
    _fusions(console, comparison)
    misses = comparison.misses().summary().to_frame()
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
    columns = ["execution_provider", "dtype", "label", "case", "max_abs", "floor", "top1", "verdict", "note"]
    rows = [
        [g.execution_provider, g.dtype, g.label, g.case, decade(g.max_abs), decade(g.floor),
         f"{g.top1}/{g.positions}", g.verdict, g.reason or g.tolerance.reason]
        for g in parity.summary().rows
    ]  # fmt: skip
    show(console, f"Parity against {parity.reference}, errors rounded up to decades", columns, rows)
    console.print(f"Parity: {parity.verdict}")


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

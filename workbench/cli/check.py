"""``workbench check`` and ``workbench kernels``: a graph against a provider, and the tables that are asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.shell import FAILED, check_can_write, console, emit, guarded, note, only_ours_on_stdout, step

if TYPE_CHECKING:
    from workbench.analysis.check_report import CheckReport
    from workbench.ep.kernel_table import KernelTable

SCHEMA = """
\b
JSON of --json (format ep-workbench.check, format_version 1):
  model, execution_provider, dtype, verdict   verdict: runs | runs with notes | refused
  nodes, native, coverage, unjudged           coverage: share of nodes that the provider's own kernels run as they stand
  actions      {what ONNX Runtime would do: nodes}
  sources      [facts and kernel tables that were asked]
  findings     [{severity, kind, op, node, scope, action, reason}]
  scopes       [{scope, nodes, native}]
"""
KERNELS_SCHEMA = "JSON: a list of {execution_provider, ort_provider, kernels, operators, live, source, checked, kept}."

Traceback = Annotated[
    bool, typer.Option("--traceback", envvar="WORKBENCH_TRACEBACK", help="Show where in the code an error arose.")
]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout, alone.")]

kernels_app = typer.Typer(
    help="The kernel tables that `workbench check` asks: which there are, and reading them again.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def check(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="An .onnx file, or the folder of a package.")],
    ep: Annotated[str, typer.Option("--ep", metavar="EP", help="The execution provider asked about.")],
    dtype: Annotated[
        str | None, typer.Option("--dtype", metavar="DTYPE", help="Judge the graph as if its weights were of this.")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write everything as JSON; - is stdout, alone.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit status 1 for warnings too.")] = False,
    show_traceback: Traceback = False,
) -> None:
    """Say which nodes of a graph a provider does not run, and what ONNX Runtime would do with them.

    Exit status 0: it runs, perhaps with nodes left to the CPU provider; 1: it is refused, or holds what must not be
    there; 2: an unknown name.
    """
    to_stdout = json_file == Path("-")
    with guarded(show_traceback):
        check_can_write(None if to_stdout else json_file)
        with only_ours_on_stdout(), step(f"Checking {model} for {ep}"):
            from workbench.check import check as ask

            report = ask(model, ep, dtype)
        _say(report, json_file, to_stdout=to_stdout)
    if report.verdict == "refused" or strict and report.verdict != "runs":
        raise typer.Exit(FAILED)


def _say(report: CheckReport, json_file: Path | None, *, to_stdout: bool) -> None:
    from workbench.cli.document import to_json
    from workbench.cli.tables import show

    screen = console(stderr=to_stdout)
    rows = [[g.severity, g.kind, g.op, g.nodes, g.where, g.action, g.reason] for g in report.groups()]
    if rows:
        show(screen, "Findings", ["severity", "kind", "op", "nodes", "where", "onnxruntime", "reason"], rows)
    for source in report.sources:
        screen.print(f"Asked: {source}", markup=False, highlight=False)
    screen.print(repr(report), markup=False, highlight=False)
    if json_file is None:
        return
    text = to_json(report.to_dict())
    if to_stdout:
        emit(text)
        return
    from workbench.viz.figure import write_atomic

    write_atomic(json_file, text.encode("utf-8"))
    note(f"Wrote {json_file}")


@kernels_app.command("list", epilog=KERNELS_SCHEMA)
def list_tables(as_json: AsJson = False, show_traceback: Traceback = False) -> None:
    """Show for each provider which table is asked, from where and from when."""
    with guarded(show_traceback):
        from workbench.runtime.kernels import best

        with only_ours_on_stdout():
            rows = [_row(name, provider, best(provider), "") for name, provider in _providers()]
        _show(rows, as_json)


@kernels_app.command(epilog=KERNELS_SCHEMA)
def refresh(as_json: AsJson = False, show_traceback: Traceback = False) -> None:
    """Read the kernels of every provider that the installed ONNX Runtime has, and keep them for later.

    A kept table is asked where a provider is not installed any more, unless the one that ships is newer. Exit status 1
    when no provider could be read.
    """
    with guarded(show_traceback):
        from workbench.runtime.kernels import best, keep, live

        with only_ours_on_stdout():
            rows = []
            for name, provider in _providers():
                found, before = live(provider), best(provider)
                kept = str(keep(found)) if found is not None else ""
                rows.append(_row(name, provider, found or before, kept))
        _show(rows, as_json)
        for row in rows:
            if not row["kept"]:
                note(f"{row['execution_provider']}: {row['ort_provider']} is not registered here; its table stays.")
    if not any(row["kept"] for row in rows):
        raise typer.Exit(FAILED)


def _providers() -> list[tuple[str, str]]:
    from workbench.ep import execution_providers, get_ep

    found = [(name, get_ep(name).ort_provider) for name in execution_providers()]
    return [(name, provider) for name, provider in found if provider]


def _row(name: str, provider: str, table: KernelTable | None, kept: str) -> dict[str, Any]:
    return {
        "execution_provider": name, "ort_provider": provider, "kernels": table.size if table else 0,
        "operators": len(table.kernels) if table else 0, "live": bool(table and table.live),
        "source": table.source if table else "none: its facts are all there is",
        "checked": table.checked if table else "", "kept": kept,
    }  # fmt: skip


def _show(rows: list[dict[str, Any]], as_json: bool) -> None:
    from workbench.cli.document import to_json
    from workbench.cli.tables import show

    if as_json:
        emit(to_json(rows))
    else:
        show(console(), "Kernel tables", list(rows[0]), [list(row.values()) for row in rows])

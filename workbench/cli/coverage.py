"""``workbench coverage``: the share of proven families that each fusion reaches, beside the seed design's figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.shell import FAILED, console, emit, guarded, note, only_ours_on_stdout, step

if TYPE_CHECKING:
    from workbench.sweep.coverage import Coverage

SCHEMA = (
    "JSON: {types, stale, failed, rows: [{rule, execution_provider, dtype, planned, candidates, fired, whole, types, "
    "share, seed}]}."
)


def coverage(
    ep: Annotated[
        list[str] | None, typer.Option("--ep", metavar="EP", help="An execution provider; repeat it. Without: all.")
    ] = None,
    dtype: Annotated[
        str | None, typer.Option("--dtype", metavar="DTYPE", help="Without it each provider's default.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout, alone.")] = False,
    show_traceback: Annotated[
        bool, typer.Option("--traceback", envvar="WORKBENCH_TRACEBACK", help="Show where in the code an error arose.")
    ] = False,
) -> None:
    """Run every proven family through the pipelines, and count which share of them each fusion reaches.

    Exit status 1 when a family could not be run.
    """
    with guarded(show_traceback):
        with only_ours_on_stdout(), step("Running every proven family"):
            from workbench.sweep.coverage import coverage as measure

            found = measure(ep or None, dtype)
        _say(found, as_json)
    if found.failed:
        raise typer.Exit(FAILED)


def _say(found: Coverage, as_json: bool) -> None:
    from workbench.cli.document import to_json
    from workbench.cli.tables import show
    from workbench.sweep.coverage import SEED

    if as_json:
        emit(to_json(found.to_dict()))
    else:
        names = list(dict.fromkeys(row.execution_provider for row in found.rows))
        rules = list(dict.fromkeys(row.rule for row in found.rows))
        rows: list[list[Any]] = []
        for rule in rules:
            cells = [found.row(rule, name) for name in names]
            seed = f"{SEED[rule]:.0%}" if rule in SEED else "-"
            rows.append([rule, *(f"{c.share:.0%}" if c is not None and c.planned else "-" for c in cells), seed])
        title = f"Share of {len(found.types)} proven types with at least one; - not planned"
        show(console(), title, ["fusion", *names, "seed"], rows)
    for name, why in found.failed:
        note(f"{name}: {why}")

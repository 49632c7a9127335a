"""The verbs of the command line: options in, one public function called, a table or JSON out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.check import SCHEMA as CHECK_SCHEMA
from workbench.cli.check import check, kernels_app
from workbench.cli.coverage import SCHEMA as COVERAGE_SCHEMA
from workbench.cli.coverage import coverage
from workbench.cli.diff import SCHEMA as DIFF_SCHEMA
from workbench.cli.diff import diff
from workbench.cli.doctor import SCHEMA as DOCTOR_SCHEMA
from workbench.cli.document import SCHEMA as COMPARISON_SCHEMA
from workbench.cli.metadata import app as metadata_app
from workbench.cli.shell import (
    FAILED,
    check_can_write,
    console,
    emit,
    guarded,
    note,
    only_ours_on_stdout,
    step,
)  # fmt: skip

if TYPE_CHECKING:
    from workbench.analysis.parity_report import ParityReport
    from workbench.compare import Comparison

app = typer.Typer(
    name="workbench",
    help="Build an ONNX graph of a model for an execution provider, and compare what several of them get.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(metadata_app, name="metadata")

Model = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="A built-in name (smollm2-135m), a Hugging Face folder, a config.json, a .gguf file."
    ),
]
Dtype = Annotated[
    str | None,
    typer.Option("--dtype", metavar="DTYPE", help="float32, float16 or bfloat16; without it the provider's default."),
]
NoWeights = Annotated[bool, typer.Option("--no-weights", help="Graphs only: a skeleton of any size, without data.")]
Traceback = Annotated[
    bool, typer.Option("--traceback", envvar="WORKBENCH_TRACEBACK", help="Show where in the code an error arose.")
]


def _version(wanted: bool) -> None:
    if wanted:
        from workbench import __version__

        typer.echo(f"ep-workbench {__version__}")
        raise typer.Exit


@app.callback()
def workbench(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Options of the command itself."""


@app.command()
def build(
    model: Model,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Folder of the package; made whole or not at all."),
    ] = None,
    ep: Annotated[str, typer.Option("--ep", metavar="EP", help="The execution provider to build for.")] = "cpu",
    dtype: Dtype = None,
    padding: Annotated[
        str,
        typer.Option(
            "--padding", metavar="SIDE", help="right: rows padded on the right only (fastest); any: anywhere."
        ),
    ] = "right",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a package that is there already.")] = False,
    no_weights: NoWeights = False,
    show_traceback: Traceback = False,
) -> None:
    """Build MODEL for one execution provider and save it to a folder.

    With --no-weights nothing is saved: the plan and what it did are shown.
    """
    _check_output(output, no_weights)
    with guarded(show_traceback):
        with only_ours_on_stdout():
            from workbench.build import build as build_package

            with step(f"Building {model} for {ep}", spinner=False):
                package = build_package(
                    model, execution_provider=ep, dtype=dtype, padding=padding, load_weights=not no_weights  # type: ignore[arg-type]
                )  # fmt: skip
            if output is not None:
                with step(f"Saving to {output}", spinner=False):
                    manifest = package.save(output, overwrite=overwrite)
        from workbench.cli.tables import show_report

        for report in package.reports.values():
            show_report(console(), report)
        for finding in package.diagnostics:
            note(str(finding))
        if output is not None:
            emit(f"{output}: {len(manifest.files) + 1} files, {manifest.size:,} bytes, padding {package.padding}\n")


def _check_output(output: Path | None, no_weights: bool) -> None:
    if output is None and not no_weights:
        raise typer.BadParameter(
            "say where to: -o DIR (or --no-weights to look at the graph only).", param_hint="--output"
        )
    if output is not None and no_weights:
        raise typer.BadParameter(
            "a graph without weights is a skeleton and cannot be saved. Leave out --no-weights to save the package, "
            "or leave out -o to look at the graph only.", param_hint="--no-weights"
        )  # fmt: skip


@app.command(epilog=COMPARISON_SCHEMA)
def compare(
    model: Model,
    ep: Annotated[
        list[str] | None,
        typer.Option("--ep", metavar="EP", help="An execution provider; repeat it. Without: all of them."),
    ] = None,
    dtype: Dtype = None,
    prompt: Annotated[
        list[str] | None,
        typer.Option("--prompt", metavar="TEXT", help="Run this text; repeat it for a batch. Without: seeded tokens."),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write everything as JSON; - is stdout, alone.")
    ] = None,
    html_file: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write a report of one self-contained page.")
    ] = None,
    no_weights: NoWeights = False,
    show_traceback: Traceback = False,
) -> None:
    """Build MODEL for several execution providers, set them side by side and run them against each other.

    Exit status 1 when a provider's numbers differ from the generic graph's beyond their tolerance. Where the generic
    graph differs from itself as much, the verdict is "ill-conditioned", and that alone leaves the status 0.
    """
    if prompt and no_weights:
        raise typer.BadParameter("running a prompt needs weights; leave out --no-weights.", param_hint="--prompt")
    to_stdout = json_file == Path("-")
    with guarded(show_traceback):
        check_can_write(None if to_stdout else json_file)
        check_can_write(html_file)
        with only_ours_on_stdout():
            comparison, parity = _compared(model, ep, dtype, prompt, weights=not no_weights)
            if html_file is not None:
                comparison.save_html(html_file, parity=parity)
                note(f"Wrote {html_file}")
        _say(comparison, parity, json_file, to_stdout=to_stdout)
    if parity is not None and parity.verdict == "differs":
        raise typer.Exit(FAILED)


def _compared(
    model: str, ep: list[str] | None, dtype: str | None, prompts: list[str] | None, *, weights: bool
) -> tuple[Comparison, ParityReport | None]:
    from workbench.compare import compare as compare_model

    with step(f"Building {model}", spinner=False):
        comparison = compare_model(model, execution_providers=ep or None, dtype=dtype, load_weights=weights)
    if not weights:
        return comparison, None
    with step(f"Running {', '.join(comparison)} against the generic graph"):
        return comparison, comparison.parity(prompts or None)


def _say(comparison: Comparison, parity: ParityReport | None, json_file: Path | None, *, to_stdout: bool) -> None:
    """Tables for people and JSON for programs; on stdout only one of them."""
    from workbench.cli.document import comparison_document, to_json
    from workbench.cli.tables import show_comparison

    text = to_json(comparison_document(comparison, parity)) if json_file is not None else ""
    show_comparison(console(stderr=to_stdout), comparison, parity)
    for name, package in comparison.items():
        for finding in package.diagnostics:
            note(f"{name}: {finding}")
    if to_stdout:
        emit(text)
    elif json_file is not None:
        _write(json_file, text)
        note(f"Wrote {json_file}")


def _write(path: Path, text: str) -> None:
    from workbench.viz.figure import write_text

    write_text(path, text)


app.command(epilog=DIFF_SCHEMA)(diff)
app.command(epilog=CHECK_SCHEMA)(check)
app.command(epilog=COVERAGE_SCHEMA)(coverage)
app.add_typer(kernels_app, name="kernels")


@app.command(epilog="JSON: a list of {model_type, task, roles, proven: yes|stale|no, max_abs_diff, versions}.")
def models(
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
    show_traceback: Traceback = False,
) -> None:
    """List the model families, and how far each is from Hugging Face where that was measured."""
    with guarded(show_traceback):
        from workbench.cli.document import to_json
        from workbench.cli.tables import show_models
        from workbench.zoo import families

        table = families()
        if as_json:
            emit(to_json(table.to_dict()))
        else:
            show_models(console(), table)


@app.command(epilog="JSON: {model, execution_provider, dtype, verdict, reasons, plan}.")
def support(
    model: Model,
    ep: Annotated[str, typer.Option("--ep", metavar="EP", help="The execution provider asked about.")] = "cpu",
    dtype: Dtype = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
    show_traceback: Traceback = False,
) -> None:
    """Say whether MODEL can be built for an execution provider, and with which notes. Exit status 1: refused."""
    with guarded(show_traceback):
        from workbench.cli.document import to_json
        from workbench.cli.tables import show_support
        from workbench.support import support as ask

        found = ask(model, ep, dtype)
        if as_json:
            emit(to_json(found.to_dict()))
        else:
            show_support(console(), found)
    if found.verdict == "refused":
        raise typer.Exit(FAILED)


@app.command(epilog=DOCTOR_SCHEMA)
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="JSON on stdout.")] = False,
    show_traceback: Traceback = False,
) -> None:
    """Show what is installed, what can run here and where weights are. Exit status 1 when something is missing."""
    with guarded(show_traceback):
        from workbench.cli.doctor import diagnose, show_health
        from workbench.cli.document import to_json

        with only_ours_on_stdout():
            health = diagnose()
        if as_json:
            emit(to_json(health.to_dict()))
        else:
            show_health(console(), health)
    if health.problems:
        raise typer.Exit(FAILED)


from workbench.cli import export as _export_verbs  # noqa: E402, F401  # verbs of a file of their own
from workbench.cli import metadata_import as _import_verb  # noqa: E402, F401  # the same

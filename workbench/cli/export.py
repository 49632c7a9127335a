"""The verbs of exported folders: write one, check one, run one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.app import Dtype, Model, Traceback, app
from workbench.cli.shell import FAILED, console, emit, guarded, note, only_ours_on_stdout, step
from workbench.errors import FeedsError

if TYPE_CHECKING:
    from workbench.export import ExportReport, LintReport
    from workbench.runtime.chat import ChatStream

Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="What `workbench export` wrote, or another's folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON on stdout, alone.")]


@app.command(
    epilog="JSON: {folder, runtime, execution_provider, dtype, dry_run, size, files, config, metadata, notes, lint}."
)
def export(
    model: Model,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="The folder itself; made whole or not at all.")
    ],
    ep: Annotated[str, typer.Option("--ep", metavar="EP", help="The execution provider to build for.")] = "cpu",
    dtype: Dtype = None,
    runtime: Annotated[
        str, typer.Option("--runtime", metavar="CLIENT", help="Who loads it: onnxruntime-genai, onnx-genai or both.")
    ] = "onnxruntime-genai",
    padding: Annotated[
        str,
        typer.Option("--padding", metavar="SIDE", help="right: rows padded on the right only; any: anywhere."),
    ] = "right",
    tokenizer: Annotated[
        Path | None, typer.Option("--tokenizer", metavar="DIR", help="Take the tokenizer from this folder.")
    ] = None,
    window_cache: Annotated[
        bool, typer.Option("--window-cache", help="Layers with a sliding window keep the window only.")
    ] = False,
    cache_length: Annotated[
        int | None, typer.Option("--cache-length", metavar="N", help="A cache of N slots; without: it grows.")
    ] = None,
    last_token_logits: Annotated[
        bool, typer.Option("--last-token-logits", help="Logits of each row's last token alone.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a package that is there already.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing; say what would be written.")] = False,
    as_json: AsJson = False,
    show_traceback: Traceback = False,
) -> None:
    """Build MODEL for one execution provider and write a folder that a client loads.

    Exit status 1 when config, graph and tokenizer contradict each other.
    """
    with guarded(show_traceback):
        with only_ours_on_stdout():
            from workbench.build import build
            from workbench.export import export as export_package
            from workbench.export.clients import check_runtime

            check_runtime(runtime)  # before a build that may take minutes
            with step(f"Building {model} for {ep}", spinner=False):
                package = build(
                    model, execution_provider=ep, dtype=dtype, padding=padding, cache_length=cache_length,  # type: ignore[arg-type]
                    last_token_logits=last_token_logits,
                )  # fmt: skip
            with step(f"{'Measuring' if dry_run else 'Writing'} {output}", spinner=False):
                report = export_package(
                    package, output, runtime=runtime, overwrite=overwrite, dry_run=dry_run, tokenizer=tokenizer,
                    window_cache=window_cache,
                )  # fmt: skip
        _say_export(report, as_json)
    if not report.lint.ok:
        raise typer.Exit(FAILED)


def _say_export(report: ExportReport, as_json: bool) -> None:
    from workbench.cli.document import to_json
    from workbench.cli.tables import show

    if as_json:
        emit(to_json(report.to_dict()))
        return
    rows = [[file.name, file.size, file.sha256[:12] or "-"] for file in report.files]
    show(console(), repr(report), ["file", "bytes", "sha256"], rows)
    for line in (*report.notes, *map(str, report.lint.findings)):
        note(line)


@app.command(epilog="JSON: {folder, ok, checks, skipped, findings [{code, severity, message, where, hint}]}.")
def lint(folder: Folder, as_json: AsJson = False, show_traceback: Traceback = False) -> None:
    """Check FOLDER for its clients: config and metadata against graph and tokenizer; weights are not read.

    Exit status 1 when there are errors; warnings alone leave it 0.
    """
    with guarded(show_traceback):
        with only_ours_on_stdout():
            from workbench.export import lint as check

            report = check(folder)
        _say_lint(report, as_json)
    if not report.ok:
        raise typer.Exit(FAILED)


def _say_lint(report: LintReport, as_json: bool) -> None:
    from workbench.cli.document import to_json

    if as_json:
        emit(to_json(report.to_dict()))
        return
    for found in report.findings:
        emit(f"{found.code} {found}\n")
    emit(f"{report!r}\n")
    for line in report.skipped:
        note(line)


@app.command(
    epilog="JSON: {folder, text, tokens, prompt_tokens, finish: stop|length|interrupted, tokens_per_second, "
    "first_token_seconds, peak_bytes, executor, notes}."
)
def run(
    folder: Folder,
    prompt: Annotated[str, typer.Option("--prompt", "-p", metavar="TEXT", help="What to ask.")],
    max_new_tokens: Annotated[
        int, typer.Option("--max-new-tokens", "-n", metavar="N", help="At most so many tokens.")
    ] = 128,
    raw: Annotated[bool, typer.Option("--raw", help="Give the prompt as it is, without the chat template.")] = False,
    greedy: Annotated[bool, typer.Option("--greedy", help="Always take the best token.")] = False,
    as_json: AsJson = False,
    show_traceback: Traceback = False,
) -> None:
    """Ask FOLDER through onnxruntime-genai; the answer comes as it is made. Ctrl-C ends it with what there is."""
    with guarded(show_traceback):
        if not prompt.strip():
            raise FeedsError("--prompt is empty; give a text.")
        with only_ours_on_stdout():
            from workbench.runtime.chat import chat

            search = {"do_sample": False} if greedy else {}
            pieces = chat(folder, prompt, max_new_tokens=max_new_tokens, raw=raw, search=search, stream=True)
        _say_run(pieces, as_json)


def _say_run(pieces: ChatStream, as_json: bool) -> None:
    from workbench.cli.document import to_json

    try:
        for piece in pieces:
            if not as_json:
                emit(piece)
    except KeyboardInterrupt:  # while a piece was written
        pieces.interrupt()
    result = pieces.result
    if as_json:
        emit(to_json(result.to_dict()))
        return
    emit("\n")
    for line in result.notes:
        note(line)
    note(
        f"{len(result.tokens)} tokens ({result.finish}), {result.tokens_per_second:.1f} a second, first after "
        f"{result.first_token_seconds:.2f} s, {result.peak_bytes / 1e6:,.0f} MB at most"
    )

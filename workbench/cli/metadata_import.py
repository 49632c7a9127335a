"""``workbench metadata import``: a folder of ONNX Runtime GenAI as a workflow document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.metadata import AsJson, Traceback, app
from workbench.cli.shell import check_can_write, emit, guarded, note

if TYPE_CHECKING:
    from workbench.importing import ConfigEntry, GenaiImport

_MOST = 200  # losses on a terminal; --json has all


@app.command(
    "import",
    epilog="JSON: {folder, kind, losses [{path, value, fate, note}], imported [the same], notes, graphs, document}.",
)
def import_(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="With genai_config.json, a graph, a tokenizer.")],
    allow_lossy: Annotated[
        bool, typer.Option("--allow-lossy", help="Go on where values of the config have no place in a document.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write here, .json as JSON; without it YAML on stdout."),
    ] = None,
    save: Annotated[
        bool, typer.Option("--save", help="Write inference_metadata.yaml, and what it needs, into FOLDER.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="With --save: replace older ones.")] = False,
    as_json: AsJson = False,
    show_traceback: Traceback = False,
) -> None:
    """Describe a folder for ONNX Runtime GenAI as a workflow, in the dialect of the published client.

    Exit status 1 where something would be lost (unless --allow-lossy), or config, graph and tokenizer disagree.
    """
    if save and output is not None:
        raise typer.BadParameter("it writes into FOLDER; --output names another place.", param_hint="--save")
    with guarded(show_traceback):
        from workbench.errors import LossyImportError
        from workbench.importing import import_genai_config

        check_can_write(output)
        try:
            found = import_genai_config(folder, allow_lossy=allow_lossy)
        except LossyImportError as error:
            _say(error.losses)
            raise
        written = found.save(overwrite=overwrite) if save else _write(found, output)
        if as_json:
            from workbench.cli.document import to_json

            emit(to_json(found.to_dict()))
        elif not written:
            emit(found.metadata.to_yaml())
        _report(found, written, save)


def _write(found: GenaiImport, output: Path | None) -> tuple[Path, ...]:
    if output is None:
        return ()
    from workbench.viz.figure import write_atomic

    made = found.metadata.to("v1")
    text = made.to_json() if output.suffix == ".json" else made.to_yaml()
    return (write_atomic(output, text.encode("utf-8")),)


def _report(found: GenaiImport, written: Sequence[Path], saved: bool) -> None:
    note(repr(found))
    _say(found.losses)
    for text in found.notes:
        note(f"  note: {text}")
    if found.metadata.artifacts and not saved:
        graphs = ", ".join(found.metadata.artifacts)
        note(f"  note: {graphs} is not written; --save writes the document and it into {found.folder}.")
    for path in written:
        note(f"Wrote {path}")


def _say(losses: Sequence[ConfigEntry]) -> None:
    for loss in losses[:_MOST]:
        note(f"  lost: {loss}")
    if len(losses) > _MOST:
        note(f"  ... ({len(losses) - _MOST} more)")

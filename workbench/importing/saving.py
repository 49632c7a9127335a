"""Writing an import beside the config that it came from, without a change to anything that was there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.config.files import write_atomic
from workbench.describe.result import FILE
from workbench.errors import SaveError, root_cause
from workbench.metadata.reading import FILE_NAMES

if TYPE_CHECKING:
    import onnx_ir as ir

    from workbench.importing.result import GenaiImport


def save(found: GenaiImport, *, overwrite: bool) -> tuple[Path, ...]:
    """Graphs first, the document that names them last.

    Raises:
        SaveError: a file is there already, or cannot be written.
    """
    folder, graphs = found.folder, found.metadata.artifacts
    _check_free(folder, [*graphs], overwrite)
    text = found.metadata.to_yaml("v1").encode("utf-8")
    try:
        for name, model in graphs.items():
            write_atomic(folder / name, _bytes(model))
        write_atomic(folder / FILE, text)
    except OSError as error:
        raise SaveError(
            f"{folder} cannot be written to: {root_cause(error)}. What was there before is untouched. Choose a folder "
            "that is writable and has room."
        ) from None
    return tuple(folder / name for name in (*graphs, FILE))


def _check_free(folder: Path, graphs: list[str], overwrite: bool) -> None:
    held = [name for name in (*FILE_NAMES, *graphs) if (folder / name).exists()]
    other = [name for name in held if name in FILE_NAMES and name != FILE]
    if other or (held and not overwrite):
        raise SaveError(
            f"{folder} holds {held[0]} already. "
            + (f"Remove {other[0]} first: readers would take one of the two." if other else "Pass overwrite=True.")
        )


def _bytes(model: ir.Model) -> bytes:
    import onnx_ir as ir

    return ir.to_proto(model).SerializeToString()

"""Writing an import beside the config that it came from, without a change to anything that was there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.config.files import write_all
from workbench.errors import SaveError, root_cause
from workbench.export.metadata_folder import FILE, files_of
from workbench.metadata.reading import FILE_NAMES

if TYPE_CHECKING:
    from workbench.importing.result import GenaiImport


def save(found: GenaiImport, *, overwrite: bool) -> tuple[Path, ...]:
    """Graphs first, the document that names them last (the order of ``files_of``).

    Raises:
        SaveError: a file is there already, or cannot be written.
    """
    folder, files = found.folder, files_of(found.metadata)
    _check_free(folder, [*files], overwrite)
    try:
        return write_all(folder, files)
    except OSError as error:
        raise SaveError(
            f"{folder} cannot be written to: {root_cause(error)}. What was there before is untouched. Choose a folder "
            "that is writable and has room."
        ) from None


def _check_free(folder: Path, files: list[str], overwrite: bool) -> None:
    held = [name for name in dict.fromkeys((*FILE_NAMES, *files)) if (folder / name).exists()]
    other = [name for name in held if name in FILE_NAMES and name != FILE]
    if other or (held and not overwrite):
        raise SaveError(
            f"{folder} holds {(other or held)[0]} already. "
            + ("Remove it first: readers would take one of the two." if other else "Pass overwrite=True.")
        )

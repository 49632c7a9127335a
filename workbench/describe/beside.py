"""A document and its policy graphs into a folder that holds the graphs already."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.config.files import is_folder, reason, write_all
from workbench.errors import ModelFileError, SaveError, UnsupportedError, some, wrong_type
from workbench.metadata.document.ports import OnnxImplementation
from workbench.metadata.files import look_for
from workbench.metadata.reading import FILE_NAMES
from workbench.weights.lazy import to_proto

if TYPE_CHECKING:
    from workbench.describe.result import InferenceMetadata


def save_beside(
    metadata: InferenceMetadata, folder: str | os.PathLike[str], *, dialect: str, overwrite: bool
) -> tuple[Path, ...]:
    """See :meth:`InferenceMetadata.save_beside`."""
    if not isinstance(folder, str | os.PathLike):
        raise wrong_type("folder", folder, "a path of the folder that holds the graphs")
    root, files = Path(folder), files_of(metadata, dialect)
    _check(metadata, root, files, overwrite)
    try:
        return write_all(root, files)
    except OSError as error:
        raise SaveError(
            f"{str(root)!r} cannot be written to: {reason(error)}. What was there before is untouched."
        ) from None


def files_of(metadata: InferenceMetadata, dialect: str) -> Mapping[str, bytes]:
    """Policy graphs and, last, the document: what names a file stands behind it."""
    graphs = {name: bytes(to_proto(model).SerializeToString()) for name, model in metadata.artifacts.items()}
    return {**graphs, FILE_NAMES[0]: metadata.to_yaml(dialect).encode("utf-8")}


def _check(metadata: InferenceMetadata, root: Path, files: Mapping[str, bytes], overwrite: bool) -> None:
    if metadata.models:
        raise UnsupportedError(
            f"The workflow needs another graph than the one that is there ({some(metadata.models)}). Use export()."
        )
    if not is_folder(root):
        raise ModelFileError(f"There is no folder {str(root)!r}. Give the one that holds the graphs of the workflow.")
    workflow = metadata.document.workflow
    made = (component.implementation for component in workflow.components.values()) if workflow else ()
    named = [one.artifact for one in made if isinstance(one, OnnxImplementation) and one.artifact not in files]
    absent = [name for name in named if look_for(root, name) != "there"]
    if absent:
        raise ModelFileError(f"The folder {root.name!r} lacks graphs of the workflow: {some(absent)}. Put them there.")
    there = [name for name in (*files, *FILE_NAMES) if (root / name).exists()]
    if there and not overwrite:
        raise SaveError(f"{root.name!r} holds {some(dict.fromkeys(there))} already. Pass overwrite=True to replace it.")


__all__ = ["files_of", "save_beside"]

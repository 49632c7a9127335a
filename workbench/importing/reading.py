"""The config of a folder as data: read strictly, or refused with the place of the fault."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.errors import ArgumentError, ConfigError, ModelFileError, wrong_type
from workbench.export.genai_config import NAME
from workbench.metadata.reading import load


def folder_of(folder: object) -> Path:
    """The folder, absolute.

    Raises:
        ArgumentError: it is no path.
        ModelFileError: there is no such folder, or it holds no ``genai_config.json``.
    """
    if isinstance(folder, bytes) or not isinstance(folder, str | os.PathLike):
        raise wrong_type("folder", folder, "a path")
    if "\0" in os.fspath(folder):
        raise ArgumentError(f"{os.fspath(folder)!r} cannot be the name of a folder.")
    place = Path(os.path.abspath(Path(folder).expanduser()))
    if not place.is_dir():
        what = "is a file; give its folder" if place.is_file() else "no such folder"
        raise ModelFileError(f"{place}: {what}.")
    if not (place / NAME).is_file():
        raise ModelFileError(
            f"{place} holds no {NAME}, so there is nothing to import. Give a folder that was made for ONNX Runtime "
            "GenAI."
        )
    return place


def config_of(folder: Path) -> Mapping[str, Any]:
    """Its config.

    Raises:
        ConfigError: the file cannot be read as named values, or says something twice.
    """
    loaded = load(folder / NAME)
    if loaded.faults:
        fault = loaded.faults[0]
        line = f" (line {fault.line})" if fault.line else ""
        raise ConfigError(f"{folder / NAME} cannot be imported{line}: {fault.message} {fault.hint}".strip())
    if not isinstance(loaded.data, dict):
        kind = type(loaded.data).__name__
        raise ConfigError(f"{folder / NAME} holds a JSON {kind}, not named values. Export the model again.")
    return loaded.data

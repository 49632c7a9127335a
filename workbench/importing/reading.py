"""The config of a folder as data: read strictly, or refused with the place of the fault."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.config.files import existing_folder
from workbench.errors import ConfigError, ModelFileError, some
from workbench.export.genai_config import NAME
from workbench.metadata.files import look_for
from workbench.metadata.reading import load
from workbench.metadata.wording import q


def folder_of(folder: object) -> Path:
    """The folder, absolute.

    Raises:
        ArgumentError: it is no path.
        ModelFileError: there is no such folder, or it holds no ``genai_config.json``.
    """
    place = existing_folder(folder)
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
        raise ConfigError(
            f"{folder / NAME} cannot be imported{line}: {fault.message} Correct it, or export the model again."
        )
    if not isinstance(loaded.data, dict):
        kind = type(loaded.data).__name__
        raise ConfigError(f"{folder / NAME} holds a JSON {kind}, not named values. Export the model again.")
    return loaded.data


_WHY = {
    "absent": "there is no such file in the folder",
    "outside": "its path leaves the folder, and nothing outside is looked at",
    "no-file": "it is no regular file",
}


def check_files(folder: Path, values: Mapping[str, Any]) -> None:
    """The files that a config names lie in its folder.

    Raises:
        ModelFileError: the graph is not there, or a path leaves the folder.
    """
    name = values.get("model.decoder.filename")
    if name is not None and (verdict := look_for(folder, name)) != "there":
        held = sorted(entry.name for entry in folder.glob("*.onnx"))
        hint = f"The folder holds {some(held, 3)}." if held and verdict != "outside" else "Put the graph there."
        raise ModelFileError(
            f"{folder} cannot be imported: model.decoder.filename is {q(name)}; {_WHY[verdict]}. {hint}"
        )
    directory = values.get("model.tokenizer_dir")
    if directory is not None and look_for(folder, directory) == "outside":
        raise ModelFileError(
            f"{folder} cannot be imported: model.tokenizer_dir is {q(directory)}; {_WHY['outside']}. Put the tokenizer "
            "into the folder."
        )

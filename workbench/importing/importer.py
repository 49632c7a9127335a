"""``import_genai_config``: a folder of ONNX Runtime GenAI described as a workflow, one way, nothing lost in silence."""

from __future__ import annotations

import os
from pathlib import Path

from workbench.errors import ConfigError, UnsupportedError, wrong_type
from workbench.importing.agreement import agreed
from workbench.importing.entries import LossyImportError
from workbench.importing.reading import config_of, folder_of
from workbench.importing.walk import Walk, walk

_SHOWN = 3


def import_genai_config(folder: str | os.PathLike[str], allow_lossy: bool = False) -> None:
    place = folder_of(folder)
    if not isinstance(allow_lossy, bool):
        raise wrong_type("allow_lossy", allow_lossy, "True or False")
    config = config_of(place)
    found = walk(config)
    _check_kinds(place, found)
    _check_parts(place, found)
    subject, notes = agreed(place, config)
    if found.losses and not allow_lossy:
        raise LossyImportError(str(place), found.losses)
    return None


def _check_kinds(folder: Path, found: Walk) -> None:
    if found.wrong:
        more = f" ({len(found.wrong) - _SHOWN} more.)" if len(found.wrong) > _SHOWN else ""
        told = "; ".join(sentence for _, sentence in found.wrong[:_SHOWN])
        raise ConfigError(f"The genai_config.json of {folder} cannot be imported: {told}.{more} Correct it.")


def _check_parts(folder: Path, found: Walk) -> None:
    if not found.refused:
        return
    parts: dict[str, list[str]] = {}
    for path, why in found.refused:
        parts.setdefault(why, []).append(path)
    told = "; ".join(f"{why} ({', '.join(paths[:_SHOWN])})" for why, paths in parts.items())
    raise UnsupportedError(
        f"{folder} is no decoder that takes text alone: {told}. Only one decoder fed by tokens, with keys and values "
        "for each layer, is imported; without these parts it would not run, so allow_lossy does not help."
    )

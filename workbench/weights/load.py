"""The weights of a resolved source, by Hugging Face name, checked before anything large is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import onnx_ir as ir

from workbench.config.source import SourceConfig
from workbench.errors import WeightsError
from workbench.weights.gguf import open_gguf
from workbench.weights.safetensors import open_safetensors

_INDEX = "model.safetensors.index.json"
_SINGLE = "model.safetensors"


def open_weights(source: SourceConfig) -> Mapping[str, ir.TensorProtocol]:
    """Open a source's weights lazily: a GGUF file, or a folder with one or several safetensors files.

    Raises:
        WeightsError: there are none, a file is missing, truncated or corrupt, or a name occurs twice.
    """
    place = source.weights
    if place is None:
        raise WeightsError(
            f"{source.name} was resolved without weights. Build it with load_weights=False, or pass a folder "
            "with config.json and *.safetensors."
        )
    if place.is_dir():
        return _open_folder(place)
    return open_gguf(place, source.hf)


def _open_folder(folder: Path) -> dict[str, ir.TensorProtocol]:
    if (folder / _INDEX).is_file():
        return _open_shards(folder, _read_index(folder / _INDEX))
    if (folder / _SINGLE).is_file():
        return open_safetensors(folder / _SINGLE)
    files = sorted(path.name for path in folder.glob("*.safetensors"))
    if len(files) == 1:
        return open_safetensors(folder / files[0])
    if not files:
        raise WeightsError(f"{folder}: no *.safetensors in this folder. Complete it, or convert the weights.")
    raise WeightsError(
        f"{folder} holds {len(files)} safetensors files ({', '.join(files[:3])}, ...) and no {_INDEX} that says "
        "which belong together. Complete the folder."
    )


def _read_index(path: Path) -> dict[str, str]:
    """The weight map of an index: tensor name to the name of a file in the same folder."""
    try:
        weight_map = json.loads(path.read_text("utf-8"))["weight_map"]
        pairs = {str(name): str(file) for name, file in weight_map.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise WeightsError(f"{path} is not a safetensors index ({type(error).__name__}: {error}).") from None
    for file in pairs.values():
        if Path(file).name != file or not file.endswith(".safetensors"):
            raise WeightsError(f"{path} names the file {file!r}; only *.safetensors in the same folder are read.")
    return pairs


def _open_shards(folder: Path, weight_map: Mapping[str, str]) -> dict[str, ir.TensorProtocol]:
    names = sorted(set(weight_map.values()))
    if missing := [name for name in names if not (folder / name).is_file()]:
        raise WeightsError(
            f"{folder}: {len(missing)} of {len(names)} weight files are missing: {', '.join(missing[:5])}"
            f"{', ...' if len(missing) > 5 else ''}. {_INDEX} names them; complete the folder."
        )
    weights: dict[str, ir.TensorProtocol] = {}
    origin: dict[str, str] = {}
    for file in names:
        for name, tensor in open_safetensors(folder / file).items():
            if name in weights:
                raise WeightsError(f"{folder}: {name!r} is in {origin[name]} and in {file}; only one can count.")
            weights[name], origin[name] = tensor, file
    if absent := sorted(set(weight_map) - set(weights)):
        raise WeightsError(
            f"{folder}: {_INDEX} names {absent[0]!r}{f' and {len(absent) - 1} more' if len(absent) > 1 else ''}, "
            f"which {weight_map[absent[0]]} does not hold. Fetch the folder again."
        )
    return weights

"""From what a person typed to a :class:`SourceConfig`: a name, a folder, a file, a config.

Nothing here imports torch or the modelling code of transformers.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from workbench.config import builtin
from workbench.config.hub import HubId, config_file, hub_id, snapshot
from workbench.config.progress import Progress
from workbench.config.source import Origin, SourceConfig
from workbench.errors import ArgumentError, ConfigError, UnknownNameError, WeightsError, unknown

_ALSO = (
    "Also accepted: a Hugging Face folder (config.json and *.safetensors), a hub id (org/name), a config.json, "
    "a .gguf file, a transformers config object, a dict."
)
_FILE_ENDINGS = (".json", ".gguf", ".safetensors", ".bin", ".onnx", ".pt", ".pth")
_LARGEST_CONFIG = 16_000_000  # bytes; the largest config.json in use is under one


@runtime_checkable
class ConfigLike(Protocol):
    """A transformers ``PretrainedConfig``, by the one method that is used."""

    def to_dict(self) -> dict[str, Any]: ...


ModelLike = str | os.PathLike[str] | Mapping[str, Any] | ConfigLike
"""What ``build`` accepts as a model."""


def resolve(model: ModelLike, *, load_weights: bool = True, progress: Progress = None) -> SourceConfig:
    """Find a model's configuration and the place of its weights and tokenizer; nothing large is read.

    ``model`` is a built-in name, a Hugging Face folder, a hub id (``org/name`` or ``org/name@revision``), a
    ``config.json``, a ``.gguf`` file, a transformers config or a dict of its words. A folder goes before a hub id of
    the same name. With ``load_weights=False`` a config alone is enough; of a hub model its ``config.json`` is fetched.

    Raises:
        UnknownNameError: no built-in model of that name, and no such file.
        ConfigError: the config is missing, unreadable or says no model_type.
        WeightsError: the config was found, weights were not, or the hub restricts access.
        OfflineError: it has to be fetched and cannot be.
        ArgumentError: ``model`` is none of the accepted kinds.
    """
    if isinstance(model, Mapping):
        return _from_config(dict(model), load_weights)
    if isinstance(model, (str, os.PathLike)):
        return _from_text(model, load_weights, progress)
    if isinstance(model, ConfigLike) and not isinstance(model, type):
        return _from_config(dict(model.to_dict()), load_weights)
    raise ArgumentError(f"model must be a name or a path; found {type(model).__name__}. {_ALSO}")


def _from_config(hf: dict[str, Any], load_weights: bool, name: str = "", where: str = "The config") -> SourceConfig:
    model_type = _model_type(hf, where)
    if load_weights:
        raise WeightsError(
            f"{where} ({model_type}) comes without weights. Pass load_weights=False for a skeleton, or a folder "
            "with config.json and *.safetensors."
        )
    return SourceConfig(name or model_type, model_type, hf, "config")


def _from_text(model: str | os.PathLike[str], load_weights: bool, progress: Progress) -> SourceConfig:
    text = os.fspath(model)
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise UnknownNameError(
            f"{text!r} is not a model name or a path. Built-in models: {', '.join(builtin.builtin_names())}. {_ALSO}"
        )
    if isinstance(model, str) and model in builtin.builtin_names():
        return _from_builtin(model, load_weights, progress)
    path = Path(text).expanduser()
    if not _exists(path):
        found = None if isinstance(model, os.PathLike) or _looks_like_file(text) else hub_id(text)
        if found is not None:
            return _from_hub(found, load_weights, progress)
        raise _not_found(text, isinstance(model, os.PathLike))
    if path.is_dir():
        return _from_folder(path, load_weights)
    return _from_file(path, load_weights)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name longer than the file system allows, say
        return False


def _not_found(text: str, is_path: bool) -> UnknownNameError | ConfigError:
    separators = {os.sep, os.altsep or os.sep}
    if is_path or text.startswith(("~", ".")) or separators & set(text) or _looks_like_file(text):
        return ConfigError(f"{text}: no such file or folder. {_ALSO}")
    return unknown("model", text, builtin.builtin_names(), _ALSO)


def _looks_like_file(text: str) -> bool:
    return text.lower().endswith(_FILE_ENDINGS)


def _from_hub(model: HubId, load_weights: bool, progress: Progress) -> SourceConfig:
    path = snapshot(model, progress) if load_weights else config_file(model, progress).parent
    source = _from_folder(path, load_weights)
    return dataclasses.replace(source, name=model.repo, origin="hub", revision=path.name)


def _from_builtin(name: str, load_weights: bool, progress: Progress) -> SourceConfig:
    entry = builtin.builtin(name)
    if not load_weights:
        return SourceConfig(name, _model_type(entry.config, name), entry.config, "builtin", revision=entry.revision)
    path = builtin.locate(name, progress=progress)
    return _from_gguf(path, name, "builtin", entry.revision)


def _from_gguf(path: Path, name: str, origin: Origin, revision: str = "") -> SourceConfig:
    from workbench.config.gguf_meta import hf_config
    from workbench.config.gguf_reader import read_gguf
    from workbench.config.gguf_tokenizer import tokenizer_folder

    file = read_gguf(path)
    hf = hf_config(file)
    tokenizer, missing = tokenizer_folder(file, hf)
    return SourceConfig(name, hf["model_type"], hf, origin, path, tokenizer, revision, (missing,) if missing else ())


def _from_file(path: Path, load_weights: bool) -> SourceConfig:
    ending = path.suffix.lower()
    if ending == ".gguf":
        return _from_gguf(path.resolve(), path.stem, "gguf")
    if ending == ".json":
        if load_weights and path.name == "config.json":
            return _from_folder(path.parent, load_weights)
        name = path.resolve().parent.name if path.name == "config.json" else path.stem
        return _from_config(_read_json(path), load_weights, name, str(path))
    if ending in (".safetensors", ".bin"):
        raise ConfigError(f"{path}: pass the folder that holds it beside config.json, not the weights file.")
    if ending in (".onnx", ".onnxtxt", ".textproto"):
        raise ConfigError(f"{path} is an ONNX graph, not a model to build. Open it with workbench.load(path).")
    raise ConfigError(f"{path}: files ending in {ending or 'nothing'} are not models. {_ALSO}")


def _from_folder(folder: Path, load_weights: bool) -> SourceConfig:
    folder = folder.resolve()
    if not (folder / "config.json").is_file():
        if (folder / "manifest.json").is_file():
            raise ConfigError(f"{folder} is a saved package. Open it with workbench.load(folder).")
        if files := sorted(path.name for path in folder.glob("*.gguf")):
            raise ConfigError(f"{folder} has no config.json. To build from {files[0]}, pass the file, not its folder.")
        held = ", ".join(sorted(entry.name for entry in folder.iterdir())[:5]) or "nothing"
        raise ConfigError(f"{folder}: no config.json in this folder; found {held}. {_ALSO}")
    hf = _read_json(folder / "config.json")
    model_type = _model_type(hf, str(folder / "config.json"))
    tokenizer = folder if (folder / "tokenizer.json").is_file() else None
    weights = folder if load_weights else None
    if load_weights:
        _check_has_weights(folder)
    return SourceConfig(folder.name or model_type, model_type, hf, "folder", weights, tokenizer)


def _check_has_weights(folder: Path) -> None:
    if any(folder.glob("*.safetensors")) or any(folder.glob("*.safetensors.index.json")):
        return
    if old := sorted(path.name for path in folder.glob("*.bin")) + sorted(path.name for path in folder.glob("*.pt")):
        raise WeightsError(
            f"{folder} holds weights only as {old[0]}, which executes code when it is read. Convert it with "
            "transformers: model.save_pretrained(folder) writes model.safetensors."
        )
    raise WeightsError(
        f"{folder} has a config.json and no *.safetensors. Pass load_weights=False for a skeleton, or complete "
        "the folder."
    )


def _read_json(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _LARGEST_CONFIG:
            raise ConfigError(f"{path} is larger than {_LARGEST_CONFIG // 1_000_000} MB: not a model's config.")
        value = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{path} is not valid JSON: {error or 'nested too deeply'}. Correct it, or fetch it again."
        ) from None
    if not isinstance(value, dict):
        raise ConfigError(f"{path} holds a JSON {type(value).__name__}; a config is an object of named values.")
    return value


def _model_type(hf: Mapping[str, Any], where: str) -> str:
    found = hf.get("model_type")
    if not isinstance(found, str) or not found:
        what = f"has model_type {found!r}" if "model_type" in hf else "has no model_type"
        raise ConfigError(f"{where} {what}; it names the architecture ('llama', say). Add it to the config.")
    return found

"""From a folder of ours, or any ONNX file, to a :class:`Package`; weights stay on disk until they are used."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast, get_args

import onnx_ir as ir

from workbench.config.files import reason, sha256_file
from workbench.config.parts import config_from_dict
from workbench.config.source import Origin, SourceConfig
from workbench.errors import ArgumentError, Diagnostic, ModelFileError, some
from workbench.package.manifest import NAME, FileRecord, Manifest, read_manifest
from workbench.package.package import Package
from workbench.package.unreadable import hint, words
from workbench.passes.cleanup import sort_nodes
from workbench.passes.wellformed import check_values
from workbench.types import Padding, parse_dtype

_TEXT = {
    ".onnxtxt": "onnxtxt", ".onnxtext": "onnxtxt", ".textproto": "textproto", ".txtpb": "textproto",
    ".pbtxt": "textproto", ".prototxt": "textproto", ".onnxjson": "json", ".json": "json",
}  # fmt: skip
"""Endings of ONNX's text forms; every other file is read as protobuf."""


def load(path: str | os.PathLike[str], *, verify: bool = False) -> Package:
    """Open a saved package (its folder) or any ONNX file (``.onnx``, ``.onnxtxt``, ``.textproto``).

    Sizes are checked at once; ``verify`` reads every file and compares its sha256 too (a package only). External
    data is found beside the file, whatever the working directory, and memory-mapped when it is used. A file whose
    external data is absent opens all the same: ``diagnostics`` names what is missing.

    Raises:
        ModelFileError: no such file, not ONNX, a damaged or incomplete package.
        ArgumentError: ``path`` is not a path.
    """
    if isinstance(path, (bytes, bytearray)) or not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(
            f"load() takes a path, found {type(path).__name__}. Bytes carry no folder to find external data in: "
            "write them to a file first."
        )
    if "\0" in os.fspath(path):
        raise ModelFileError(f"{os.fspath(path)!r}: no such file or folder.")
    place = Path(os.path.abspath(Path(path).expanduser()))
    if not os.path.exists(place):  # not Path.exists(), which raises for a name that is too long
        raise ModelFileError(f"{place}: no such file or folder.")
    if place.is_dir():
        return _load_folder(place, verify)
    if place.name == NAME:
        return _load_folder(place.parent, verify)
    return _load_file(place)


def _load_folder(folder: Path, verify: bool) -> Package:
    if not (folder / NAME).is_file():
        files = sorted(entry.name for entry in folder.iterdir() if entry.suffix in (".onnx", *_TEXT))
        hint = f" Give the file instead: {some(files, 3)}." if files else " There is no ONNX file in it either."
        raise ModelFileError(f"{folder} is not a package: it has no {NAME}.{hint}")
    manifest = read_manifest(folder)
    for record in manifest.files:
        _check_file(folder, record, verify)
    models = {key: _read(folder / file) for key, file in manifest.models.items()}
    for model in models.values():
        for tensor in _external(model):
            _map(tensor)
    return Package(
        models=models,
        execution_provider=manifest.execution_provider,
        dtype=parse_dtype(manifest.dtype) if manifest.dtype else None,
        config=config_from_dict(manifest.config) if manifest.config is not None else None,
        source=_source(folder, manifest),
        reports=manifest.reports,
        padding=_padding(manifest.padding),
        diagnostics=manifest.diagnostics,
    )


def _check_file(folder: Path, record: FileRecord, verify: bool) -> None:
    path = folder / record.name
    try:
        size = path.stat().st_size
    except OSError:
        raise ModelFileError(f"{folder}: {record.name} is missing. Save the package again.") from None
    if size != record.size:
        what = "truncated" if size < record.size else "too long"
        raise ModelFileError(
            f"{path} is {what}: {size:,} bytes, the manifest says {record.size:,}. Save the package again."
        )
    if verify and (found := _hash(path)) != record.sha256:
        raise ModelFileError(
            f"{path} was changed: sha256 {found}, the manifest says {record.sha256}. Save the package again."
        )


def _hash(path: Path) -> str:
    try:
        return sha256_file(path)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {reason(error)}.") from None


def _map(tensor: ir.ExternalTensor) -> None:
    """Map the data now: a package saved over this folder later must not change what this one reads."""
    try:
        tensor.numpy()
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{tensor.path}: the data of {tensor.name!r} cannot be mapped: {error}") from None


def _source(folder: Path, manifest: Manifest) -> SourceConfig | None:
    if manifest.source is None:
        return None
    words = manifest.source
    try:
        hf = json.loads((folder / "config.json").read_text("utf-8"))
        origin = cast(Origin, words["origin"])
        tokenizer = folder if (folder / "tokenizer.json").is_file() else None
        return SourceConfig(
            words["name"], words["model_type"], hf, origin, tokenizer=tokenizer, revision=words["revision"]
        )
    except (OSError, ValueError, KeyError) as error:
        raise ModelFileError(f"{folder}: the source's record is damaged ({error}). Save the package again.") from None


def _padding(word: str) -> Padding:
    if word not in get_args(Padding):
        raise ModelFileError(f"The manifest says padding {word!r}; allowed are {', '.join(get_args(Padding))}.")
    return cast(Padding, word)


def _load_file(path: Path) -> Package:
    model = _read(path)
    try:
        notes = sort_nodes(model)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    found = (*notes, *_without_data(model), *_problems(model))
    return Package(models={"model": model}, padding="any", diagnostics=found)


def _read(path: Path) -> ir.Model:
    """Parse an ONNX file; whatever a parser dislikes becomes one sentence."""
    form = _TEXT.get(path.suffix.lower(), "protobuf")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The onnxtxt format is experimental")
            model = ir.load(path, format=form)
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {reason(error)}.") from None
    except Exception as error:  # protobuf, the text parsers and the deserializer have no common base
        why = f"{words(error)}. {hint(path, form != 'protobuf')}"
        raise ModelFileError(f"{path} is not a usable ONNX file: {why}") from None
    if not model.graph.name and not len(model.graph) and not model.graph.outputs:
        raise ModelFileError(f"{path} holds no graph. {hint(path, form != 'protobuf')}")
    try:
        check_values(model)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    return model


def _without_data(model: ir.Model) -> Iterator[Diagnostic]:
    """Initializers that state a shape and hold no values are parameters of a skeleton, not zeros."""
    bare = []
    for graph in model.graphs():
        for name, value in graph.initializers.items():
            tensor = value.const_value
            if isinstance(tensor, ir.serde.TensorProtoTensor) and tensor.size and not _holds_values(tensor.raw):
                value.dtype, value.shape = tensor.dtype, ir.Shape(tensor.shape)
                value.const_value = None
                bare.append(name)
    if bare:
        yield Diagnostic(
            "weights.no-data", "warning", f"{len(bare)} initializers have a shape and no values: {some(bare)}.",
            where=bare[0], hint="The graph can be looked at and optimized; running it needs the weights.",
        )  # fmt: skip


def _holds_values(proto: Any) -> bool:
    fields = ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data")
    return any(len(getattr(proto, field)) for field in fields)


def _external(model: ir.Model) -> Iterator[ir.ExternalTensor]:
    for graph in model.graphs():
        for value in graph.initializers.values():
            if isinstance(value.const_value, ir.ExternalTensor):
                yield value.const_value


def _problems(model: ir.Model) -> Iterator[Diagnostic]:
    """One diagnostic per data file that cannot serve its tensors; the graph is still good to look at."""
    by_file: dict[str, list[ir.ExternalTensor]] = {}
    for tensor in _external(model):
        by_file.setdefault(str(tensor.location), []).append(tensor)
    for location, tensors in by_file.items():
        code, what = _problem(tensors)
        if code:
            yield Diagnostic(
                code,
                "warning",
                f"External data {location!r} of {len(tensors)} tensors {what}; weights cannot be read.",
                where=location,
                hint="The graph can be looked at; running it needs the data file beside it.",
            )


def _problem(tensors: list[ir.ExternalTensor]) -> tuple[str, str]:
    try:
        path = Path(tensors[0].path)
        status = path.stat()
    except (OSError, ValueError):  # ValueError: a name with a zero byte
        return "weights.missing-file", "is missing"
    base = Path(os.path.realpath(tensors[0].base_dir))
    if not Path(os.path.realpath(path)).is_relative_to(base):
        return "weights.outside-folder", "lies outside the model's folder"
    if status.st_nlink > 1:
        return "weights.hard-link", "has several names (hard links), which are refused"
    needed = max((tensor.offset or 0) + _length(tensor) for tensor in tensors)
    if status.st_size < needed:
        return "weights.truncated-file", f"is truncated ({status.st_size:,} of at least {needed:,} bytes)"
    return "", ""


def _length(tensor: ir.ExternalTensor) -> int:
    return int(tensor.length if tensor.length is not None else cast(Any, tensor).nbytes)

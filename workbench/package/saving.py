"""A package to a folder: complete under a temporary name first, then in place by one rename."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib.metadata
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import onnx_ir as ir

from workbench.config.files import is_no_space, reason, sha256_file, sync_file, sync_folder, temporary_folder
from workbench.config.progress import Bar, Progress
from workbench.errors import SaveError, root_cause
from workbench.package.manifest import NAME, FileRecord, Manifest, is_package, read_manifest
from workbench.passes.cleanup import in_order
from workbench.types import dtype_word
from workbench.weights.external import Layout, layout, write_tensors
from workbench.weights.lazy import to_proto

if TYPE_CHECKING:
    from workbench.package.package import Package

INLINE_BYTES = 1024
"""Smaller tensors stay inside the .onnx file, where shape inference can read them (ORT's own limit)."""

TOKENIZER_FILES = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja",
    "generation_config.json",
)  # fmt: skip
_VERSIONED = ("ep-workbench", "onnx", "onnx-ir", "onnxscript", "onnxruntime")
_KEY = re.compile(r"\w[\w.-]*")


NO_FILES: Mapping[str, bytes] = {}


def save(
    package: Package, folder: Path, *, overwrite: bool, progress: Progress, beside: Mapping[str, bytes] = NO_FILES
) -> Manifest:
    """See :meth:`Package.save`. ``beside`` holds more files for the folder, small ones, by name."""
    target = check_place(package, folder, overwrite=overwrite)
    try:
        with temporary_folder(target) as temporary:
            manifest = _write(package, temporary, progress, beside)
            sync_folder(temporary)
            _check_target(target, overwrite)  # again: minutes may have passed
            _publish(temporary, target)
            sync_folder(target.parent)
    except SaveError:
        raise
    except OSError as error:
        raise _failed(target, error) from None
    return manifest


def check_place(package: Package, folder: Path, *, overwrite: bool) -> Path:
    """The absolute path of the folder, once nothing speaks against saving there.

    Raises:
        SaveError: the place is taken, or the package cannot be saved at all.
    """
    if "\0" in str(folder):
        raise SaveError(f"{str(folder)!r} cannot be the name of a folder. Choose another.")
    target = Path(os.path.abspath(folder.expanduser()))
    try:
        _check_target(target, overwrite)
    except OSError as error:
        if isinstance(error, SaveError):
            raise
        raise _failed(target, error) from None
    _check_package(package)
    return target


def measure(package: Package, beside: Mapping[str, bytes] = NO_FILES) -> Manifest:
    """What :func:`save` would write, with the size of each file and without its sha256; no weight is read."""
    records: list[FileRecord] = []
    plans = {key: _Plan(model, f"{key}.onnx") for key, model in package.models.items()}
    for plan in plans.values():
        data, graph = plan.sizes()
        records += [FileRecord(plan.data, data, "")] if data else []
        records.append(FileRecord(plan.file, graph, ""))
    for name, source in _extras(package, beside):
        records.append(FileRecord(name, source.stat().st_size if isinstance(source, Path) else len(source), ""))
    return _manifest(package, records, {key: plan.file for key, plan in plans.items()})


def _failed(target: Path, error: OSError) -> SaveError:
    what = "no disk space left" if is_no_space(error) else reason(error)
    return SaveError(
        f"The package could not be saved to {target}: {what}. Nothing was left there; "
        "what was there before is untouched."
    )


def _check_target(target: Path, overwrite: bool) -> None:
    """Refuse what a save would destroy: another kind of folder always, a package without ``overwrite``."""
    if not os.path.lexists(target):
        if (above := next((place for place in target.parents if os.path.lexists(place)), None)) and not above.is_dir():
            raise SaveError(f"{above} is not a folder, so {target.name} cannot be made in it. Choose another place.")
        return
    if target.is_symlink() or not target.is_dir():
        raise SaveError(f"{target} exists and is not a folder. Choose another place.")
    entries = {entry.name for entry in target.iterdir()}
    if not entries:
        return
    if not is_package(target):
        raise SaveError(f"{target} exists, is not empty and is not a package. Choose another folder.")
    if not overwrite:
        raise SaveError(f"{target} holds a package already. Pass overwrite=True to replace it.")
    if foreign := sorted(entries - {NAME} - {file.name for file in read_manifest(target).files}):
        raise SaveError(
            f"{target} holds files that are not of the package ({', '.join(foreign[:5])}); replacing it would "
            "delete them. Move them, or choose another folder."
        )


def _check_package(package: Package) -> None:
    if not package.models:
        raise SaveError("This package holds no graphs; there is nothing to save.")
    for key, model in package.models.items():
        if not _KEY.fullmatch(key):
            raise SaveError(f"The graph's key {key!r} cannot be a file's name; use letters, digits, '.', '-', '_'.")
        empty = [name for graph in model.graphs() for name, v in graph.initializers.items() if v.const_value is None]
        if empty:
            raise SaveError(
                f"{len(empty)} parameters of {key!r} have no data ({', '.join(empty[:3])}, ...): this package is a "
                "skeleton. Build it with load_weights=True to save it."
            )


def _write(package: Package, folder: Path, progress: Progress, beside: Mapping[str, bytes]) -> Manifest:
    """Everything into ``folder``, flushed."""
    plans = {key: _Plan(model, f"{key}.onnx") for key, model in package.models.items()}
    total = sum(plan.place.size for plan in plans.values())
    free = shutil.disk_usage(folder).free
    if free < total:
        raise SaveError(
            f"Not enough disk space for {folder.parent}: the weights take {total:,} bytes, {free:,} are free."
        )
    records: list[FileRecord] = []
    with Bar("Saving", total, progress) as bar:
        for plan in plans.values():
            records += plan.write(folder, bar)
    records += _write_extras(package, folder, beside)
    manifest = _manifest(package, records, {key: plan.file for key, plan in plans.items()})
    _write_file(folder, NAME, manifest.to_json().encode("utf-8"))
    return manifest


class _Plan:
    """One graph on its way to disk: which tensors leave it, and where they go. The graph is not touched."""

    def __init__(self, model: ir.Model, file: str) -> None:
        self.file = file
        self.data = f"{file}.data"
        with in_order(model):
            self._clone = model.clone()
        self._values = list(_external_values(self._clone))
        # A tensor that several initializers share is written once.
        shared = {id(tensor): tensor for value in self._values if (tensor := value.const_value) is not None}
        self._numbers = {identity: number for number, identity in enumerate(shared)}
        self._tensors: Sequence[ir.TensorProtocol] = list(shared.values())
        self.place: Layout = layout(self._tensors)

    def write(self, folder: Path, bar: Bar) -> Iterator[FileRecord]:
        """Data first, then the graph that points into it."""
        if self._tensors:
            digest = write_tensors(folder / self.data, self._tensors, self.place, bar)
            yield FileRecord(self.data, self.place.size, digest)
        yield _write_file(folder, self.file, self._content())

    def sizes(self) -> tuple[int, int]:
        """Bytes of the data file and of the graph's; the data is not read."""
        return self.place.size, len(self._content())

    def _content(self) -> bytes:
        references = {value: self._reference(value) for value in self._values}
        for value, reference in references.items():
            value.const_value = reference
        try:
            return bytes(to_proto(self._clone).SerializeToString())
        except (ValueError, ir.serde.SerdeError) as error:  # protobuf's limit of 2 GiB for what is inline, say
            raise SaveError(f"{self.file} cannot be written: {root_cause(error)}.") from None

    def _reference(self, value: ir.Value) -> ir.ExternalTensor:
        tensor = value.const_value
        assert tensor is not None
        number = self._numbers[id(tensor)]
        return ir.ExternalTensor(
            self.data,
            self.place.offsets[number],
            self.place.lengths[number],
            tensor.dtype,
            shape=ir.Shape(tensor.shape.numpy()),
            name=value.name or "",
            doc_string=tensor.doc_string,
            metadata_props=dict(tensor.metadata_props),
        )


def _external_values(model: ir.Model) -> Iterator[ir.Value]:
    for graph in model.graphs():
        for value in graph.initializers.values():
            tensor = value.const_value
            if tensor is None or tensor.dtype == ir.DataType.STRING:
                continue
            # A small tensor may lie in a foreign file's data, which is not saved with the graph.
            if tensor.nbytes >= INLINE_BYTES or isinstance(tensor, ir.ExternalTensor):
                yield value


def _write_file(folder: Path, name: str, content: bytes) -> FileRecord:
    (folder / name).write_bytes(content)
    sync_file(folder / name)
    return FileRecord(name, len(content), hashlib.sha256(content).hexdigest())


def _write_extras(package: Package, folder: Path, beside: Mapping[str, bytes]) -> Iterator[FileRecord]:
    for name, source in _extras(package, beside):
        if isinstance(source, bytes):
            yield _write_file(folder, name, source)
            continue
        shutil.copyfile(source, folder / name)
        sync_file(folder / name)
        yield FileRecord(name, (folder / name).stat().st_size, sha256_file(folder / name))


def _extras(package: Package, beside: Mapping[str, bytes]) -> Iterator[tuple[str, bytes | Path]]:
    """Tokenizer files, the Hugging Face config that everything came from, and what the caller puts beside them."""
    source = package.source
    if source is not None and source.tokenizer is not None:
        for name in TOKENIZER_FILES:
            if (source.tokenizer / name).is_file() and name not in beside:
                yield name, source.tokenizer / name
    if source is not None:
        text = json.dumps(dict(source.hf), indent=2, ensure_ascii=False, default=str) + "\n"
        yield "config.json", text.encode("utf-8")
    yield from beside.items()


def _manifest(package: Package, records: list[FileRecord], models: dict[str, str]) -> Manifest:
    source = package.source
    words = ("name", "model_type", "origin", "revision")
    return Manifest(
        files=tuple(records),
        models=models,
        execution_provider=package.execution_provider,
        dtype=dtype_word(package.dtype) if package.dtype is not None else "",
        padding=package.padding,
        reports=package.reports,
        config=package.config.to_dict() if package.config is not None else None,
        source={word: getattr(source, word) for word in words} if source is not None else None,
        versions={name: version for name in _VERSIONED if (version := _version(name))},
        diagnostics=package.diagnostics,
    )


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _publish(temporary: Path, target: Path) -> None:
    """Give the finished folder its name. A package already there leaves at the same instant, where the system can
    exchange two names; elsewhere it steps aside first and comes back if the second rename fails."""
    if not target.exists() or not any(target.iterdir()):
        if target.exists():
            target.rmdir()
        os.rename(temporary, target)
    elif not _exchange(temporary, target):
        aside = temporary.with_suffix(".old")
        os.rename(target, aside)
        try:
            os.rename(temporary, target)
        except BaseException:
            os.rename(aside, target)
            raise
        shutil.rmtree(aside, ignore_errors=True)


def _exchange(first: Path, second: Path) -> bool:
    """Exchange two names atomically (Linux ``renameat2``); False where the system or file system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    at_current, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    with contextlib.suppress(OSError, AttributeError):
        rename = ctypes.CDLL(None, use_errno=True).renameat2
        return rename(at_current, os.fsencode(first), at_current, os.fsencode(second), exchange) == 0
    return False

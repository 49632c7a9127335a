"""Which text a source means: a file, a folder, the text itself, or data."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from workbench.errors import wrong_type
from workbench.metadata.reading.from_json import read_json
from workbench.metadata.reading.from_yaml import read_yaml
from workbench.metadata.reading.limits import MAX_BYTES, Fault, Unreadable, stop
from workbench.metadata.reading.loaded import Loaded, Syntax
from workbench.metadata.reading.plain import copy_plain

FILE_NAMES = ("inference_metadata.yaml", "inference_metadata.yml", "inference_metadata.json")
"""Names of the document in a package, in order of preference."""
_ALLOWED = "a path of a file or folder, the text of a document, a mapping, or what describe() gave"


class HasData(Protocol):
    @property
    def data(self) -> Any: ...


Source = str | bytes | os.PathLike[str] | Mapping[str, Any] | HasData


def load(source: Source) -> Loaded:
    """Plain data of a path, text or mapping. Whatever is wrong with it stands in ``faults``.

    A ``str`` is a path when it is one line that names something that exists or ends in .yaml, .yml or .json. A record
    with a mapping as its ``data`` (what ``describe`` gave, another ``Loaded``) stands for that mapping.
    """
    data = getattr(source, "data", None)
    source = data if isinstance(data, Mapping) and not isinstance(source, Mapping) else source
    try:
        if isinstance(source, Mapping):
            data, faults = copy_plain(source)
            return Loaded(data, tuple(faults))
        if isinstance(source, bytes):
            return _read_text(_decode(source), "")
        if isinstance(source, str) and not _is_path(source):
            return _read_text(_within_bounds(source), "")
        if isinstance(source, str | os.PathLike):
            return _read_file(pathlib.Path(source))
    except Unreadable as error:
        return Loaded(None, (error.fault,))
    raise wrong_type("source", source, _ALLOWED)


def _is_path(text: str) -> bool:
    if len(text) > 4096 or "\n" in text or "\r" in text or "\0" in text or not text.strip():
        return False
    if text.lstrip()[0] in "{[":
        return False
    return text.endswith((".yaml", ".yml", ".json")) or os.path.exists(text)


def _read_file(path: pathlib.Path) -> Loaded:
    try:
        if path.is_dir():
            path = _in_folder(path)
        if not path.exists():
            raise stop(f"There is no file {str(path)!r}.", "Name a metadata file, or a folder that holds one.")
        if not path.is_file():
            raise stop(f"{str(path)!r} is no regular file.", "Name a metadata file.")
        if path.stat().st_size > MAX_BYTES:
            raise _too_big(path.stat().st_size)
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        raise stop(f"The file {str(path)!r} cannot be read: {error}.", "Check its rights.") from None
    try:
        return _read_text(_decode(raw), path.name)
    except Unreadable as error:
        return Loaded(None, (error.fault,), None, "yaml", path.name)


def _in_folder(folder: pathlib.Path) -> pathlib.Path:
    for name in FILE_NAMES:
        if os.path.lexists(folder / name):
            return folder / name
    raise stop(f"The folder {str(folder)!r} holds no metadata.", f"It should hold one of {', '.join(FILE_NAMES)}.")


def _too_big(size: int) -> Unreadable:
    message = f"The document has {size:,} bytes; at most {MAX_BYTES:,} are read."
    return stop(message, "Metadata names files, it does not hold their contents.")


def _within_bounds(text: str) -> str:
    if len(text) > MAX_BYTES:
        raise _too_big(len(text))
    return text


def _decode(raw: bytes) -> str:
    if len(raw) > MAX_BYTES:
        raise _too_big(len(raw))
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"Byte {error.start} of the text is no UTF-8."
        raise stop(message, "Save the document as UTF-8.", line=line) from None


def _read_text(text: str, name: str) -> Loaded:
    """By extension; a text without one is YAML, else JSON."""
    if name.endswith(".json"):
        return _with(read_json, text, "json", name)
    found = _with(read_yaml, text, "yaml", name)
    if found.data is None and not name.endswith((".yaml", ".yml")):
        second = _with(read_json, text, "json", name)
        if second.data is not None:
            return second
    return found


def _with(read: Callable[[str], tuple[Any, list[Fault]]], text: str, syntax: Syntax, name: str) -> Loaded:
    try:
        data, faults = read(text)
    except Unreadable as error:
        return Loaded(None, (error.fault,), text, syntax, name)
    if data is None and not faults:
        faults = [Fault("The document is empty.", "Write at least a mapping such as `schema_version: v1`.")]
    return Loaded(data, tuple(faults), text, syntax, name)

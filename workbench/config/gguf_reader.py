"""The header of a GGUF file: metadata and tensor records, checked against the file's size before anything is used.

The ``gguf`` library gives the constants and the dequantization. Its own reader makes a NumPy array per token (seconds
for a vocabulary of 49152) and loops for ever on a hostile array length, so the few lines that walk the header are here.

Source: the GGUF specification, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
import mmap
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import WeightsError

_MAX_DIMENSIONS = 4  # GGML_MAX_DIMS
_STRING, _ARRAY = 8, 9
_SCALARS = {
    0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "?", 10: "<u8", 11: "<i8", 12: "<f8",
}  # fmt: skip
_AGAIN = "Fetch or convert the file again."


@dataclasses.dataclass(frozen=True)
class GgufTensor:
    """One tensor record. ``shape`` is in NumPy's order (rows first), ``offset`` counts from the file's start."""

    name: str
    type: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int


@dataclasses.dataclass(frozen=True, eq=False)
class GgufFile:
    """An open GGUF file; tensor data stays on disk until a tensor is read."""

    path: Path
    metadata: Mapping[str, Any]
    tensors: Mapping[str, GgufTensor]
    header_sha256: str
    """Of the bytes before the tensor data: names everything that the metadata decides."""
    _map: mmap.mmap

    def raw(self, name: str) -> np.ndarray:
        """The stored bytes of a tensor [nbytes], uint8, memory-mapped: no copy."""
        tensor = self.tensors[name]
        return np.frombuffer(self._map, np.uint8, tensor.nbytes, tensor.offset)

    def __repr__(self) -> str:
        return f"GgufFile({self.path.name!r}, {len(self.metadata)} fields, {len(self.tensors)} tensors)"


def read_gguf(path: Path) -> GgufFile:
    """Read and check the header of a GGUF file (version 2 or 3, little-endian).

    Raises:
        WeightsError: not a GGUF file, another version, corrupt, or shorter than its tensor records say.
    """
    data = _map_file(path)
    cursor = _Cursor(data, path.name)
    tensor_count, field_count = _start(cursor)
    metadata = _fields(cursor, field_count)
    records = [_record(cursor) for _ in range(cursor.count(tensor_count, 24, "tensors"))]
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment <= 0 or alignment & (alignment - 1):
        raise cursor.error(f"general.alignment is {alignment!r}; it must be a power of two")
    start = -(-cursor.at // alignment) * alignment
    tensors = _tensors(cursor, records, start)
    digest = hashlib.sha256(data[: cursor.at]).hexdigest()
    return GgufFile(path, metadata, tensors, digest, data)


def _map_file(path: Path) -> mmap.mmap:
    try:
        with open(path, "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except ValueError:
        raise WeightsError(f"{path.name} is empty: not a GGUF file. {_AGAIN}") from None
    except OSError as error:
        raise WeightsError(f"{path.name} cannot be read: {error.strerror}.") from None


class _Cursor:
    """Reads little-endian values in order and refuses to pass the end of the file."""

    def __init__(self, data: mmap.mmap, name: str) -> None:
        self.data, self.name, self.at, self.size = data, name, 0, len(data)

    def error(self, what: str) -> WeightsError:
        return WeightsError(f"{self.name} is not a usable GGUF file: {what}. {_AGAIN}")

    def take(self, count: int, what: str) -> bytes:
        if count > self.size - self.at:
            raise self.error(f"it ends inside {what} ({count} bytes wanted at {self.at}, the file has {self.size})")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, letter: str, what: str) -> int:
        return int(struct.unpack(f"<{letter}", self.take(struct.calcsize(letter), what))[0])

    def count(self, count: int, smallest: int, what: str) -> int:
        """``count``, unless that many things of at least ``smallest`` bytes cannot be in the rest of the file."""
        if count * smallest > self.size - self.at:
            raise self.error(f"it claims {count} {what}, more than its {self.size} bytes can hold")
        return count

    def string(self, what: str) -> str:
        raw = self.take(self.number("Q", what), what)
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise self.error(f"{what} is not valid UTF-8") from None


def _start(cursor: _Cursor) -> tuple[int, int]:
    """Magic and version checked; (tensor count, field count)."""
    if cursor.size < 24 or cursor.take(4, "the magic") != b"GGUF":
        raise cursor.error("it does not begin with the letters GGUF and a whole header")
    version = cursor.number("I", "the version")
    if version & 0xFFFF == 0:
        raise cursor.error("it is big-endian; only little-endian files are read")
    if version not in (2, 3):
        raise cursor.error(f"its version is {version}; read are 2 and 3")
    return cursor.number("Q", "the tensor count"), cursor.number("Q", "the field count")


def _fields(cursor: _Cursor, count: int) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for _ in range(cursor.count(count, 13, "metadata fields")):
        key = cursor.string("a field name")
        if key in fields:
            raise cursor.error(f"the field {key!r} occurs twice")
        fields[key] = _value(cursor, cursor.number("I", key), key)
    return fields


def _value(cursor: _Cursor, kind: int, key: str) -> Any:
    if kind == _STRING:
        return cursor.string(key)
    if kind == _ARRAY:
        return _array(cursor, key)
    if kind not in _SCALARS:
        raise cursor.error(f"the field {key!r} has the unknown type {kind}")
    dtype = np.dtype(_SCALARS[kind])
    return np.frombuffer(cursor.take(dtype.itemsize, key), dtype)[0].item()


def _array(cursor: _Cursor, key: str) -> list[str] | np.ndarray:
    """Strings become a list, numbers a NumPy array; no known file nests arrays, so those are refused."""
    kind, length = cursor.number("I", key), cursor.number("Q", key)
    if kind == _STRING:
        return [cursor.string(key) for _ in range(cursor.count(length, 8, f"strings in {key}"))]
    if kind not in _SCALARS:
        raise cursor.error(f"the field {key!r} is an array of the unreadable type {kind}")
    dtype = np.dtype(_SCALARS[kind])
    return np.frombuffer(cursor.take(length * dtype.itemsize, key), dtype)


def _record(cursor: _Cursor) -> tuple[str, tuple[int, ...], int, int]:
    """(name, shape in NumPy's order, type number, offset inside the data section)."""
    name = cursor.string("a tensor name")
    rank = cursor.number("I", name)
    if not 1 <= rank <= _MAX_DIMENSIONS:
        raise cursor.error(f"the tensor {name!r} has {rank} dimensions; allowed are 1 to {_MAX_DIMENSIONS}")
    shape = tuple(cursor.number("Q", name) for _ in range(rank))[::-1]
    return name, shape, cursor.number("I", name), cursor.number("Q", name)


def _tensors(
    cursor: _Cursor, records: list[tuple[str, tuple[int, ...], int, int]], start: int
) -> dict[str, GgufTensor]:
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    tensors: dict[str, GgufTensor] = {}
    for name, shape, number, offset in records:
        if name in tensors:
            raise cursor.error(f"the tensor {name!r} occurs twice")
        try:
            kind = GGMLQuantizationType(number)
            block, block_bytes = GGML_QUANT_SIZES[kind]
        except (ValueError, KeyError):
            raise cursor.error(f"the tensor {name!r} has the unknown type {number}") from None
        if shape[-1] % block:
            raise cursor.error(f"rows of {name!r} hold {shape[-1]} values, not whole blocks of {block} ({kind.name})")
        nbytes = math.prod(shape) // block * block_bytes
        if start + offset + nbytes > cursor.size:
            raise WeightsError(
                f"{cursor.name} is truncated: tensor {name!r} ends at byte {start + offset + nbytes}, the file has "
                f"{cursor.size}. {_AGAIN}"
            )
        tensors[name] = GgufTensor(name, kind.name, shape, start + offset, nbytes)
    return tensors

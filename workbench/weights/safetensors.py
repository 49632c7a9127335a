"""Tensors of a safetensors file, memory-mapped: zero copy, and nothing is read before it is used.

The safetensors library checks the file; its NumPy reader would copy every tensor, so the (few) offsets are
taken from the header here.
"""

from __future__ import annotations

import dataclasses
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from workbench.errors import WeightsError

_DTYPES = {
    "F32": ir.DataType.FLOAT, "F16": ir.DataType.FLOAT16, "BF16": ir.DataType.BFLOAT16, "F64": ir.DataType.DOUBLE,
    "I64": ir.DataType.INT64, "I32": ir.DataType.INT32, "I16": ir.DataType.INT16, "I8": ir.DataType.INT8,
    "U8": ir.DataType.UINT8, "BOOL": ir.DataType.BOOL,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Entry:
    """One tensor of a file: ``start`` and ``stop`` count from the file's begin."""

    name: str
    dtype: ir.DataType
    shape: tuple[int, ...]
    start: int
    stop: int


def read_header(path: Path) -> tuple[Entry, ...]:
    """The checked records of a safetensors file.

    Raises:
        WeightsError: the file is truncated, corrupt, holds a name twice or a dtype that is not read.
    """
    _check(path)
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length), object_pairs_hook=lambda pairs: _unique(pairs, path))
    header.pop("__metadata__", None)
    return tuple(_entry(path, name, record, 8 + length) for name, record in header.items())


def _check(path: Path) -> None:
    """Let the library look at header and offsets: bounds, overlaps, holes, shape against bytes."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy"):
            return
    except FileNotFoundError:
        raise WeightsError(f"{path}: no such file. Complete the folder.") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise WeightsError(
            f"{path} is truncated or not a safetensors file ({error}). Fetch it again; it has "
            f"{path.stat().st_size} bytes here."
        ) from None


def _unique(pairs: list[tuple[str, Any]], path: Path) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise WeightsError(f"{path}: the header holds {twice!r} twice; which one counts is unknown.")
    return found


def _entry(path: Path, name: str, record: dict[str, Any], base: int) -> Entry:
    if record["dtype"] not in _DTYPES:
        raise WeightsError(
            f"{path}: {name!r} has dtype {record['dtype']}, which is not read; read are {', '.join(_DTYPES)}. "
            "Convert the weights to one of these."
        )
    start, stop = record["data_offsets"]
    return Entry(name, _DTYPES[record["dtype"]], tuple(record["shape"]), base + start, base + stop)


def open_safetensors(path: Path) -> dict[str, ir.TensorProtocol]:
    """Every tensor of a file by name, as views of one memory map.

    Raises:
        WeightsError: see :func:`read_header`.
    """
    entries = read_header(path)
    if not any(entry.stop > entry.start for entry in entries):
        return {entry.name: _view(np.empty(0, np.uint8), entry, 0) for entry in entries}
    mapped = np.memmap(path, np.uint8, mode="r")
    return {entry.name: _view(mapped, entry, entry.start) for entry in entries}


def _view(mapped: np.ndarray, entry: Entry, start: int) -> ir.TensorProtocol:
    stored = np.asarray(mapped)[start : start + entry.stop - entry.start]
    array = stored.view(entry.dtype.numpy()).reshape(entry.shape)
    return ir.Tensor(array, dtype=entry.dtype, shape=ir.Shape(entry.shape), name=entry.name)

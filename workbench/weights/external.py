"""Many tensors into one external data file: computed, written, hashed and flushed at the same time.

The caller's thread computes pieces (NumPy lets go of the interpreter lock), a second one hashes them in order,
whichever is behind writes, and a third starts the disk early. At most ``_WAITING`` pieces are held.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import queue
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx_ir as ir

from workbench.config.progress import Bar
from workbench.errors import WeightsError
from workbench.weights.disk import reserve, start_writing
from workbench.weights.lazy import pieces

PAGE = 4096
"""Tensors of a page or more begin on a page, so that a reader can map them (the ONNX external data format asks
for it; ONNX Runtime rounds down by itself)."""
_SMALL = 64  # the rest keeps to cache lines
_WAITING = 16
_FLUSH_BYTES = 16 << 20
_PADDING = bytes(PAGE)
_POSITIONED = hasattr(os, "pwrite")


@dataclasses.dataclass(frozen=True)
class Layout:
    """Where each tensor lies in the file, in order, and how long the file is."""

    offsets: tuple[int, ...]
    lengths: tuple[int, ...]
    size: int


def layout(tensors: Sequence[ir.TensorProtocol]) -> Layout:
    """Offsets for the tensors in their order; no data is read."""
    offsets, at = [], 0
    lengths = [tensor.nbytes for tensor in tensors]
    for length in lengths:
        align = PAGE if length >= PAGE else _SMALL
        at = -(-at // align) * align
        offsets.append(at)
        at += length
    return Layout(tuple(offsets), tuple(lengths), at)


def write_tensors(path: Path, tensors: Sequence[ir.TensorProtocol], place: Layout, bar: Bar) -> str:
    """Write a new file of these tensors, flushed to the disk; its sha256.

    Raises:
        OSError: the disk refuses. Whatever a tensor raises when it is read. The file is then incomplete.
    """
    with open(path, "xb", buffering=0) as file, _Writer(file.fileno()) as writer:
        reserve(file.fileno(), place.size)
        for block in _blocks(tensors, place):
            writer.add(block)
            bar.update(len(block))
        return writer.finish()


def _blocks(tensors: Sequence[ir.TensorProtocol], place: Layout) -> Iterator[memoryview]:
    """The file's bytes in order, padding included."""
    at = 0
    for tensor, offset, length in zip(tensors, place.offsets, place.lengths, strict=True):
        if offset > at:
            yield memoryview(_PADDING)[: offset - at]
        at = offset
        for block in _read(tensor):
            at += len(block)
            if at > offset + length:
                break
            yield block
        if at != offset + length:
            raise WeightsError(f"Tensor {tensor.name!r} promised {length} bytes and gave {at - offset} or more.")


def _read(tensor: ir.TensorProtocol) -> Iterator[memoryview]:
    """A tensor's bytes in order; a source that fails is told apart from a disk that does."""
    try:
        for piece in pieces(tensor):
            yield np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data
    except (OSError, ValueError) as error:
        raise WeightsError(f"Tensor {tensor.name!r} cannot be read: {error}") from None


class _Writer:
    """Bytes in order to a file descriptor; use as a context manager."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._at = 0
        self._unflushed = 0
        self._digest = hashlib.sha256()
        self._blocks: queue.Queue[tuple[memoryview, int | None] | None] = queue.Queue(_WAITING)
        self._flushes: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._error: BaseException | None = None
        self._threads = [threading.Thread(target=target, daemon=True) for target in (self._hash, self._flush)]

    def __enter__(self) -> _Writer:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def add(self, block: memoryview) -> None:
        """The next bytes. Written here when the other thread is behind, else there."""
        if self._error is not None:
            raise self._error
        offset, self._at = self._at, self._at + len(block)
        if _POSITIONED and self._blocks.qsize() * 2 > _WAITING:
            _write_at(self._handle, block, offset)
            self._blocks.put((block, None))
        else:
            self._blocks.put((block, offset))
        self._unflushed += len(block)
        if self._unflushed >= _FLUSH_BYTES:
            self._unflushed = 0
            self._flushes.put(True)

    def finish(self) -> str:
        """All is written, hashed and on the disk; the sha256."""
        self._stop()
        if self._error is not None:
            raise self._error
        os.fsync(self._handle)
        return self._digest.hexdigest()

    def _stop(self) -> None:
        """End both threads; after an error or an interrupt what still waits is dropped."""
        if self._threads[0].is_alive():
            self._blocks.put(None)
        self._flushes.put(False)
        for thread in self._threads:
            thread.join()

    def _hash(self) -> None:
        while (item := self._blocks.get()) is not None:
            if self._error is not None:
                continue  # keep taking, so that the other side never waits for ever
            block, offset = item
            try:
                if offset is not None:
                    _write_at(self._handle, block, offset)
                self._digest.update(block)
            except BaseException as error:
                self._error = error

    def _flush(self) -> None:
        """Let the disk begin before the last byte is there."""
        while self._flushes.get():
            start_writing(self._handle)


def _write_at(handle: int, block: memoryview, offset: int) -> None:
    """All of ``block`` at ``offset`` (which is the end, where a system cannot write elsewhere); may be short."""
    while block:
        written = os.pwrite(handle, block, offset) if _POSITIONED else os.write(handle, block)
        block, offset = block[written:], offset + written

"""Tensors set one after the other or side by side: written in pieces too, and turned from their stored form."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import onnx_ir as ir

from workbench.weights.lazy import Derived, Pieces, derived, pieces


def joined(name: str, tensors: Sequence[ir.TensorProtocol], axis: int) -> ir.TensorProtocol:
    """The concatenation of tensors of one dtype, computed when read.

    Matrices (and vectors along their only axis) are read in pieces; a matrix knows its transpose in pieces as well,
    so that a packed weight costs no more than its parts.
    """
    shapes = [tuple(tensor.shape.numpy()) for tensor in tensors]
    shape = list(shapes[0])
    shape[axis] = sum(sizes[axis] for sizes in shapes)
    along, across = _orders(tensors, shapes, axis % len(shape))
    return derived(
        name,
        tensors[0].dtype,
        shape,
        lambda: np.concatenate([tensor.numpy() for tensor in tensors], axis=axis),
        pieces=along,
        turned=across,
    )


def _orders(
    tensors: Sequence[ir.TensorProtocol], shapes: Sequence[tuple[int, ...]], axis: int
) -> tuple[Pieces | None, Pieces | None]:
    """How the values and those of the transpose are read in order; None: only as a whole."""
    if tensors[0].dtype.bitwidth < 8:  # two values share a byte: pieces could end between them
        return None, None

    def parts() -> Iterator[np.ndarray]:
        return itertools.chain.from_iterable(map(pieces, tensors))

    def turned_parts() -> Iterator[np.ndarray]:
        return itertools.chain.from_iterable(map(_turned, tensors))

    if len(shapes[0]) == 1:
        return parts, None
    if len(shapes[0]) != 2:
        return None, None
    if axis == 0:
        return parts, lambda: _abreast([_turned(tensor) for tensor in tensors], [rows for rows, _ in shapes])
    return lambda: _abreast([pieces(tensor) for tensor in tensors], [columns for _, columns in shapes]), turned_parts


def _turned(tensor: ir.TensorProtocol) -> Iterator[np.ndarray]:
    """The values of a matrix's transpose in order."""
    if isinstance(tensor, Derived) and tensor.turned is not None:
        return tensor.turned()
    return iter((np.ascontiguousarray(tensor.numpy().T),))


def _abreast(sources: Sequence[Iterable[np.ndarray]], widths: Sequence[int]) -> Iterator[np.ndarray]:
    """Rows of several matrices side by side, as many at a time as each of them has at hand."""
    rows = [_whole_rows(source, width) for source, width in zip(sources, widths, strict=True)]
    held = [next(source, None) for source in rows]
    while all(block is not None for block in held):
        blocks = [block for block in held if block is not None]
        count = min(map(len, blocks))
        yield np.concatenate([block[:count] for block in blocks], axis=1)
        held = [
            block[count:] if len(block) > count else next(source, None)
            for block, source in zip(blocks, rows, strict=True)
        ]


def _whole_rows(source: Iterable[np.ndarray], width: int) -> Iterator[np.ndarray]:
    """Pieces cut anywhere, as arrays [n, width]."""
    rest: np.ndarray | None = None
    for piece in source:
        flat = piece.reshape(-1) if rest is None else np.concatenate([rest, piece.reshape(-1)])
        whole = len(flat) // width * width
        rest = flat[whole:] if whole < len(flat) else None
        if whole:
            yield flat[:whole].reshape(-1, width)

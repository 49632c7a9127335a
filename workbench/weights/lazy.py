"""Tensors that are computed when they are read and kept by nobody: casts, transposes, dequantization.

A package holds such a tensor instead of a second copy of the weights. ``pieces`` reads any tensor in order,
a few megabytes at a time, so that saving never holds more than that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from workbench.errors import WeightsError

PIECE_BYTES = 1 << 20
"""About the size of a piece: small enough to stay in a core's cache between its maker and the disk."""

Make = Callable[[], Any]
Pieces = Callable[[], Iterator[np.ndarray]]


class Derived(ir.LazyTensor):
    """A lazy tensor without a cache; made by :func:`derived`."""

    def __init__(
        self, make: Make, dtype: ir.DataType, shape: ir.Shape, name: str, pieces: Pieces | None, turned: Pieces | None
    ) -> None:
        super().__init__(make, dtype=dtype, shape=shape, cache=False, name=name)
        self.in_pieces = pieces
        self.turned = turned

    def __repr__(self) -> str:
        return f"{self._repr_base()}(name={self.name!r})"


def derived(
    name: str,
    dtype: ir.DataType,
    shape: Sequence[int],
    make: Make,
    *,
    pieces: Pieces | None = None,
    turned: Pieces | None = None,
) -> ir.TensorProtocol:
    """A tensor whose values ``make()`` computes anew at every reading.

    ``make`` returns an array (or an ``ir`` tensor) of exactly this dtype and shape, checked when it is called.
    ``pieces``, where given, yields the same values in order as contiguous arrays, flat or not: for writing.
    ``turned`` yields a matrix's transpose in the same way, where that is cheaper than turning the values.
    """
    fixed = ir.Shape(shape)

    def checked() -> ir.TensorProtocol:
        return _checked(make(), name, dtype, tuple(shape))

    return Derived(checked, dtype, fixed, name, pieces, turned)


def _checked(made: Any, name: str, dtype: ir.DataType, shape: tuple[int, ...]) -> ir.TensorProtocol:
    tensor = made if isinstance(made, ir.TensorProtocol) else ir.Tensor(np.ascontiguousarray(made), name=name)
    if tensor.dtype != dtype or tuple(tensor.shape) != shape:
        raise WeightsError(
            f"Derived tensor {name!r} promised {dtype.name} {shape} and made {tensor.dtype.name} {tuple(tensor.shape)}."
        )
    return tensor


def cast(source: ir.TensorProtocol, dtype: ir.DataType, name: str | None = None) -> ir.TensorProtocol:
    """``source`` in another float dtype, computed when read; ``source`` itself when the dtype is the same.

    A finite value too large for the new dtype raises WeightsError when it is read: never a silent infinity.
    """
    if source.dtype == dtype:
        return source
    label = name or source.name or ""

    def convert(array: np.ndarray) -> np.ndarray:
        return _convert(array, dtype, label)

    turned = source.turned if isinstance(source, Derived) else None
    return derived(
        label,
        dtype,
        source.shape.numpy(),
        lambda: convert(source.numpy()),
        pieces=lambda: (convert(piece) for piece in pieces(source)),
        turned=(lambda: (convert(piece) for piece in turned())) if turned is not None else None,
    )


def transposed(source: ir.TensorProtocol, name: str) -> ir.TensorProtocol:
    """The transpose of a matrix, computed when read: from the stored form where ``source`` knows how."""
    rows, columns = source.shape.numpy()
    turned = source.turned if isinstance(source, Derived) else None
    if turned is None:
        return derived(name, source.dtype, (columns, rows), lambda: source.numpy().T, turned=lambda: pieces(source))
    return derived(
        name,
        source.dtype,
        (columns, rows),
        lambda: np.concatenate([piece.reshape(-1) for piece in turned()]).reshape(columns, rows),
        pieces=turned,
        turned=lambda: pieces(source),
    )


def _convert(array: np.ndarray, dtype: ir.DataType, name: str) -> np.ndarray:
    with np.errstate(over="ignore"):
        made = array.astype(dtype.numpy())
    if dtype in (ir.DataType.FLOAT16, ir.DataType.BFLOAT16):
        lost = np.isinf(made) & np.isfinite(array)
        if lost.any():
            raise WeightsError(
                f"{name!r} holds {array[lost].ravel()[0]:g}, too large for {dtype.name.lower()}. Build it in float32."
            )
    return made


def pieces(tensor: ir.TensorProtocol) -> Iterator[np.ndarray]:
    """The values of a tensor in order, as contiguous arrays of about ``PIECE_BYTES``."""
    if isinstance(tensor, Derived):
        if tensor.in_pieces is not None:
            yield from tensor.in_pieces()
            return
        tensor = tensor.raw()
    if tensor.dtype.bitwidth < 8:  # packed: the stored bytes, not the values
        flat = np.frombuffer(tensor.tobytes(), np.uint8)
    else:
        flat = np.ascontiguousarray(tensor.numpy()).reshape(-1)
    step = max(1, PIECE_BYTES // max(1, flat.itemsize))
    for start in range(0, flat.size, step):
        yield flat[start : start + step]


def same_values(left: ir.TensorProtocol, right: ir.TensorProtocol) -> bool:
    """Whether two tensors hold the same bytes, read in pieces."""
    if left is right:
        return True
    if left.dtype != right.dtype or tuple(left.shape) != tuple(right.shape):
        return False
    if isinstance(left, Derived) or isinstance(right, Derived):
        return left.tobytes() == right.tobytes()  # their pieces may be cut at other places
    return all(np.array_equal(_bytes(a), _bytes(b)) for a, b in zip(pieces(left), pieces(right), strict=True))


def _bytes(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(np.uint8)


def to_proto(model: ir.Model) -> Any:
    """``ir.to_proto``, whose errors name the model's parts one inside the other; a tensor's own error comes through.

    Raises:
        WeightsError: a tensor that is computed when it is read cannot be.
    """
    try:
        return ir.to_proto(model)
    except ir.serde.SerdeError as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        if isinstance(cause, WeightsError):
            raise cause from None
        raise

"""Inputs of a graph as arrays: of the right dtype and rank before any runtime sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from workbench.errors import FeedsError

Array = npt.NDArray[Any]
NUMPY: dict[str, np.dtype[Any]] = {
    "tensor(float)": np.dtype(np.float32), "tensor(float16)": np.dtype(np.float16),
    "tensor(double)": np.dtype(np.float64), "tensor(int64)": np.dtype(np.int64), "tensor(int32)": np.dtype(np.int32),
    "tensor(bool)": np.dtype(np.bool_),
}  # fmt: skip
"""Arrays of the dtypes that ONNX Runtime's inputs declare; others are left to it."""


class Declared(Protocol):
    """What a graph says of an input."""

    type: str
    shape: Any


def as_arrays(feeds: Any, what: str = "feeds") -> dict[str, Array]:
    """Feeds by name as arrays; ``what`` they are called where they come from.

    Raises:
        FeedsError: not a mapping of names, or a value that is no array of numbers.
    """
    if not isinstance(feeds, Mapping) or not all(isinstance(name, str) for name in feeds):
        raise FeedsError(f"{what} must map input names to arrays; found {type(feeds).__name__} {feeds!r:.80}.")
    return {name: _array(name, value) for name, value in feeds.items()}


def _array(name: str, value: Any) -> Array:
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:  # rows of different lengths, say
        raise FeedsError(f"{name} is no array: {str(error).rstrip('.')}. Give numbers in rows of one length.") from None
    if array.dtype == object:
        raise FeedsError(f"{name} is no array: found {type(value).__name__} {value!r:.60}. Give an array of numbers.")
    return array


def cast_exactly(name: str, array: Array, declared: str) -> Array:
    """The array in a declared dtype, where no value changes its kind or is lost.

    Raises:
        FeedsError: text or fractions for whole numbers, or a number that does not fit.
    """
    wanted = NUMPY.get(declared)
    if wanted is None or array.dtype == wanted:
        return array
    whole = np.issubdtype(wanted, np.integer)
    if np.can_cast(array.dtype, wanted, "same_kind"):
        with np.errstate(over="ignore"):
            made = array.astype(wanted)
        lost = made != array if whole else np.isinf(made) & np.isfinite(array)
        if not lost.any():
            return made
        array = array[lost]
    raise FeedsError(f"{name} holds {array.dtype} {_first(array)}; the graph takes {wanted}. Convert it.")


def check_arrays(declared: Mapping[str, Declared], feeds: Mapping[str, Array]) -> None:
    """Refuse arrays that do not fit the inputs of a graph.

    Raises:
        FeedsError: another dtype, rank or fixed size than an input declares.
    """
    for name, array in feeds.items():
        one = declared[name]
        wanted, shape = NUMPY.get(one.type), list(one.shape or ())
        fixed = all(size == have for size, have in zip(shape, array.shape, strict=False) if isinstance(size, int))
        if (wanted is not None and array.dtype != wanted) or len(shape) != array.ndim or not fixed:
            text = wanted if wanted is not None else one.type
            raise FeedsError(f"{name} is {array.dtype} {_sizes(array.shape)}; the graph takes {text} {_sizes(shape)}.")


def _sizes(shape: Any) -> str:
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"


def _first(array: Array) -> str:
    return f"({array.flat[0]!r}, ...)" if array.size else "(nothing)"

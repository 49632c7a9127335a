"""Element types of the workflow as numpy arrays, and sizes for messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from workbench.metadata.dtypes import fold

Array = npt.NDArray[Any]

_TO_ONNX = {
    "float32": "FLOAT", "float64": "DOUBLE", "float8_e4m3": "FLOAT8E4M3FN", "fp8_e4m3": "FLOAT8E4M3FN",
    "float8_e4m3fn": "FLOAT8E4M3FN", "fp8_e4m3fn": "FLOAT8E4M3FN", "float8_e5m2": "FLOAT8E5M2",
    "fp8_e5m2": "FLOAT8E5M2",
}  # fmt: skip
_TO_WORKFLOW = {"FLOAT": "float32", "DOUBLE": "float64", "FLOAT8E4M3FN": "float8_e4m3fn", "FLOAT8E5M2": "float8_e5m2"}


def numpy_dtype(word: str) -> np.dtype[Any]:
    """The numpy dtype of a workflow's word for an element type."""
    folded = fold(word)
    return np.dtype(ir.DataType[_TO_ONNX.get(folded, folded.upper())].numpy())


def dtype_word_of(array: Array) -> str:
    """The workflow's word for an array's element type; numpy's own name where the workflow has none."""
    try:
        name = ir.DataType.from_numpy(array.dtype).name
    except (TypeError, ValueError):
        return str(array.dtype)
    return _TO_WORKFLOW.get(name, name.lower())


def sizes(shape: Iterable[object]) -> str:
    """``[2, 7]``."""
    return f"[{', '.join(str(size) for size in shape)}]"


def described(array: Array) -> str:
    """``float32[1, 7, 96]``."""
    return f"{dtype_word_of(array)}{sizes(array.shape)}"


def single(array: Array) -> Any:
    """The one element of an array of rank 0 or shape [1]; None for any other."""
    return array.reshape(-1)[0].item() if array.shape in ((), (1,)) else None


def is_floating(array: Array) -> bool:
    """Whether NaN and Inf can be in it, the 8- and 16-bit floats of ONNX included."""
    return bool(np.issubdtype(array.dtype, np.floating)) or dtype_word_of(array).startswith(("bfloat", "float"))

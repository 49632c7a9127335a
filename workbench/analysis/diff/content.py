"""What tensors and attributes hold: as keys that compare, and as texts for people.

No tensor is computed for a comparison unless it is asked for: a lazy one is equal to itself and otherwise unknown.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import onnx_ir as ir

from workbench.errors import WeightsError, root_cause
from workbench.types import dtype_word
from workbench.weights.lazy import pieces

WHOLE = 64 << 10
"""Tensors up to this many bytes are compared byte by byte, larger ones by a sample of as many."""
_BLOCKS = 64
_SHOWN = 16

FLOATS = frozenset({ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16, ir.DataType.DOUBLE})


def kind_of(dtype: ir.DataType | None) -> Any:
    """What two values must have in common to be the same value of two graphs: all floats are one kind."""
    return "float" if dtype in FLOATS else dtype


def dtype_text(dtype: ir.DataType | None) -> str:
    """``float32``; a question mark where nobody says."""
    return "?" if dtype is None else dtype_word(dtype)


def side_text(side: Any) -> str:
    """One dimension: its number, its name, or a question mark."""
    if isinstance(side, int):
        return str(side)
    name = getattr(side, "value", side)
    return "?" if name is None else str(name)


def shape_text(shape: Any) -> str:
    """``[batch, 64]``; empty where nobody says."""
    return "" if shape is None else f"[{', '.join(map(side_text, shape))}]"


def type_text(value: ir.Value) -> str:
    """``float32[B, S, 576]``; ``sequence(float32[...])`` and ``optional(...)`` around it where they are."""
    text, kind = "", value.type
    while kind is not None and not isinstance(kind, ir.TensorType | ir.SparseTensorType):
        text += f"{type(kind).__name__.removesuffix('Type').lower()}("
        kind = getattr(kind, "elem_type", None)
        if isinstance(kind, ir.DataType):
            break
    return f"{text}{dtype_text(value.dtype)}{shape_text(value.shape)}" + ")" * text.count("(")


def fingerprint(tensor: ir.TensorProtocol | None, *, read: bool) -> tuple[Any, ...] | None:
    """A key that is equal for equal contents; None where the values are not at hand.

    The first item says how much was looked at: ``whole``, ``sample``, or ``object`` for a tensor that only its
    identity is known of.
    """
    if tensor is None:
        return None
    head = (tensor.dtype, tuple(tensor.shape.numpy()))
    lazy = isinstance(tensor, ir.LazyTensor)
    if lazy and not read:
        return ("object", *head, id(tensor))
    try:
        if read or tensor.nbytes <= WHOLE:
            return (
                "whole",
                *head,
                _digest(pieces(tensor) if tensor.dtype != ir.DataType.STRING else [_strings(tensor)]),
            )
        return ("sample", *head, _digest([_sample(tensor)])) if _is_at_hand(tensor) else ("object", *head, id(tensor))
    except (OSError, ValueError, NotImplementedError) as error:  # external data that is not there, or cut off
        if read:
            raise WeightsError(
                f"The contents of {tensor.name!r} cannot be read: {root_cause(error)}. Put its data beside the model, "
                "or leave out read_weights=True."
            ) from error
        return None


def _digest(parts: Any) -> str:
    made = hashlib.blake2b(digest_size=12)
    for part in parts:
        made.update(part if isinstance(part, bytes) else np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
    return made.hexdigest()


def _strings(tensor: ir.TensorProtocol) -> bytes:
    return repr(tensor.numpy().tolist()).encode()


def _is_at_hand(tensor: ir.TensorProtocol) -> bool:
    """Whether a slice costs no more than itself."""
    if isinstance(tensor, ir.Tensor):
        return isinstance(tensor.raw, np.ndarray)
    return isinstance(tensor, ir.ExternalTensor | ir.TensorProtoTensor)


def _sample(tensor: ir.TensorProtocol) -> np.ndarray[Any, Any]:
    """Blocks from the first to the last, evenly spread."""
    flat = tensor.numpy().reshape(-1)
    length = max(1, WHOLE // _BLOCKS // max(1, flat.itemsize))
    starts = np.linspace(0, max(0, flat.size - length), _BLOCKS).astype(np.int64)
    return np.concatenate([flat[start : start + length] for start in starts])


def tensor_text(tensor: ir.TensorProtocol) -> str:
    """Dtype and shape, and the values where they are few."""
    head = f"{dtype_text(tensor.dtype)}{shape_text(tensor.shape)}"
    if tensor.size > _SHOWN or isinstance(tensor, ir.LazyTensor):
        found = fingerprint(tensor, read=False)
        return f"{head} #{found[3][:8]}" if found and found[0] != "object" else head
    try:
        return f"{head} {tensor.numpy().tolist()}"
    except (OSError, ValueError):
        return head


def attribute_key(attribute: ir.Attr) -> Any:
    """Equal for attributes that mean the same, also when one was written to a file (floats there have 32 bits)."""
    if attribute.is_ref():
        return ("ref", attribute.ref_attr_name)
    kind, value = attribute.type, attribute.value
    if kind == ir.AttributeType.FLOAT:
        return _number(value)
    if kind == ir.AttributeType.FLOATS:
        return tuple(map(_number, value))
    if kind == ir.AttributeType.TENSOR:
        return fingerprint(value, read=False)
    if kind == ir.AttributeType.TENSORS:
        return tuple(fingerprint(v, read=False) for v in value)
    if kind in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS):
        return "graph"  # its nodes are compared one by one
    return tuple(value) if isinstance(value, list | tuple) else _hashable(value)


def _number(value: float) -> float | str:
    number = float(np.float32(value))
    return number if number == number else "nan"  # not a number is not even equal to itself


def _hashable(value: Any) -> Any:
    return value if isinstance(value, int | float | str | bytes) else str(value)


def attribute_text(attribute: ir.Attr) -> str:
    """The value as it is read; a graph by its size."""
    if attribute.is_ref():
        return f"@{attribute.ref_attr_name}"
    kind, value = attribute.type, attribute.value
    if kind == ir.AttributeType.FLOAT:
        return str(np.float32(value))
    if kind == ir.AttributeType.FLOATS:
        return f"[{', '.join(str(np.float32(v)) for v in value)}]"
    if kind == ir.AttributeType.TENSOR:
        return tensor_text(value)
    if kind == ir.AttributeType.TENSORS:
        return f"[{', '.join(map(tensor_text, value))}]"
    if kind == ir.AttributeType.GRAPH:
        return f"graph of {len(value)} nodes"
    if kind == ir.AttributeType.GRAPHS:
        return f"{len(value)} graphs"
    return str(list(value)) if isinstance(value, tuple) else str(value)


def names_a_dtype(op_type: str, name: str) -> bool:
    """Whether an attribute states the dtype of an output: it goes along when a whole graph is converted."""
    return (op_type, name) in {("Cast", "to"), ("ConstantOfShape", "value"), ("EyeLike", "dtype")}

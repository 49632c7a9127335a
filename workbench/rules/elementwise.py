"""Reading elementwise arithmetic by evaluating it: what a few nodes compute, whatever their spelling.

A formula has many spellings and only one graph of values. A value is evaluated in float64 as a function of another
one, at given points, through operators that work entry by entry and constants of one entry. A Cast ends the walk, so
all values on the way have one dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from workbench.rules.graph import is_constant, rank, use_of, value_in
from workbench.types import OpId

Array = npt.NDArray[Any]
DEPTH = 12
"""How many nodes a spelling may put between two values; the longest known has 8."""


def _same(x: Array) -> Array:
    return x


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power, "Neg": np.negative,
    "Sqrt": np.sqrt, "Reciprocal": np.reciprocal, "Tanh": np.tanh, "Erf": np.vectorize(math.erf, otypes=[float]),
    "Identity": _same, "Sum": lambda *x: sum(x[1:], x[0]),
}  # fmt: skip
_OPS = {OpId(name): function for name, function in _FUNCTIONS.items()}


def evaluate(value: ir.Value, known: Mapping[ir.Value, Array], depth: int = DEPTH) -> Array | None:
    """A value, given those in ``known``; None where it depends on anything else."""
    if value in known:
        return known[value]
    if is_constant(value):
        return scalar(value)
    node = value.producer()
    if node is None or use_of(node) not in _OPS or not depth:
        return None
    inputs = [evaluate(x, known, depth - 1) if x is not None else None for x in node.inputs]
    given = [x for x in inputs if x is not None]
    if len(given) < len(inputs):
        return None
    with np.errstate(all="ignore"):
        return _OPS[use_of(node)](*given)


def scalar(value: ir.Value) -> Array | None:
    """The one entry of a constant, as float64; None for constants of several, and for those without data."""
    held = _held(value)
    if isinstance(held, int | float):
        return np.asarray(held, np.float64)
    shape = getattr(held, "shape", None)
    if shape is None or math.prod(int(d) for d in shape) != 1:
        return None
    return held.numpy().astype(np.float64).reshape(())


def _held(value: ir.Value) -> Any:
    """The tensor of a constant, or the plain number of a Constant node."""
    node = value.producer()
    if value.const_value is not None or node is None:
        return value.const_value
    attribute = next(iter(node.attributes.values()), None)
    return attribute.value if attribute is not None else None


def _constant_axes(value: ir.Value) -> int:
    return len(getattr(_held(value), "shape", ()) or ())


def before(value: ir.Value | None) -> Iterator[ir.Value]:
    """The value and what it is computed from through elementwise operators, the nearest first."""
    seen: dict[ir.Value, None] = {}
    front = [value] if value is not None else []
    for _ in range(DEPTH):
        front = [v for v in front if v not in seen and not is_constant(v)]
        seen |= dict.fromkeys(front)
        makers = [v.producer() for v in front]
        front = [x for n in makers if n is not None and use_of(n) in _OPS for x in n.inputs if x is not None]
    yield from seen


def behind(value: ir.Value) -> Iterator[ir.Value]:
    """What is computed from the value through elementwise operators, the nearest first."""
    seen: dict[ir.Value, None] = {}
    front = [value]
    for _ in range(DEPTH):
        readers = [use.node for v in front for use in v.uses()]
        front = [n.outputs[0] for n in readers if use_of(n) in _OPS and n.outputs[0] not in seen]
        seen |= dict.fromkeys(front)
    yield from seen


def widens(end: ir.Value, start: ir.Value) -> bool:
    """Whether a constant on the way may have given the result more axes than ``start`` has."""
    if rank(end) is not None and rank(start) is not None:
        return rank(end) != rank(start)
    return _has_axes(end, start)


def _has_axes(end: ir.Value, start: ir.Value, depth: int = DEPTH) -> bool:
    node = end.producer()
    if end is start or node is None or use_of(node) not in _OPS or not depth:
        return False
    for index in range(len(node.inputs)):
        x = value_in(node, index)
        if x is not None and (_constant_axes(x) if is_constant(x) else _has_axes(x, start, depth - 1)):
            return True
    return False

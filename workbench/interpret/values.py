"""A value as the trace keeps it: the array itself while there is room, else what can be said of it in a line."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from workbench.interpret.arrays import Array, dtype_word_of, is_floating, sizes

_SHOWN = 8  # elements that a text shows
_LONGEST = 60


@dataclasses.dataclass(frozen=True, eq=False)
class TracedValue:
    """One value of a workflow at one moment.

    ``array`` is None where the value was larger than the limits allow to keep; ``low``, ``high`` and ``mean`` are over
    its finite elements (None where there are none), ``non_finite`` counts NaN and Inf.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    array: Array | None = dataclasses.field(repr=False)
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    non_finite: int = 0

    @property
    def kept(self) -> bool:
        """Whether the elements are there to be seen."""
        return self.array is not None

    @property
    def text(self) -> str:
        """``int64[1, 3] 5 9 31``: kind and the first elements, or the range where there are many."""
        return f"{self.type} {self.elements}".rstrip()

    @property
    def type(self) -> str:
        """``int64[1, 3]``."""
        return f"{self.dtype}{sizes(self.shape)}"

    @property
    def elements(self) -> str:
        """The elements where they are few, else their range; never more than one short line."""
        if self.array is not None and self.array.size <= _SHOWN:
            shown = " ".join(_element(x) for x in self.array.reshape(-1).tolist())
            return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."
        if self.low is None:
            return "" if not self.non_finite else f"{self.non_finite} not finite"
        odd = f", {self.non_finite} not finite" if self.non_finite else ""
        return f"{_element(self.low)} .. {_element(self.high)}, mean {_element(self.mean)}{odd}"

    def __repr__(self) -> str:
        return f"TracedValue({self.name!r}, {self.text})"

    def row(self) -> dict[str, Any]:
        return {
            "value": self.name, "dtype": self.dtype, "shape": list(self.shape), "elements": self.elements,
            "low": self.low, "high": self.high, "mean": self.mean, "non_finite": self.non_finite, "kept": self.kept,
        }  # fmt: skip


def _element(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def traced(name: str, array: Array, keep: bool) -> TracedValue:
    """What the trace keeps of an array: a copy that nobody can change, if ``keep``, and its summary."""
    kept: Array | None = None
    if keep:
        kept = array.copy()
        kept.flags.writeable = False
    return TracedValue(name, dtype_word_of(array), array.shape, array.nbytes, kept, *_summary(array))


def _summary(array: Array) -> tuple[float | None, float | None, float | None, int]:
    if array.size == 0 or array.dtype.kind in "USOcMm":
        return None, None, None, 0
    numbers = array.astype(np.float64)
    finite = np.isfinite(numbers) if is_floating(array) else np.ones(numbers.shape, bool)
    odd = int(numbers.size - finite.sum())
    if odd == numbers.size:
        return None, None, None, odd
    numbers = numbers[finite] if odd else numbers
    return float(numbers.min()), float(numbers.max()), float(numbers.mean()), odd

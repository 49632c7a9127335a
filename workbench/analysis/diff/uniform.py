"""What changed in the same way everywhere: a converted dtype, a dimension with another name or a fixed size.

Such a change is told once, for the graph; a node whose values changed in no other way is the same node.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Iterable
from typing import Any

import onnx_ir as ir

from workbench.analysis.diff.content import FLOATS, dtype_text, side_text
from workbench.analysis.diff.result import Change

FEWEST = 3
"""Values that must change alike before it is the graph that changed and not they."""

ValuePairs = list[tuple[ir.Value, ir.Value]]


@dataclasses.dataclass(frozen=True, slots=True)
class Uniform:
    """``dtypes`` maps a float dtype to the one that it became, ``dims`` a dimension's text to what it became."""

    dtypes: dict[ir.DataType, ir.DataType] = dataclasses.field(default_factory=dict)
    dims: dict[str, str] = dataclasses.field(default_factory=dict)
    changes: tuple[Change, ...] = ()

    def same_dtype(self, a: ir.DataType | None, b: ir.DataType | None) -> bool:
        """Whether a dtype stayed, is unknown, or went along with the others."""
        return a is None or b is None or a == b or self.dtypes.get(a) == b

    def same_shape(self, a: Any, b: Any) -> bool:
        """Whether a shape stayed, is unknown, or changed only as its dimensions did everywhere."""
        if a is None or b is None:
            return True
        if len(a) != len(b):
            return False
        return all(self._same_side(m, n) for m, n in zip(map(side_text, a), map(side_text, b)))

    def _same_side(self, m: str, n: str) -> bool:
        return m == n or "?" in (m, n) or self.dims.get(m) == n


def uniform(pairs: ValuePairs) -> Uniform:
    """What at least half of the values of matched nodes have in common."""
    dtypes, dims = _dtypes(pairs), _dims(pairs)
    changes = []
    for old, (new, moved, total) in dtypes.items():
        text = dtype_text(new) if moved == total else f"{dtype_text(new)} ({moved} of {total} values)"
        changes.append(Change("dtype", "of all values", dtype_text(old), text))
    changes += [Change("shape", "dimension", old, new) for old, new in dims.items()]
    return Uniform({old: found[0] for old, found in dtypes.items()}, dims, tuple(changes))


def _dtypes(pairs: ValuePairs) -> dict[ir.DataType, tuple[ir.DataType, int, int]]:
    became: dict[ir.DataType, collections.Counter[ir.DataType]] = collections.defaultdict(collections.Counter)
    for a, b in pairs:
        if a.dtype in FLOATS and b.dtype in FLOATS and a.dtype is not None and b.dtype is not None:
            became[a.dtype][b.dtype] += 1
    made = {}
    for old, counts in became.items():
        new, count = counts.most_common(1)[0]
        if new != old and _most(count, counts.values()):
            made[old] = (new, count, sum(counts.values()))
    return made


def _dims(pairs: ValuePairs) -> dict[str, str]:
    """Named dimensions that became another name, or a number."""
    became: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    for a, b in pairs:
        if a.shape is not None and b.shape is not None and len(a.shape) == len(b.shape):
            for m, n in zip(a.shape, b.shape):
                if not (isinstance(m, int) and isinstance(n, int)):
                    became[side_text(m)][side_text(n)] += 1
    made = {}
    for old, counts in became.items():
        new, count = counts.most_common(1)[0]
        if "?" not in (old, new) and new != old and _most(count, counts.values()):
            made[old] = new
    return made


def _most(count: int, counts: Iterable[int]) -> bool:
    return count >= FEWEST and 2 * count >= sum(counts)

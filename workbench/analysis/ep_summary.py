"""Execution providers side by side in numbers: a column each, and one for the generic graph that they come from."""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import TYPE_CHECKING, Any

from workbench.analysis.decades import comparison
from workbench.analysis.markup import block, grid, plural
from workbench.analysis.tables import GENERIC

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = [
    "execution_provider", "dtype", "node", "operator", "fusion_applied", "fusion_candidate", "lowering_applied",
    "cast", "input", "output", "dropped_input", "weight_bytes", "padding", "info", "warning", "error", "parity",
    "max_abs",
]  # fmt: skip
SEVERITIES = ("info", "warning", "error")
NONE, NOT_RUN = "-", "not run"

ROWS = {
    "dtype": "Dtype",
    "nodes": "Nodes",
    "ops": "Distinct operators",
    "casts": "Cast nodes",
    "fusions": "Fusions applied of candidates",
    "lowered": "Lowerings applied",
    "inputs": "Inputs",
    "outputs": "Outputs",
    "size": "Weights",
    "padding": "Padding contract",
    "diagnostics": "Diagnostics",
    "parity": "Parity with generic",
}
"""Rows of the table by the name that a view selects them by."""


@dataclasses.dataclass(frozen=True)
class Port:
    """An input or output of a graph: ``float16 [batch_size, 3, past_sequence_length, 64]``."""

    name: str
    dtype: str
    shape: str


@dataclasses.dataclass(frozen=True)
class Weight:
    """One tensor of a graph and the names that share it; ``nbytes`` is None where shape or dtype is not known."""

    names: tuple[str, ...]
    dtype: str
    shape: str
    nbytes: int | None
    graph: str = "model"


@dataclasses.dataclass(frozen=True)
class EpColumn:
    """What one graph is made of. ``applied``, ``candidates`` and ``lowered`` are None for the generic graph.

    ``weights`` holds each tensor once. ``max_abs`` is the largest error of any output, None where nothing ran.
    """

    execution_provider: str
    dtype: str
    nodes: int
    ops: int
    casts: int
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    weights: tuple[Weight, ...]
    applied: int | None = None
    candidates: int | None = None
    lowered: int | None = None
    dropped: tuple[str, ...] = ()
    padding: str = ""
    diagnostics: tuple[str, ...] = ()
    verdict: str = ""
    max_abs: float | None = None
    tolerance: float | None = None
    why: str = ""

    @property
    def nbytes(self) -> int:
        """Bytes of all weights whose size is known, a shared one once."""
        return sum(weight.nbytes or 0 for weight in self.weights)

    def severity(self, name: str) -> int:
        """How many diagnostics are of a severity."""
        return sum(found == name for found in self.diagnostics)

    def text(self, row: str) -> str:
        """The cell of a row, as it is read."""
        return str(getattr(self, f"_{row}", lambda: getattr(self, row))())

    def facts(self, row: str) -> str:
        """A sentence or two about the cell, for where nothing can be opened."""
        text = self.text(row)
        more = getattr(self, f"_{row}_facts", str)()
        return f"{self.execution_provider}, {ROWS[row].lower()}: {text}{f'. {more}' if more else ''}"

    # --- cells ------------------------------------------------------------------------------------------------------

    def _nodes(self) -> str:
        return f"{self.nodes:,}"

    def _fusions(self) -> str:
        return NONE if self.applied is None else f"{self.applied:,}/{self.candidates:,}"

    def _lowered(self) -> str:
        return NONE if self.lowered is None else f"{self.lowered:,}"

    def _inputs(self) -> str:
        return _ports(self.inputs) + (f", {len(self.dropped)} dropped" if self.dropped else "")

    def _inputs_facts(self) -> str:
        dropped = f"Dropped, because nothing reads it: {', '.join(self.dropped)}. " if self.dropped else ""
        return dropped + f"There are {_names(self.inputs)}"

    def _outputs(self) -> str:
        return _ports(self.outputs)

    def _outputs_facts(self) -> str:
        return f"There are {_names(self.outputs)}"

    def _size(self) -> str:
        unknown = sum(weight.nbytes is None for weight in self.weights)
        return _bytes(self.nbytes) + (f" + {unknown} of unknown size" if unknown else "")

    def _size_facts(self) -> str:
        shared = sum(len(weight.names) - 1 for weight in self.weights)
        more = f", {plural(shared, 'name')} more for the same ones" if shared else ""
        return f"{self.nbytes:,} bytes in {plural(len(self.weights), 'tensor')}{more}"

    def _padding(self) -> str:
        return self.padding or NONE

    def _padding_facts(self) -> str:
        return {
            "right": "Rows of a batch are padded on the right only",
            "any": "Rows of a batch may be padded anywhere",
        }.get(self.padding, "")

    def _diagnostics(self) -> str:
        counts = [
            plural(n, name) if name != "info" else f"{n} info" for name in SEVERITIES if (n := self.severity(name))
        ]
        return ", ".join(counts) or "none"

    def _parity(self) -> str:
        if self.execution_provider == GENERIC:
            return "reference"
        if self.max_abs is None or self.tolerance is None:
            return self.verdict or NOT_RUN
        return f"{self.verdict}: {comparison(self.max_abs, self.tolerance)}"

    def _parity_facts(self) -> str:
        return self.why


@dataclasses.dataclass(frozen=True)
class EpSummary:
    """One column per execution provider, the generic graph first. Equal when the numbers are."""

    name: str
    columns: tuple[EpColumn, ...]

    def __getitem__(self, execution_provider: str) -> EpColumn:
        return next(column for column in self.columns if column.execution_provider == execution_provider)

    @property
    def execution_providers(self) -> tuple[str, ...]:
        """Names of the columns, ``generic`` first."""
        return tuple(column.execution_provider for column in self.columns)

    def rows(self) -> list[tuple[str, str, tuple[str, ...]]]:
        """``(row, its heading, a text per column)`` in the order of the table."""
        return [(row, title, tuple(column.text(row) for column in self.columns)) for row, title in ROWS.items()]

    def to_frame(self) -> pd.DataFrame:
        """A row per column of the table, with plain numbers."""
        import pandas as pd

        return pd.DataFrame([_plain(column) for column in self.columns], columns=COLUMNS)

    def __repr__(self) -> str:
        rows = [("", *self.execution_providers), *((title, *cells) for _, title, cells in self.rows())]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([f"EpSummary({self.name})", *(f"  {line}" for line in lines)])

    def _repr_html_(self) -> str:
        rows = [(title, cells) for _, title, cells in self.rows()]
        return block(f"{self.name}: execution providers side by side", grid("", self.execution_providers, rows))


def _plain(c: EpColumn) -> list[Any]:
    return [
        c.execution_provider, c.dtype, c.nodes, c.ops, c.applied, c.candidates, c.lowered, c.casts, len(c.inputs),
        len(c.outputs), ", ".join(c.dropped), c.nbytes, c.padding, *map(c.severity, SEVERITIES),
        c.verdict or NOT_RUN, c.max_abs,
    ]  # fmt: skip


def _ports(ports: tuple[Port, ...]) -> str:
    """``62 (2 int64, 60 float16)``."""
    dtypes = Counter(port.dtype for port in ports)
    parts = [f"{n} {dtype}" if len(dtypes) > 1 else dtype for dtype, n in dtypes.items()]
    return f"{len(ports)} ({', '.join(parts)})" if ports else "0"


def _names(ports: tuple[Port, ...], most: int = 6) -> str:
    shown = [f"{port.name} {port.dtype} {port.shape}" for port in ports[:most]]
    more = f" and {len(ports) - most} more" if len(ports) > most else ""
    return ", ".join(shown) + more if ports else "none"


def _bytes(size: int) -> str:
    """``538 MB``: decimal units, three digits."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.3g} {unit}" if size < 999.5 * factor else f"{size / factor:,.0f} {unit}"
    return f"{size} B"

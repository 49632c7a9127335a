"""How often each operator occurs in a graph, with everything that is nested inside it.

What is counted is what the file holds, as a viewer would show it: the body of an If branch, a Loop, a Scan
or a local function counts once, however often it runs or is called. A call of a local function counts as one
node of its own; a function that nothing calls counts nothing.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import onnx
import onnx_ir as ir

from workbench.analysis.markup import block, plural, table
from workbench.errors import ModelFileError, UnsupportedError, root_cause
from workbench.package.unreadable import of_proto
from workbench.types import OpId

if TYPE_CHECKING:
    import pandas as pd

    from workbench.viz.figure import Figure
    from workbench.widgets.op_histogram import OpHistogram as OpBars

COLUMNS = ["domain", "op_type", "count"]
_SHOWN = 4  # operators named in a one-line repr


def _ordered(counts: Mapping[OpId, int]) -> Mapping[OpId, int]:
    items = sorted(counts.items(), key=lambda item: (-abs(item[1]), item[0].op_type, item[0].domain))
    return MappingProxyType(dict(items))


@dataclasses.dataclass(frozen=True)
class OpHistogram:
    """Nodes per operator, the most frequent first, ties by name. Equal when the counts are.

    ``counts`` maps :class:`~workbench.types.OpId` (the domain ``ai.onnx`` is the empty one) to the number of
    nodes.
    """

    counts: Mapping[OpId, int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", _ordered(self.counts))

    @property
    def total(self) -> int:
        """All nodes."""
        return sum(self.counts.values())

    def count(self, op_type: str, domain: str | None = None) -> int:
        """Nodes of this op type, in one domain or (``domain=None``) in any; 0 when there are none."""
        return sum(n for op, n in self.counts.items() if op.op_type == op_type and domain in (None, op.domain))

    def __sub__(self, other: OpHistogram) -> OpDifference:
        """What changes from ``other`` to this one."""
        ops = {*self.counts, *other.counts}
        change = {op: self.counts.get(op, 0) - other.counts.get(op, 0) for op in ops}
        return OpDifference({op: n for op, n in change.items() if n})

    def __hash__(self) -> int:
        return hash(tuple(self.counts.items()))

    def to_frame(self) -> pd.DataFrame:
        """A row per operator: domain, op_type, count."""
        return _frame(self.counts, COLUMNS)

    def plot(self) -> Figure:
        """Horizontal bars, the most frequent operator on top."""
        from workbench.viz.ops import plot_histograms

        return plot_histograms({"": self})

    def widget(self) -> OpBars:
        """The bars to sort, search and choose from, in a notebook."""
        from workbench.widgets.op_histogram import OpHistogram as OpBars

        return OpBars(self)

    def __repr__(self) -> str:
        return f"OpHistogram({line(self)})"

    def _repr_html_(self) -> str:
        title = f"{plural(self.total, 'node')}, {plural(len(self.counts), 'operator')}"
        return block(title, table(COLUMNS, _rows(self.counts), empty="The graph has no nodes."))


@dataclasses.dataclass(frozen=True)
class OpDifference:
    """What changes between two histograms: only operators whose count differs, the largest change first."""

    changes: Mapping[OpId, int]

    def __post_init__(self) -> None:
        object.__setattr__(self, "changes", _ordered(self.changes))

    @property
    def total(self) -> int:
        """Change of the number of nodes."""
        return sum(self.changes.values())

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __hash__(self) -> int:
        return hash(tuple(self.changes.items()))

    def to_frame(self) -> pd.DataFrame:
        """A row per operator that changed: domain, op_type, change."""
        return _frame(self.changes, ["domain", "op_type", "change"])

    def plot(self) -> Figure:
        """Bars to the left for operators that went away, to the right for those that came."""
        from workbench.viz.ops import plot_difference

        return plot_difference(self)

    def __repr__(self) -> str:
        parts = [f"{op} {n:+,}" for op, n in self.changes.items()]
        return f"OpDifference({', '.join(parts) or 'no operator changes'})"

    def _repr_html_(self) -> str:
        rows = [[op.domain or "ai.onnx", op.op_type, f"{n:+,}"] for op, n in self.changes.items()]
        title = f"{self.total:+,} nodes"
        return block(title, table(["domain", "op_type", "change"], rows, empty="No operator changes."))


def line(histogram: OpHistogram) -> str:
    """``633 nodes, 14 operators: MatMul 211, Mul 90, ...`` with the most frequent ones named."""
    shown = [f"{op} {n:,}" for op, n in list(histogram.counts.items())[:_SHOWN]]
    more = ", ..." if len(histogram.counts) > _SHOWN else ""
    sizes = f"{plural(histogram.total, 'node')}, {plural(len(histogram.counts), 'operator')}"
    return f"{sizes}: {', '.join(shown)}{more}" if shown else sizes


def _rows(counts: Mapping[OpId, int]) -> list[list[object]]:
    return [[op.domain or "ai.onnx", op.op_type, n] for op, n in counts.items()]


def _frame(counts: Mapping[OpId, int], columns: list[str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame([[op.domain, op.op_type, n] for op, n in counts.items()], columns=columns)


def histogram(
    model: ir.Model | onnx.ModelProto | str | Path | Mapping[str, ir.Model], *, recursive: bool = True
) -> OpHistogram:
    """Count the nodes of a model by operator.

    Args:
        model: an ``ir.Model``, a ``ModelProto``, the path of an ONNX file (its weights are not read), or a
        package
            of one model.
        recursive: also count the bodies of control flow at every depth and of the local functions that are
        called,
            each body once. Otherwise the nodes of the main graph alone.

    Raises:
        ModelFileError: the path holds no readable ONNX model.
        UnsupportedError: the package holds several models, or the value is no model at all.
    """
    graph_model = as_model(model)
    nodes = _all_nodes(graph_model) if recursive else iter(graph_model.graph)
    return OpHistogram(Counter(OpId(node.op_type, _domain(node)) for node in nodes))


def _domain(node: ir.Node) -> str:
    return "" if node.domain == "ai.onnx" else node.domain


def _all_nodes(model: ir.Model) -> Iterator[ir.Node]:
    """Nodes of the main graph, then of each reachable function body, subgraphs at every depth included."""
    todo: list[ir.Graph | ir.Function] = [model.graph]
    seen: set[tuple[str, str, str]] = set()
    while todo:
        for node in _nodes(todo.pop()):
            yield node
            key = node.op_identifier()
            if key in model.functions and key not in seen:
                seen.add(key)
                todo.append(model.functions[key])


def _nodes(graph: ir.Graph | ir.Function) -> Iterator[ir.Node]:
    """Nodes of a graph with its subgraphs; own stack, so that deep nesting meets no recursion limit."""
    stack: list[Any] = [graph]
    while stack:
        for node in stack.pop():
            yield node
            stack.extend(body for attribute in node.attributes.values() for body in _bodies(attribute))


def _bodies(attribute: ir.Attr) -> list[Any]:
    if attribute.type == ir.AttributeType.GRAPH and not attribute.is_ref():
        return [attribute.value]
    if attribute.type == ir.AttributeType.GRAPHS and not attribute.is_ref():
        return list(attribute.value)
    return []


def as_model(model: Any) -> ir.Model:
    """The one ``ir.Model`` behind what :func:`histogram` and the viewers accept."""
    if isinstance(model, ir.Model):
        return model
    if isinstance(model, onnx.ModelProto):
        return of_proto("model", model)
    if isinstance(model, str | Path):
        return _read(Path(model))
    if isinstance(model, Mapping):
        return _only(model)
    inner = getattr(model, "model", None)
    if isinstance(inner, ir.Model):
        return inner
    raise UnsupportedError(
        f"Cannot read a graph from a {type(model).__name__}. Give an ir.Model, an onnx.ModelProto, "
        "the path of an ONNX file, or a package of one model."
    )


def _only(package: Mapping[str, Any]) -> ir.Model:
    if len(package) == 1:
        return as_model(next(iter(package.values())))
    names = ", ".join(map(str, package)) or "none"
    raise UnsupportedError(
        f"The package holds {len(package)} models ({names}), but one is needed. Pick it by name: package[NAME]."
    )


def _read(path: Path) -> ir.Model:
    if path.is_dir():
        path = path / "model.onnx"
    if not path.is_file():
        raise ModelFileError(f"There is no ONNX file {str(path)!r}. Give the path of an .onnx file.")
    try:
        return ir.load(path)
    except Exception as error:  # protobuf, parser and reader errors share no base
        raise ModelFileError(
            f"{str(path)!r} is not a readable ONNX model: {root_cause(error)}. Check that the file is complete, or "
            "export it again."
        ) from error

"""Counting for :mod:`workbench.analysis.ep_summary`: from graphs and reports to its columns. No weight is read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from workbench.analysis.ep_summary import NOT_RUN, EpColumn, EpSummary, Port, Weight
from workbench.analysis.histogram import histogram
from workbench.analysis.tables import GENERIC
from workbench.types import Stage, dtype_word

if TYPE_CHECKING:
    from workbench.analysis.parity_report import ParityReport
    from workbench.package import Package

Facts = dict[str, Any]


def ep_summary(
    name: str, generic: ir.Model, packages: Mapping[str, Package], parity: ParityReport | None = None
) -> EpSummary:
    """Set packages of one model side by side; without ``parity`` its row says so."""
    first = EpColumn(GENERIC, "float32", **_graph_facts({"model": generic}))
    found = {group.execution_provider: group for group in parity.overall()} if parity is not None else {}
    columns = [_column(name, package, found.get(name)) for name, package in packages.items()]
    return EpSummary(name, (first, *columns))


def _column(name: str, package: Package, parity: Any) -> EpColumn:
    rules = [rule for report in package.reports.values() for rule in report.rules]
    fusions = [rule for rule in rules if rule.stage is Stage.FUSE]
    return EpColumn(
        name,
        dtype_word(package.dtype) if package.dtype is not None else "",
        applied=sum(rule.applied for rule in fusions),
        candidates=sum(rule.candidates for rule in fusions),
        lowered=sum(rule.applied for rule in rules if rule.stage is not Stage.FUSE),
        dropped=tuple(name for report in package.reports.values() for name in report.dropped_inputs),
        padding=package.padding,
        diagnostics=tuple(found.severity for found in package.diagnostics),
        **_graph_facts(package.models),
        **_parity_facts(parity),
    )


def _parity_facts(group: Any) -> Facts:
    if group is None:
        return {"verdict": NOT_RUN}
    ran = group.verdict != NOT_RUN
    numbers = {"max_abs": group.max_abs, "tolerance": group.tolerance.atol} if ran else {}
    return {"verdict": group.verdict, "why": group.text} | numbers


def _graph_facts(models: Mapping[str, ir.Model]) -> Facts:
    counts = [histogram(model) for model in models.values()]
    return {
        "nodes": sum(h.total for h in counts),
        "ops": len({op for h in counts for op in h.counts}),
        "casts": sum(h.count("Cast", "") for h in counts),
        "inputs": tuple(port(value) for model in models.values() for value in model.graph.inputs),
        "outputs": tuple(port(value) for model in models.values() for value in model.graph.outputs),
        "weights": tuple(weight for key, model in models.items() for weight in weights(model, key)),
    }


def port(value: ir.Value) -> Port:
    """A value of a graph as it is read: name, dtype, shape."""
    return Port(value.name or "", _dtype(value.dtype), _shape(value.shape))


def weights(model: ir.Model, key: str = "model") -> list[Weight]:
    """Initializers of a graph and its subgraphs, those that are one tensor once, by declared dtype and shape."""
    shared: dict[int, list[ir.Value]] = {}
    for value in _initializers(model.graph):
        shared.setdefault(id(value if value.const_value is None else value.const_value), []).append(value)
    return [_weight(values, key) for values in shared.values()]


def _initializers(graph: ir.Graph) -> Iterator[ir.Value]:
    todo: list[Any] = [graph]
    while todo:
        body = todo.pop()
        yield from body.initializers.values()
        for node in body:
            for attribute in node.attributes.values():
                if attribute.type == ir.AttributeType.GRAPH and not attribute.is_ref():
                    todo.append(attribute.value)
                elif attribute.type == ir.AttributeType.GRAPHS and not attribute.is_ref():
                    todo.extend(attribute.value)


def _weight(values: list[ir.Value], key: str) -> Weight:
    names = tuple(value.name or "" for value in values)
    what = values[0].const_value if values[0].const_value is not None else values[0]
    return Weight(names, _dtype(what.dtype), _shape(what.shape), _size(what.dtype, what.shape), key)


def _size(dtype: ir.DataType | None, shape: Any) -> int | None:
    if dtype is None or shape is None or dtype is ir.DataType.STRING:
        return None
    if not all(isinstance(length, int) for length in shape):
        return None
    return math.ceil(math.prod(shape) * dtype.bitwidth / 8)


def _dtype(dtype: ir.DataType | None) -> str:
    return dtype_word(dtype) if dtype is not None else "unknown"


def _shape(shape: Any) -> str:
    return f"[{', '.join(map(str, shape))}]" if shape is not None else "of unknown shape"

"""What is left in a graph against the facts: node by node, with the dtypes that the nodes really have."""

from __future__ import annotations

import collections
from collections.abc import Mapping, Set
from types import MappingProxyType
from typing import Protocol

import onnx_ir as ir

from workbench.errors import Diagnostic
from workbench.rules.features import uses
from workbench.rules.graph import every_node
from workbench.types import FLOAT_DTYPES, OpId, dtype_word


class Facts(Protocol):
    """What the check asks of an execution provider."""

    @property
    def name(self) -> str: ...
    @property
    def domains(self) -> frozenset[str]: ...
    @property
    def forbidden(self) -> frozenset[OpId]: ...
    @property
    def kernels(self) -> Mapping[OpId, object]: ...
    @property
    def falls_back(self) -> bool: ...
    @property
    def index_dtype(self) -> ir.DataType: ...
    def runs(self, use: OpId, dtype: ir.DataType) -> bool: ...


CONTROL_FLOW = ("If", "Loop", "Scan")


def legality(model: ir.Model, facts: Facts, *, captured: bool = False) -> tuple[Diagnostic, ...]:
    """Findings: errors for what must not remain, warnings for nodes that go to another provider.

    Nodes of one kind are counted together; ``where`` names the first. ``captured``: the graph is recorded once and
    replayed, so that nothing in it may depend on what a run computes.
    """
    found: dict[tuple[str, str], list[str]] = collections.defaultdict(list)
    functions = {function.domain for function in model.functions.values()}
    for node in every_node(model.graph):
        problem = problem_of(node, facts, functions)
        if problem:
            found[problem].append(node.name or node.op_type)
    diagnostics = [_diagnostic(code, text, nodes, facts) for (code, text), nodes in found.items()]
    return (*diagnostics, *boundary(model, facts), *(_captured(model, facts) if captured else ()))


def _captured(model: ir.Model, facts: Facts) -> tuple[Diagnostic, ...]:
    """Control flow in the graph or in the body of a function, and what such a graph is for."""
    graphs: tuple[ir.Graph | ir.Function, ...] = (model.graph, *model.functions.values())
    flow = [n for graph in graphs for n in ir.traversal.RecursiveGraphIterator(graph) if n.op_type in CONTROL_FLOW]
    found = []
    if flow:
        kinds = ", ".join(sorted({node.op_type for node in flow}))
        text = f"{facts.name}: a captured graph is replayed as it was recorded, so no {kinds} may remain"
        found.append(Diagnostic("legality.control-flow", "error", text, flow[0].name or flow[0].op_type))
    text = "the graph is for decoding alone: one row, one new token (graph_capture=True)"
    return (*found, Diagnostic("legality.decode-only", "info", text))


def problem_of(
    node: ir.Node, facts: Facts, functions: Set[str], swap: Mapping[ir.DataType, ir.DataType] = MappingProxyType({})
) -> tuple[str, str] | None:
    """The code and the sentence of what is wrong with a node; None where nothing is.

    ``swap`` says as which dtypes those of the graph are to be taken.
    """
    use = OpId(node.op_type, node.domain)
    if node.domain not in facts.domains:
        return "legality.domain", f"operators of domain {node.domain!r} must not remain ({use})"
    if use in facts.forbidden:
        return "legality.forbidden", f"{use} must not remain"
    if node.domain in functions:
        return None  # it has a body
    floats = (v.dtype for v in node.inputs if v is not None and v.dtype is not None)
    dtype = next((d for d in floats if d.is_floating_point()), None)
    dtype = swap.get(dtype, dtype) if dtype is not None else None
    if dtype is None or dtype not in FLOAT_DTYPES.values():
        return None  # facts are about these
    if use.domain and use not in facts.kernels:
        return "legality.unknown-kernel", f"nothing is recorded about {use}"
    if not facts.runs(use, dtype):
        return "legality.no-kernel", f"{use} has no kernel in {dtype_word(dtype)}"
    lacking = sorted(asked.feature for asked in uses(node) if not facts.runs(asked, dtype))
    if lacking:
        return "legality.feature", f"the kernel of {use} is not known to do {', '.join(lacking)}"
    return None


_HINTS = {
    "legality.no-kernel": "The node is left to the CPU provider, at the cost of copies.",
    "legality.unknown-kernel": "The provider may run it, or leave it to the CPU provider.",
}


def _diagnostic(code: str, text: str, nodes: list[str], facts: Facts) -> Diagnostic:
    falls_back = code in _HINTS and facts.falls_back
    where = nodes[0] if len(nodes) == 1 else f"{nodes[0]} and {len(nodes) - 1} more"
    hint = _HINTS[code] if falls_back else ""
    return Diagnostic(code, "warning" if falls_back else "error", f"{facts.name}: {text}", where, hint)


def boundary(model: ir.Model, facts: Facts) -> tuple[Diagnostic, ...]:
    """Whether the graph's inputs have the integer type that the provider wants."""
    if facts.index_dtype == ir.DataType.INT64:
        return ()
    wide = [value.name or "" for value in model.graph.inputs if value.dtype == ir.DataType.INT64]
    if not wide:
        return ()
    text = f"{facts.name}: inputs are int64 where it wants {dtype_word(facts.index_dtype)}"
    return (Diagnostic("legality.index-dtype", "warning", text, ", ".join(wide), "Build for it to get int32 inputs."),)

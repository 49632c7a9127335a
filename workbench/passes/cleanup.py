"""Cleanup: what no provider needs, removed before rules look. All passes are onnx-ir's, with their faults guarded."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes import common

from workbench.errors import Diagnostic, ModelFileError


def cleanup(model: ir.Model) -> tuple[Diagnostic, ...]:
    """Sort where needed, then drop identities, dead nodes and repeated subexpressions, in place.

    Raises:
        ModelFileError: the graph has a cycle.
    """
    found = sort_nodes(model)
    common.RemoveUnusedNodesPass()(model)
    found += _eliminate_identities(model)
    common.CommonSubexpressionEliminationPass()(model)
    return found


def sort_nodes(model: ir.Model) -> tuple[Diagnostic, ...]:
    """Bring nodes into dependency order if they are not; the standard requires it and several tools do not do it."""
    unsorted = [graph for graph in _graphs(model) if not _is_sorted(graph)]
    if not unsorted:
        return ()
    try:
        for graph in unsorted:
            graph.sort()
    except ValueError as error:
        raise ModelFileError(
            f"Graph {model.graph.name!r} cannot be put in order: {error} A node needs its own result; "
            "look for it with onnx.checker and export the model again."
        ) from None
    return (Diagnostic("cleanup.sorted", "info", "nodes were not in dependency order and have been sorted"),)


def _graphs(model: ir.Model) -> list[ir.Graph]:
    found = {id(model.graph): model.graph}
    for node in ir.traversal.RecursiveGraphIterator(model.graph):
        if isinstance(node.graph, ir.Graph):
            found[id(node.graph)] = node.graph
    return list(found.values())


def _is_sorted(graph: ir.Graph) -> bool:
    seen: set[int] = set()
    for node in graph:
        for value in node.inputs:
            producer = value.producer() if value is not None else None
            if producer is not None and producer.graph is graph and id(producer) not in seen:
                return False
        seen.add(id(node))
    return True


def _eliminate_identities(model: ir.Model) -> tuple[Diagnostic, ...]:
    """onnx-ir 1.1.0 loses an output when an Identity stands between two outputs of one graph: then none is removed."""
    for node in ir.traversal.RecursiveGraphIterator(model.graph):
        if node.op_type == "Identity" and node.domain == "" and node.inputs and node.inputs[0] is not None:
            if node.inputs[0].is_graph_output() and node.outputs[0].is_graph_output():
                message = "an Identity copies one output to another, so identities were left in place"
                return (Diagnostic("cleanup.identities-kept", "info", message, where=node.name or ""),)
    common.IdentityEliminationPass()(model)
    return ()

"""Cleanup: what no provider needs, removed before rules look. All passes are onnx-ir's, with their faults guarded."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator

import onnx_ir as ir
from onnx_ir.passes import common

from workbench.errors import Diagnostic, ModelFileError
from workbench.passes.repeated import merge_repeated
from workbench.rules.graph import bodies, every_node
from workbench.rules.recorder import Tell, quiet


def cleanup(model: ir.Model, *, tell: Tell = quiet, sorted_already: bool = False) -> tuple[Diagnostic, ...]:
    """Sort where needed, name nodes, then drop identities, dead nodes and repeated subexpressions, in place.

    ``tell`` is called after each of them. A clone that was made within ``in_order`` is ``sorted_already``.

    Raises:
        ModelFileError: the graph has a cycle.
    """
    found: tuple[Diagnostic, ...] = () if sorted_already else sort_nodes(model)
    tell("cleanup/sort", sort_nodes)
    common.RemoveUnusedNodesPass()(model)
    tell("cleanup/unused", cleanup)
    found += _eliminate_identities(model)
    tell("cleanup/identities", _eliminate_identities)
    merge_repeated(model)
    tell("cleanup/repeated", cleanup)
    found += _name_nodes(model)
    tell("cleanup/names", _name_nodes)
    return found


@contextlib.contextmanager
def in_order(model: ir.Model) -> Iterator[tuple[Diagnostic, ...]]:
    """A model whose nodes are in dependency order for as long as this lasts: onnx-ir can clone no other.

    Raises:
        ModelFileError: the graph has a cycle.
    """
    before = [(graph, list(graph)) for graph in model.graphs()]
    in_place = False
    try:
        found = sort_nodes(model)
        in_place = not found
        yield found
    finally:
        for graph, nodes in () if in_place else before:
            graph.extend(nodes)  # a node that is there already moves to the end


def sort_nodes(model: ir.Model) -> tuple[Diagnostic, ...]:
    """Bring nodes into dependency order if they are not; the standard requires it and several tools do not do it."""
    if all(_is_sorted(graph) for graph in model.graphs()):
        return ()
    try:
        model.graph.sort()  # the graphs inside it too
    except ValueError:
        names = next(filter(None, map(_cycle, model.graphs())), [])
        raise ModelFileError(
            f"Graph {model.graph.name!r} cannot be put in order: {' -> '.join(names) or 'nodes'} form a cycle, "
            "each needing the result of the one before it. Export the model again."
        ) from None
    return (Diagnostic("cleanup.sorted", "info", "nodes were not in dependency order and have been sorted"),)


def _is_sorted(graph: ir.Graph) -> bool:
    seen: set[ir.Node] = set()
    for node in graph:
        if any(maker not in seen for maker in _makers(node, graph)):
            return False
        seen.add(node)
    return True


def _makers(node: ir.Node, graph: ir.Graph) -> list[ir.Node]:
    """The nodes of ``graph`` whose results a node reads, itself or from inside its subgraphs."""
    makers = _producers(node.inputs, graph)
    for body in bodies(node) if node.attributes else ():
        for inner in every_node(body):
            makers += _producers(inner.inputs, graph)
        makers += _producers(body.outputs, graph)
    return makers


def _producers(values: Iterable[ir.Value | None], graph: ir.Graph) -> list[ir.Node]:
    producers = [value.producer() for value in values if value is not None]
    return [producer for producer in producers if producer is not None and producer.graph is graph]


def _cycle(graph: ir.Graph) -> list[str]:
    """The nodes of one cycle, the first of them again at the end; empty where there is none."""
    waits = {node: set(_makers(node, graph)) for node in graph}
    done = [node for node, makers in waits.items() if not makers]
    readers: dict[ir.Node, list[ir.Node]] = {}
    for node, makers in waits.items():
        for maker in makers:
            readers.setdefault(maker, []).append(node)
    while done:
        node = done.pop()
        del waits[node]
        for reader in readers.get(node, ()):
            waits[reader].discard(node)
            if not waits[reader]:
                done.append(reader)
    walk = list(waits)[:1]
    while walk and walk[-1] not in walk[:-1]:
        walk.append(next(iter(waits[walk[-1]])))
    round_trip = walk[walk.index(walk[-1]) :][::-1] if walk else []
    return [node.name or f"{node.op_type} ({node.outputs[0].name})" for node in round_trip]


def _name_nodes(model: ir.Model) -> tuple[Diagnostic, ...]:
    """Names for nodes that have none or share one: reports name nodes, and ONNX Runtime refuses two of one name."""
    nodes = list(every_node(model.graph))
    taken = {node.name for node in nodes if node.name}
    seen: set[str] = set()
    shared = 0
    for node in nodes:
        shared += bool(node.name) and node.name in seen
        if not node.name or node.name in seen:
            node.name = _free(node.name or node.op_type, taken)
        seen.add(node.name)
        taken.add(node.name)
    if not shared:
        return ()
    text = f"nodes shared a name, which ONNX Runtime refuses; renamed: {shared}"
    return (Diagnostic("cleanup.renamed", "info", text),)


def _free(name: str, taken: set[str]) -> str:
    return next(made for number in itertools.count(1) if (made := f"{name}_{number}") not in taken)


def _eliminate_identities(model: ir.Model) -> tuple[Diagnostic, ...]:
    """onnx-ir 1.1.0 loses an output when an Identity stands between two outputs of one graph: then none is removed."""
    found = [node for node in every_node(model.graph) if node.op_type == "Identity" and node.domain == ""]
    for node in found:
        if node.inputs and node.inputs[0] is not None:
            if node.inputs[0].is_graph_output() and node.outputs[0].is_graph_output():
                message = "an Identity copies one output to another, so identities were left in place"
                return (Diagnostic("cleanup.identities-kept", "info", message, where=node.name or ""),)
    if found or model.functions:  # their bodies may hold some too
        common.IdentityEliminationPass()(model)
    return ()

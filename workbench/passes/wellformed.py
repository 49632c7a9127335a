"""Whether a graph is whole: every value it reads is made by something, every name is text.

Libraries fail deep inside where it is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import onnx_ir as ir

from workbench.errors import ModelFileError


def check_values(model: ir.Model) -> None:
    """Refuse a graph with a reader of nothing, or with names that are no text.

    Raises:
        ModelFileError: a node, or the list of outputs, names a value that no input, initializer or node makes; a name
            is not UTF-8, as in a damaged file; or functions call each other in a circle.
    """
    for graph in model.graphs():
        _check_names(graph, _names(graph, graph.initializers.values()))
        _check(graph, graph.outputs)
    for function in model.functions.values():
        _check_names(function, _names(function, ()))
        _check(function, function.outputs)
    _check_calls(model)


def _check_calls(model: ir.Model) -> None:
    """No function may need itself: there would be no end to its body."""
    calls = {
        key: {n.op_identifier() for n in ir.traversal.RecursiveGraphIterator(function)} & model.functions.keys()
        for key, function in model.functions.items()
    }
    while done := {key for key, needed in calls.items() if not needed & calls.keys()}:
        calls = {key: needed for key, needed in calls.items() if key not in done}
    if calls:
        names = ", ".join(sorted(f"{domain}.{name}" for domain, name, _ in calls))
        raise ModelFileError(
            f"Graph {model.graph.name!r} has functions that call themselves, or each other in a circle: {names}. "
            "Such a model has no end, and ONNX Runtime refuses it. Export the model again."
        )


def _check_names(graph: ir.Graph | ir.Function, names: Iterable[object]) -> None:
    for name in names:
        if isinstance(name, bytes):  # what protobuf makes of a string that is not UTF-8
            raise ModelFileError(
                f"Graph {graph.name!r} is damaged: the name {name!r:.60} is not UTF-8. Fetch or export the file again."
            )


def _names(graph: ir.Graph | ir.Function, initializers: Iterable[ir.Value]) -> Iterator[object]:
    yield from (graph.name, graph.doc_string)
    for value in (*graph.inputs, *initializers):
        yield value.name
        if isinstance(value.const_value, ir.ExternalTensor):
            yield value.const_value.location
    for node in graph:
        yield from (node.name, node.op_type, node.domain, node.doc_string)
        for pair in node.metadata_props.items():
            yield from pair
        for value in node.outputs:
            yield value.name
        if node.attributes:
            for attribute in node.attributes.values():
                yield from (attribute.name, attribute.ref_attr_name)


def _check(graph: ir.Graph | ir.Function, outputs: Iterable[ir.Value]) -> None:
    for node, value in _read(graph, outputs):
        if value.producer() is None and not value.is_graph_input() and not value.is_initializer():
            reader = "its list of outputs" if node is None else f"node {node.name!r} ({node.op_type})"
            raise ModelFileError(
                f"Graph {graph.name!r} is not complete: {reader} needs {value.name!r}, which no input, initializer or "
                "node makes. Export the model again."
            )


def _read(graph: ir.Graph | ir.Function, outputs: Iterable[ir.Value]) -> Iterator[tuple[ir.Node | None, ir.Value]]:
    for node in graph:
        for value in node.inputs:
            if value is not None:
                yield node, value
    for value in outputs:
        yield None, value

"""Calls of functions that onnx-ir's inliner fails at."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

_GRAPHS = (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)


def misfits(model: ir.Model) -> Iterator[tuple[ir.Node, str]]:
    """``(call, sentence)`` for each call that ONNX Runtime refuses: more inputs than its function has, or more or fewer
    outputs."""
    for node, function in _calls(model):
        for word, given, known in (
            ("inputs", len(node.inputs), len(function.inputs)),
            ("outputs", len(node.outputs), len(function.outputs)),
        ):
            if given > known or given < known and word == "outputs":
                name = f"{node.domain}.{node.op_type}"
                yield node, f"{node.name!r} calls {name} with {given} {word}, and the function has {known}"


def inlinable(model: ir.Model) -> frozenset[ir.OperatorIdentifier]:
    """The functions whose calls can all be replaced by their bodies; graphs as arguments are not substituted."""
    bad = {node.op_identifier() for node, _ in misfits(model)}
    bad |= {n.op_identifier() for n, _ in _calls(model) if any(a.type in _GRAPHS for a in n.attributes.values())}
    return frozenset(model.functions.keys() - bad)


def _calls(model: ir.Model) -> Iterator[tuple[ir.Node, ir.Function]]:
    if model.functions:
        graphs: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
        for graph in graphs:
            for node in ir.traversal.RecursiveGraphIterator(graph):
                function = model.functions.get(node.op_identifier())
                if function is not None:
                    yield node, function


__all__ = ["inlinable", "misfits"]

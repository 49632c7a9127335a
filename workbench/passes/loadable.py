"""What ONNX Runtime refuses a whole graph for, before it looks for a kernel: names, types, and the age of functions."""

from __future__ import annotations

import collections
import os
from collections.abc import Callable, Iterator

import onnx_ir as ir

from workbench.passes.calls import misfits
from workbench.types import OpId

Since = Callable[[OpId, int], int | None]


def refused(model: ir.Model) -> Iterator[tuple[str, str]]:
    """``(node or value, sentence)``: two nodes of one name in one graph, a call that does not fit its
    function, an input without a type."""
    for graph in model.graphs():
        counts = collections.Counter(node.name for node in graph if node.name)
        for name in (name for name, count in counts.items() if count > 1):
            yield name, f"{counts[name]} nodes of one graph are called {name!r}; optimize() gives names of their own"
    yield from ((node.name or "", text) for node, text in misfits(model))
    yield from _without_data(model)
    for value in model.graph.inputs:
        if value.type is None:
            yield value.name or "", f"the input {value.name!r} has no type; say which when the model is exported"


def _without_data(model: ir.Model) -> Iterator[tuple[str, str]]:
    """Files beside the model that are not there; of a model from memory nobody knows where they would be."""
    tensors = (value.const_value for graph in model.graphs() for value in graph.initializers.values())
    places = {
        os.path.join(tensor.base_dir, tensor.location): str(tensor.location)
        for tensor in tensors if isinstance(tensor, ir.ExternalTensor) and tensor.base_dir
    }  # fmt: skip
    for path, location in places.items():
        if not os.path.exists(path):
            yield "", f"the file {location!r}, which holds weights, is missing; put it beside the model"


def of_one_age(model: ir.Model, since: Since) -> tuple[tuple[str, str], ...]:
    """Give functions the opsets of the graph, in place, so that their bodies can stand in it.

    Returns ``(function, sentence)`` for those in which an operator is another in that opset: their nodes are then
    judged as what they would be, not as what they are. ``since`` tells the version of an operator in an opset.
    """
    found = []
    imports = model.graph.opset_imports
    for function in model.functions.values():
        mine = dict(function.opset_imports)
        changed = {domain for domain, version in mine.items() if imports.get(domain, version) != version}
        other = sorted(
            {
                node.op_type for node in ir.traversal.RecursiveGraphIterator(function)
                if node.domain in changed and since(use := OpId(node.op_type, node.domain), mine[node.domain])
                != since(use, imports[node.domain])
            }
        )  # fmt: skip
        function.opset_imports.update({domain: imports[domain] for domain in changed})
        if other:
            name = f"{function.domain}.{function.name}"
            found.append((name, f"{name} is of opset {mine['']}, in which {', '.join(other)} may be another operator"))
    return tuple(found)

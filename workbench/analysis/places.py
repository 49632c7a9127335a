"""The answer to a question about a node, value or module that is not there: what it may have meant, in a few words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import onnx_ir as ir

from workbench.errors import UnknownNameError, some

SHOWN = 12


def unknown_place(where: str, names: Iterable[str], model: ir.Model) -> UnknownNameError:
    """Says so of an input or a weight, which no step makes, and of what stands in a branch or in a function's body;
    else names the closest of ``names``, and the first few.
    """
    value = next((v for v in model.graph.inputs if v.name == where), None) or model.graph.initializers.get(where)
    if value is not None:
        what = "an input" if value.is_graph_input() else "a weight"
        readers = some((use.node.name or use.node.op_type for use in value.uses()), 3)
        return UnknownNameError(
            f"{where!r} is {what} of the graph, which no node makes; ask for one that reads it: {readers}."
        )
    if inside := _inside(where, model):
        return UnknownNameError(f"{where!r} is {inside}, and steps are told of the main graph alone.")
    known = sorted({name for name in names if name}, key=lambda name: (len(name), name))
    close = difflib.get_close_matches(where[:200], known, n=1, cutoff=0.5)
    guess = f" Did you mean {close[0]!r}?" if close else ""
    short = where if len(where) <= 100 else f"{where[:100]}..."
    return UnknownNameError(f"Unknown node, value or module {short!r}.{guess} Known: {some(known, SHOWN)}.")


def _inside(where: str, model: ir.Model) -> str:
    """Where a node of that name, or one that makes such a value, stands, if not in the main graph."""
    for function in model.functions.values():
        if any(_is(where, node) for node in ir.traversal.RecursiveGraphIterator(function)):
            called = (function.domain, function.name)
            calls = [node.name or node.op_type for node in model.graph if (node.domain, node.op_type) == called]
            by = f", which {some(calls, 3)} calls" if calls else ""
            return f"in the body of the function {function.domain}.{function.name}{by}"
    for node in ir.traversal.RecursiveGraphIterator(model.graph):
        if node.graph is not model.graph and _is(where, node):
            return "in a branch of an If, Loop or Scan"
    return ""


def _is(where: str, node: ir.Node) -> bool:
    return where == node.name or any(where == value.name for value in node.outputs)

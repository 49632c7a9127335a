"""Repeated nodes: one for all that compute the same from the same values.

As onnx-ir's ``CommonSubexpressionEliminationPass``, which reads all outputs of a graph for each node that it removes:
with two outputs for each layer that is quadratic in layers. Unlike it (1.1.0), this tells 0.0 from -0.0, an output that
is left out from one that is read, and leaves Bernoulli alone.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import onnx_ir as ir

from workbench.rules.discard import Discard

LARGEST = 10
"""Elements of a tensor that is still compared; more are weights."""
_LISTS = (ir.AttributeType.INTS, ir.AttributeType.STRINGS)
_BODIES = (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS)
_RANDOM = frozenset(
    {"RandomUniform", "RandomNormal", "RandomUniformLike", "RandomNormalLike", "Multinomial", "Bernoulli"}
)
"""Operators that draw: two of them are two draws."""


def merge_repeated(model: ir.Model) -> None:
    """Let the first of equal nodes stand for the others, in place; names of outputs stay."""
    discard = Discard(model.graph)
    first: dict[Hashable, ir.Node] = {}
    for node in model.graph:
        key = _key(node)
        same = first.setdefault(key, node) if key is not None else node
        if same is not node:
            _merge(discard, node, same)
    discard.flush()


def _key(node: ir.Node) -> Hashable:
    """Equal for nodes that compute the same; None for those that are left alone."""
    if node.op_type in _RANDOM and node.domain == "":
        return None
    attributes = []
    for name, attribute in node.attributes.items():
        if attribute.type in _BODIES:
            return None
        if attribute.type is ir.AttributeType.TENSOR and attribute.value.size > LARGEST:
            return None
        attributes.append((name, _value(attribute)))
    given = tuple(value.name != "" for value in node.outputs)  # an output that is left out cannot stand for one
    return (*node.op_identifier(), given, tuple(map(id, node.inputs)), tuple(sorted(attributes)))


def _value(attribute: ir.Attr) -> Any:
    if attribute.type in (ir.AttributeType.FLOAT, ir.AttributeType.FLOATS):
        return repr(attribute.value)  # 0.0 and -0.0 are equal as numbers, and no node that has them is
    if attribute.type in _LISTS:
        return tuple(attribute.value)
    if attribute.type is ir.AttributeType.TENSOR:
        array = attribute.value.numpy()
        return array.shape, str(array.dtype), array.tobytes()
    return attribute.value


def _merge(discard: Discard, node: ir.Node, same: ir.Node) -> None:
    for old, new in zip(node.outputs, same.outputs, strict=True):
        if old.is_graph_output():
            discard.hand_over(old, _under_its_name(discard.graph, node, old, new))
        ir.convenience.replace_all_uses_with(old, new)
    discard.dead(node)


def _under_its_name(graph: ir.Graph, node: ir.Node, old: ir.Value, new: ir.Value) -> ir.Value:
    """The value that goes out in the place of ``old``: ``new``, or a copy where that goes out already."""
    if not new.is_graph_output():
        new.name = old.name
        return new
    copy = ir.Value(name=old.name, type=old.type, shape=old.shape)
    graph.insert_before(node, ir.node("Identity", [new], outputs=[copy]))
    return copy


__all__ = ["merge_repeated"]

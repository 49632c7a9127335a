"""Repeated nodes: one for all that compute the same from the same values.

As onnx-ir's ``CommonSubexpressionEliminationPass``, which reads all outputs of a graph for each node that it removes:
with two outputs for each layer that is quadratic in layers. Unlike it (1.1.0), this tells 0.0 from -0.0 and an output
that is left out from one that is read, leaves what draws alone, and takes no harm from an attribute that is a type.
"""

from __future__ import annotations

from collections.abc import Hashable

import onnx_ir as ir

from workbench.rules.discard import Discard

LARGEST = 10
"""Elements of a tensor that is still compared; more are weights."""
_KINDS = ir.AttributeType
_PLAIN = (_KINDS.INT, _KINDS.FLOAT, _KINDS.STRING, _KINDS.INTS, _KINDS.FLOATS, _KINDS.STRINGS)
_RANDOM = frozenset(
    {"RandomUniform", "RandomNormal", "RandomUniformLike", "RandomNormalLike", "Multinomial", "Bernoulli", "Dropout"}
)


def merge_repeated(model: ir.Model) -> None:
    """Let the first of equal nodes stand for the others, in place; names of outputs stay."""
    discard = Discard(model.graph)
    first: dict[Hashable, ir.Node] = {}
    draws = _drawing(model)
    for node in model.graph:
        key = _key(node) if not _draws(node, draws) else None
        same = first.setdefault(key, node) if key is not None else node
        if same is not node:
            _merge(discard, node, same)
    discard.flush()


def _draws(node: ir.Node, functions: frozenset[ir.OperatorIdentifier]) -> bool:
    """Whether a node may give something else each time."""
    return node.op_type in _RANDOM and node.domain == "" or node.op_identifier() in functions


def _drawing(model: ir.Model) -> frozenset[ir.OperatorIdentifier]:
    """The functions that draw random numbers, by themselves or by what they call."""
    found: frozenset[ir.OperatorIdentifier] = frozenset()
    while True:
        more = {key for key, one in model.functions.items() if any(_draws(node, found) for node in one.all_nodes())}
        if more == found:
            return found
        found = frozenset(more)


def _key(node: ir.Node) -> Hashable:
    """Equal for nodes that compute the same; None for those that are left alone: with bodies, types, weights."""
    attributes = []
    for name, attribute in node.attributes.items():
        if attribute.type is _KINDS.TENSOR and attribute.value.size <= LARGEST:
            attributes.append((name, _tensor(attribute.value)))
        elif attribute.type in _PLAIN:
            attributes.append((name, f"{attribute.type} {attribute.value!r}"))  # as text -0.0 is not 0.0, nor 1 1.0
        else:
            return None
    given = tuple(value.name != "" for value in node.outputs)  # an output that is left out cannot stand for one
    return (*node.op_identifier(), given, tuple(map(id, node.inputs)), tuple(sorted(attributes)))


def _tensor(tensor: ir.TensorProtocol) -> str:
    """Shape, dtype and numbers, exactly."""
    array = tensor.numpy()
    numbers = array.tolist() if array.dtype == object else array.tobytes()  # strings are objects: bytes are addresses
    return f"{tensor.dtype} {array.shape} {numbers!r}"


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

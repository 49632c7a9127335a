"""Reading and writing a few nodes: the whole vocabulary that rules need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import onnx_ir as ir

from workbench.rules.base import Refusal, Rewrite
from workbench.types import SCOPE_KEY, OpId

Like = ir.Value | tuple[ir.DataType, Sequence[Any]] | None
"""What an output looks like: as another value, or as a dtype and a shape; None leaves it open."""


def use_of(node: ir.Node) -> OpId:
    """The operator of a node."""
    return OpId(node.op_type, node.domain)


def made_by(value: ir.Value | None, *uses: OpId) -> ir.Node | None:
    """The node that makes a value, if its operator is one of ``uses``."""
    node = value.producer() if value is not None else None
    return node if node is not None and use_of(node) in uses else None


def value_in(node: ir.Node, index: int) -> ir.Value | None:
    """An input, or None where it is absent or trailing off."""
    return node.inputs[index] if index < len(node.inputs) else None


def required(node: ir.Node, index: int) -> ir.Value:
    """An input that the operator's schema requires; a graph without it is refused, not crashed on."""
    value = value_in(node, index)
    if value is None:
        raise Refusal(f"{node.op_type} lacks its input {index}", kind="unmatched")
    return value


def attr(node: ir.Node, name: str, default: Any) -> Any:
    """The value of an attribute, ``default`` where it is not set."""
    found = node.attributes.get(name)
    return default if found is None else found.value


def attributes_of(node: ir.Node, *without: str) -> dict[str, Any]:
    """The attributes of a node as plain values, some left out."""
    return {name: a.value for name, a in node.attributes.items() if name not in without}


def new(use: OpId, inputs: Sequence[ir.Value | None], *, like: Sequence[Like] = (), **attributes: Any) -> ir.Node:
    """A node whose outputs look like ``like``, one each. Trailing absent inputs are cut off.

    onnxruntime 1.32 crashes on a LayerNormalization with a trailing empty input, so none is ever written.
    """
    given = list(inputs)
    while given and given[-1] is None:
        given.pop()
    node = ir.node(use.op_type, given, attributes or None, domain=use.domain, num_outputs=max(1, len(like)))
    for out, model in zip(node.outputs, like, strict=False):
        if isinstance(model, ir.Value):
            out.type, out.shape = model.type, model.shape
        elif model is not None:
            out.dtype, out.shape = model[0], ir.Shape(model[1])
    return node


def is_constant(value: ir.Value | None) -> bool:
    """Whether a value is the same in every run: an initializer, or what a Constant makes."""
    if value is None or value.is_graph_input():
        return False
    return value.is_initializer() or made_by(value, OpId("Constant")) is not None


def opset(model: ir.Model) -> int:
    """The version of the standard that a model is written in."""
    return model.graph.opset_imports.get("", 1)


def other_body(node: ir.Node, overload: str) -> Rewrite:
    """The same call of a semantic function, with another of its bodies."""
    made = ir.node(
        node.op_type, list(node.inputs), attributes_of(node) or None, domain=node.domain, overload=overload,
        num_outputs=len(node.outputs),
    )  # fmt: skip
    for value, old in zip(made.outputs, node.outputs, strict=True):
        value.type, value.shape = old.type, old.shape
    return Rewrite([made], dict(zip(node.outputs, made.outputs, strict=True)), [(use_of(node), overload)])


def every_node(graph: ir.Graph) -> Iterator[ir.Node]:
    """The nodes of a graph and of the bodies in it, each before those inside it."""
    for node in graph:
        yield node
        if node.attributes:
            for body in bodies(node):
                yield from every_node(body)


def bodies(node: ir.Node) -> Iterator[ir.Graph]:
    """The graphs that a node holds: branches of an If, the body of a Loop."""
    for attribute in node.attributes.values():
        if attribute.type == ir.AttributeType.GRAPH:
            yield attribute.as_graph()
        elif attribute.type == ir.AttributeType.GRAPHS:
            yield from attribute.as_graphs()


def scope(node: ir.Node) -> str:
    """The module that made a node, or the node's own name where nobody said."""
    return node.metadata_props.get(SCOPE_KEY) or node.name or ""


def last_dim(value: ir.Value | None) -> int | None:
    """The size of the last axis, where it is a known number."""
    shape = value.shape if value is not None else None
    size = shape[-1] if shape is not None and len(shape) else None
    return size if isinstance(size, int) else None


def rank(value: ir.Value | None) -> int | None:
    """How many axes a value has, where its shape is known."""
    return len(value.shape) if value is not None and value.shape is not None else None


def outputs_used(node: ir.Node, index: int) -> bool:
    """Whether an output exists and somebody reads it."""
    if index >= len(node.outputs):
        return False
    value = node.outputs[index]
    return bool(value.uses()) or value.is_graph_output()

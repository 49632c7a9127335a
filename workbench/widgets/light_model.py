"""An ONNX file without weights: what a viewer of graphs needs, in a moment, whatever the size of the
model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import onnx_ir as ir

KEPT_BYTES = 1024
"""Tensors up to this size stay: shapes, axes, scalars, which make a graph readable."""

NOT_COPIED = "weights-not-copied"
"""Where the file says that its weights lie: a file that is never written."""


def light_bytes(model: ir.Model) -> bytes:
    """Serialize a model, with each large tensor as a reference to data that is not there.

    Names, shapes and dtypes stay. The model itself is not touched and no weight is read.
    """
    clone = model.clone()
    for graph in _graphs(clone):
        for value in getattr(graph, "initializers", {}).values():
            value.const_value = _light(value.const_value) if value.const_value is not None else _absent(value)
        for node in graph:
            _lighten_attributes(node)
    proto: Any = ir.to_proto(clone)
    data: bytes = proto.SerializeToString()
    return data


def _graphs(model: ir.Model) -> Iterator[Any]:
    todo: list[Any] = [model.graph, *model.functions.values()]
    while todo:
        graph = todo.pop()
        yield graph
        for node in graph:
            for attribute in node.attributes.values():
                if attribute.is_ref():
                    continue
                if attribute.type == ir.AttributeType.GRAPH:
                    todo.append(attribute.value)
                elif attribute.type == ir.AttributeType.GRAPHS:
                    todo.extend(attribute.value)


def _lighten_attributes(node: ir.Node) -> None:
    for name, attribute in list(node.attributes.items()):
        if attribute.type == ir.AttributeType.TENSOR and not attribute.is_ref():
            node.attributes[name] = ir.AttrTensor(name, _light(attribute.value))


def _absent(value: ir.Value) -> Any:
    """A parameter of a skeleton keeps its shape and dtype, where it has both."""
    if value.shape is None or value.dtype is None or not value.shape.is_static():
        return None
    size = math.prod(value.shape.numpy()) * value.dtype.bitwidth // 8
    return ir.ExternalTensor(NOT_COPIED, 0, size, value.dtype, shape=value.shape, name=value.name or "")


def _light(tensor: Any) -> Any:
    if tensor is None or tensor.nbytes <= KEPT_BYTES:
        return tensor
    return ir.ExternalTensor(NOT_COPIED, 0, tensor.nbytes, tensor.dtype, shape=tensor.shape, name=tensor.name or "")

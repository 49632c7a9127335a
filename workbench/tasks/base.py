"""A task is an I/O contract: it gives a module its inputs and the graph its outputs, and knows no provider."""

from __future__ import annotations

from typing import Any, Protocol

import onnx_ir as ir
from onnxscript import GraphBuilder, nn

from workbench.functions import OPSET
from workbench.types import SCOPE_KEY, GraphOptions, Role

IR_VERSION = 11
"""ONNX IR version of our files: the first with opset 24's float types, read by onnxruntime 1.22 and later."""


class Task(Protocol):
    """Builds the generic graphs of a module, one per key of the package."""

    name: str
    roles: dict[str, Role]

    def build(self, module: nn.Module, config: Any, dtype: ir.DataType, options: GraphOptions) -> dict[str, ir.Model]:
        """The generic graphs, by package key."""
        ...


def new_builder(name: str) -> GraphBuilder:
    """A builder on an empty graph at our opset."""
    return GraphBuilder(ir.Graph([], [], nodes=[], opset_imports={"": OPSET}, name=name))


def finish(builder: GraphBuilder) -> ir.Model:
    """The model of a built graph: function bodies registered, provenance of each node in one short key."""
    from workbench import __version__

    model = ir.Model(builder.graph, ir_version=IR_VERSION, producer_name="ep-workbench", producer_version=__version__)
    for function in builder.functions.values():
        model.functions[function.identifier()] = function
        model.graph.opset_imports.setdefault(function.domain, 1)
    for node in model.graph:
        node.metadata_props[SCOPE_KEY] = _scope(node.name or "")
        for key in [k for k in node.metadata_props if k == "namespace" or k.startswith("pkg.onnxscript.")]:
            del node.metadata_props[key]  # the same scope three times over, and notes of the builder to itself
    return model


def _scope(node_name: str) -> str:
    """``model/layers.3/self_attn/MatMul_node_7`` -> ``model.layers.3.self_attn``."""
    return ".".join(node_name.split("/")[:-1])

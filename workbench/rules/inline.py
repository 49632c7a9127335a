"""A call of a function of ours, or the nodes of its body where no function may stay."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import onnx_ir as ir

from workbench import functions
from workbench.functions import contrib
from workbench.rules.base import Rewrite, Site
from workbench.rules.graph import Like, new, opset, required, use_of
from workbench.types import OpId


def stand_in(
    site: Site,
    features: Sequence[str],
    inputs: Sequence[ir.Value],
    attributes: Mapping[str, Any],
    like: Sequence[Like],
    replaced: Sequence[ir.Value],
    *,
    inline: bool,
) -> Rewrite:
    """What the com.microsoft operator at the site computes, in place of the ``replaced`` values."""
    ours, overload = contrib.stand_in(use_of(site.node)), contrib.variant(features)
    if inline:
        nodes, outputs = _body(functions.proto(ours, opset(site.model), overload), inputs, attributes, like)
        return Rewrite(nodes, dict(zip(replaced, outputs, strict=False)))
    call = ir.node(
        ours.op_type, list(inputs), dict(attributes) or None, domain=ours.domain, overload=overload,
        num_outputs=len(like),
    )  # fmt: skip
    for value, model in zip(call.outputs, new(ours, [], like=like).outputs, strict=True):
        value.type, value.shape = model.type, model.shape
    return Rewrite([call], dict(zip(replaced, call.outputs, strict=False)), [(ours, overload)])


def _body(
    function: Any, inputs: Sequence[ir.Value], attributes: Mapping[str, Any], like: Sequence[Like]
) -> tuple[list[ir.Node], list[ir.Value]]:
    """The nodes of a body over these inputs, with every type that ONNX can tell: later lowerings ask for them."""
    graph = _typed(function, inputs, attributes).graph
    for inner, outer in zip(list(graph.inputs), inputs, strict=True):
        inner.replace_all_uses_with(outer)
    for node in [n for n in graph if n.op_type == "Identity" and not n.outputs[0].is_graph_output()]:
        ir.convenience.replace_all_uses_with(node.outputs[0], required(node, 0))
        graph.remove(node, safe=True)
    nodes, outputs = list(graph), list(graph.outputs)
    graph.outputs.clear()
    graph.remove(nodes)
    own = {dim for value in inputs for dim in value.shape or () if isinstance(dim, ir.SymbolicDim)}
    for node in nodes:
        for value in node.outputs:
            value.name = None  # names of a body repeat with every call
            value.shape = _known(value.shape, own)
    for value, model in zip(outputs, new(OpId("Identity"), [], like=like).outputs, strict=True):
        value.type, value.shape = model.type, model.shape
    return nodes, outputs


def _known(shape: ir.Shape | None, own: Collection[ir.SymbolicDim]) -> ir.Shape | None:
    """Without sizes that inference made names for: these repeat with every call, and onnxruntime takes sizes of one
    name for equal and puts one value in another's buffer."""
    if shape is None:
        return None
    return ir.Shape([dim if isinstance(dim, int) or dim in own else None for dim in shape])


def _typed(function: Any, inputs: Sequence[ir.Value], attributes: Mapping[str, Any]) -> ir.Model:
    import onnx
    from onnx import helper, shape_inference

    nodes = []
    for node in function.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        for attribute in copy.attribute:
            if attribute.ref_attr_name:
                attribute.CopyFrom(helper.make_attribute(attribute.name, attributes[attribute.ref_attr_name]))
        nodes.append(copy)
    given = [_info(name, value) for name, value in zip(function.input, inputs, strict=True)]
    results = [helper.make_empty_tensor_value_info(name) for name in function.output]
    made = helper.make_model(
        helper.make_graph(nodes, "body", given, results), opset_imports=list(function.opset_import)
    )
    return ir.from_proto(shape_inference.infer_shapes(made))


def _info(name: str, value: ir.Value) -> Any:
    from onnx import helper

    if value.dtype is None:
        return helper.make_empty_tensor_value_info(name)
    sizes = None if value.shape is None else [d if isinstance(d, int) else d.value for d in value.shape]
    return helper.make_tensor_value_info(name, int(value.dtype), sizes)


__all__ = ["stand_in"]

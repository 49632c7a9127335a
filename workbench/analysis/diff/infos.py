"""Nodes as they are read and shown."""

from __future__ import annotations

import onnx_ir as ir

from workbench.analysis.diff.content import attribute_text, dtype_text, names_a_dtype, type_text
from workbench.analysis.diff.flat import Side
from workbench.analysis.diff.result import NodeInfo


def infos(side: Side) -> tuple[NodeInfo, ...]:
    """One record per node, in graph order."""
    return tuple(_info(side, i) for i in range(len(side)))


def _info(side: Side, i: int) -> NodeInfo:
    node, (domain, op_type) = side.nodes[i], side.ops[i]
    return NodeInfo(
        name=node.name or "",
        op_type=op_type,
        domain=domain,
        overload=node.overload,
        scope=side.scopes[i],
        graph=side.places[i],
        inputs=tuple((value.name or "") if value is not None else "" for value in node.inputs),
        outputs=tuple(value.name or "" for value in node.outputs),
        types=tuple(type_text(value) for value in node.outputs),
        attributes=tuple((name, _text(op_type, a)) for name, a in node.attributes.items()) if node.attributes else (),
        rules=side.rules(i),
        replaces=side.replaces(i),
    )


def _text(op_type: str, attribute: ir.Attr) -> str:
    if names_a_dtype(op_type, attribute.name) and attribute.type == ir.AttributeType.INT and not attribute.is_ref():
        try:
            return dtype_text(ir.DataType(attribute.value))
        except ValueError:
            pass
    return attribute_text(attribute)

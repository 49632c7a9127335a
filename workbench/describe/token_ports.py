"""Tokens, mask and positions in int64: the runtime's decode loop feeds nothing else."""

from __future__ import annotations

import onnx_ir as ir

from workbench.passes.cleanup import in_order

TOKENS = ("input_ids", "attention_mask", "position_ids")


def narrow(model: ir.Model) -> list[str]:
    """The inputs of those that are int32."""
    return [v.name or "" for v in model.graph.inputs if v.name in TOKENS and v.dtype == ir.DataType.INT32]


def with_int64_tokens(model: ir.Model) -> ir.Model:
    """A clone that takes these inputs in int64 and casts them where they come in."""
    with in_order(model):
        clone = model.clone()
    for place, value in enumerate(list(clone.graph.inputs)):
        if value.name in TOKENS and value.dtype == ir.DataType.INT32:
            clone.graph.inputs[place] = _wide(clone, value)
    return clone


def _wide(model: ir.Model, value: ir.Value) -> ir.Value:
    wide = ir.Value(name=value.name, type=ir.TensorType(ir.DataType.INT64), shape=value.shape)
    cast = ir.node("Cast", [wide], {"to": int(ir.DataType.INT32)}, name=f"tokens/Cast_{value.name}")
    output = cast.outputs[0]
    output.name, output.type, output.shape = f"{value.name}.int32", value.type, value.shape
    value.replace_all_uses_with(output)
    value.name = f"{value.name}.fed"
    model.graph.insert_before(model.graph[0], cast)
    return wide


__all__ = ["TOKENS", "narrow", "with_int64_tokens"]

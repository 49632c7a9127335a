"""Graphs that hardly are decoders: ports as text, outputs of no meaning."""

from __future__ import annotations

import re
from collections.abc import Iterable

import onnx
from onnx import TensorProto, helper

PLAIN = ["input_ids int64[B, S]", "attention_mask int64[B, T]"]
LOGITS = ["logits float[B, S, 96]"]
_TYPES = {"int64": TensorProto.INT64, "float": TensorProto.FLOAT, "string": TensorProto.STRING}


def cache(layers: Iterable[object] = (0,), shape: str = "[B, 2, P, 16]", past: str = "past_key_values") -> list[str]:
    return [f"{past}.{layer}.{word} float{shape}" for layer in layers for word in ("key", "value")]


def present(layers: Iterable[object] = (0,), shape: str = "[B, 2, T, 16]") -> list[str]:
    return [f"present.{layer}.{word} float{shape}" for layer in layers for word in ("key", "value")]


def graph(inputs: list[str], outputs: list[str]) -> onnx.ModelProto:
    """``input_ids int64[B, S]``; without brackets the graph does not say a shape. Each output is one zero."""
    made = [port(text) for text in outputs]
    nodes = [
        helper.make_node(
            "Constant", [], [one.name], value=helper.make_tensor("v", one.type.tensor_type.elem_type, [1], [0])
        )
        for one in made
    ]
    opsets = [helper.make_opsetid("", 21)]
    return helper.make_model(
        helper.make_graph(nodes, "odd", list(map(port, inputs)), made), opset_imports=opsets, ir_version=10
    )


def port(text: str) -> onnx.ValueInfoProto:
    found = re.fullmatch(r"(\S+) (\w+)(?:\[(.*)\])?", text)
    assert found is not None
    name, word, dims = found.groups()
    sizes = None if dims is None else [int(one) if one.lstrip("-").isdigit() else one for one in dims.split(", ")]
    return helper.make_tensor_value_info(name, _TYPES[word], sizes)

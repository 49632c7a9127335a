"""Small runnable graphs of families that the workbench does not build: right ports, right shapes, zeros as numbers.

A dimension is a number, a name, or a sum of names (``past + sequence``); one that no input has is given with its size
in terms of the inputs, as ``("frames", "samples // 4")``. Every output is made of the inputs' real shapes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Dim = int | str | tuple[str, str]
Ports = Mapping[str, tuple[str, list[Dim]]]
_TYPES = {
    "float64": TensorProto.DOUBLE,
    "float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "int64": TensorProto.INT64, "bool": TensorProto.BOOL,
}  # fmt: skip


def graph(name: str, inputs: Ports, outputs: Ports) -> onnx.ModelProto:
    """A graph with these ports that runs in ONNX Runtime."""
    made = _Made(inputs)
    for port, (dtype, dims) in outputs.items():
        made.output(port, dtype, dims)
    values = [[_value(port, dtype, dims) for port, (dtype, dims) in side.items()] for side in (inputs, outputs)]
    body = helper.make_graph(made.nodes, name, values[0], values[1], made.constants)
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.checker.check_model(model, full_check=False)
    return model


def _value(port: str, dtype: str, dims: list[Dim]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(port, _TYPES[dtype], [d[0] if isinstance(d, tuple) else d for d in dims])


class _Made:
    """Nodes that read the sizes of the inputs and fill the outputs with zeros."""

    def __init__(self, inputs: Ports) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.sizes: dict[str, str] = {}
        self.count = 0
        places = {d: (p, a) for p, (_, dims) in inputs.items() for a, d in enumerate(dims) if isinstance(d, str)}
        self.places = {symbol: place for symbol, place in places.items() if " " not in symbol}

    def node(self, op: str, inputs: list[str], output: str = "", **attributes: object) -> str:
        self.count += 1
        output = output or f"made.{self.count}"
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def number(self, value: int) -> str:
        name = f"number.{value}"
        if all(made.name != name for made in self.constants):
            self.constants.append(numpy_helper.from_array(np.array([value], np.int64), name))
        return name

    def size(self, word: str) -> str:
        """The name of an int64[1] with the size that a number or a symbol stands for."""
        if word.isdigit():
            return self.number(int(word))
        if word not in self.sizes:
            port, axis = self.places[word]
            self.sizes[word] = self.node("Shape", [port], start=axis, end=axis + 1)
        return self.sizes[word]

    def dim(self, dim: Dim) -> str:
        """The same for a sum (``a + b``) or a quotient (``a // 4``)."""
        words = (dim[1] if isinstance(dim, tuple) else str(dim)).split()
        found = self.size(words[0])
        for sign, word in zip(words[1::2], words[2::2]):
            found = self.node({"+": "Add", "//": "Div"}[sign], [found, self.size(word)])
        return found

    def output(self, port: str, dtype: str, dims: list[Dim]) -> None:
        zero = numpy_helper.from_array(np.zeros(1, helper.tensor_dtype_to_np_dtype(_TYPES[dtype])))
        shape = self.node("Concat", [self.dim(dim) for dim in dims], axis=0)
        self.node("ConstantOfShape", [shape], port, value=zero)

"""Norms spelled in primitives: computed in float32 with Casts around, so that squares of float16 do not overflow."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from workbench.rules.graph import new
from workbench.types import OpId

F32 = ir.DataType.FLOAT
RMS_PRIMITIVES = ("Cast", "Mul", "ReduceMean", "Add", "Sqrt", "Div")
LAYER_PRIMITIVES = (*RMS_PRIMITIVES, "Sub")
Shape = Sequence[Any] | None


@dataclasses.dataclass
class NormSpelling:
    """Collects the nodes of one norm of ``x`` over the axes from ``axis`` on.

    ``by_input``: from opset 18 on a reduction takes its axes as an input.
    """

    x: ir.Value
    axis: int
    epsilon: float
    opset: int
    nodes: list[ir.Node] = dataclasses.field(default_factory=list)

    @property
    def shape(self) -> Shape:
        return list(self.x.shape) if self.x.shape is not None else None

    @property
    def reduced(self) -> Shape:
        """The shape of means and deviations."""
        sizes = self.shape
        return [1 if i in self.axes else d for i, d in enumerate(sizes)] if sizes is not None else None

    @property
    def axes(self) -> list[int]:
        """The axes to reduce; counted from the end where the rank is not known."""
        if self.x.shape is None:
            return list(range(self.axis, 0))
        size = len(self.x.shape)
        return list(range(self.axis % size, size))

    def add(
        self, op_type: str, inputs: Sequence[ir.Value], dtype: ir.DataType, shape: Shape, **attributes: Any
    ) -> ir.Value:
        made = new(OpId(op_type), inputs, like=[None], **attributes)
        made.outputs[0].dtype = dtype
        made.outputs[0].shape = ir.Shape(shape) if shape is not None else None
        self.nodes.append(made)
        return made.outputs[0]

    def constant(self, array: np.ndarray) -> ir.Value:
        tensor = ir.tensor(array)
        return self.add("Constant", [], tensor.dtype, list(array.shape), value=tensor)

    def cast(self, value: ir.Value, dtype: ir.DataType, shape: Shape) -> ir.Value:
        """The value in a dtype; itself where it has it."""
        return value if value.dtype == dtype else self.add("Cast", [value], dtype, shape, to=dtype)

    def mean(self, value: ir.Value) -> ir.Value:
        if self.opset >= 18:
            axes = self.constant(np.array(self.axes, np.int64))
            return self.add("ReduceMean", [value, axes], F32, self.reduced, keepdims=1)
        return self.add("ReduceMean", [value], F32, self.reduced, keepdims=1, axes=self.axes)

    def deviation(self, value: ir.Value) -> ir.Value:
        """The root of the mean of squares and epsilon."""
        mean = self.mean(self.add("Mul", [value, value], F32, self.shape))
        epsilon = self.constant(np.array(self.epsilon, np.float32))
        return self.add("Sqrt", [self.add("Add", [mean, epsilon], F32, self.reduced)], F32, self.reduced)

    def scaled(self, normal: ir.Value, scale: ir.Value, bias: ir.Value | None, like: ir.Value) -> ir.Value:
        """Back to the dtype of the result, times the scale, plus the bias."""
        dtype = like.dtype or scale.dtype or self.x.dtype or F32
        result = self.add("Mul", [self.cast(normal, dtype, self.shape), scale], dtype, self.shape)
        return result if bias is None else self.add("Add", [result, bias], dtype, self.shape)

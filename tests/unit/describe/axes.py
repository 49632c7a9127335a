"""Graphs whose axes are called as others call them, or not at all."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

import onnx
import onnx_ir as ir

from workbench.package import Package

Size = int | str | None
Rename = Callable[[str, Size], Size]
"""From a port and the name of an axis to another name, a number, or no name."""
OTHERS = {"batch_size": "N", "sequence_length": "S", "total_sequence_length": "T", "past_sequence_length": "P"}
RENAMES: Mapping[str, Rename] = {
    "renamed": lambda port, size: OTHERS.get(str(size), size),
    "one-row": lambda port, size: 1 if size == "batch_size" else size,
    "unnamed": lambda port, size: None,
    "named-in-the-cache": lambda port, size: OTHERS.get(str(size), size) if "key" in port else None,
    "one-row-else-unnamed": lambda port, size: 1 if (port, size) == ("input_ids", "batch_size") else None,
    "crossed": lambda port, size: "sequence_length" if size == "total_sequence_length" else None,
}


def with_axes(package: Package, rename: Rename) -> Package:
    """The package with other names for the axes of its graph's ports."""
    model = package.model.clone()
    for port in (*model.graph.inputs, *model.graph.outputs):
        assert port.shape is not None and port.name is not None
        sizes = [d if isinstance(d, int) else d.value for d in port.shape]
        port.shape = ir.Shape([d if isinstance(d, int) else rename(port.name, d) for d in sizes])
    return dataclasses.replace(package, models={"model": model})


def rename_in_file(rename: Rename) -> Callable[[onnx.ModelProto], None]:
    """The same as a change of a graph's file."""

    def change(model: onnx.ModelProto) -> None:
        for port in (*model.graph.input, *model.graph.output):
            for axis in port.type.tensor_type.shape.dim:
                if axis.dim_param:
                    _set(axis, rename(port.name, axis.dim_param))

    return change


def _set(axis: onnx.TensorShapeProto.Dimension, size: Size) -> None:
    axis.Clear()
    if isinstance(size, int):
        axis.dim_value = size
    elif size is not None:
        axis.dim_param = size

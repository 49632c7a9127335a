"""Nothing, in the shape of something: what a step gives where an optional input did not come."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir

from workbench.analysis.graph_facts import Port
from workbench.functions import OPSET
from workbench.tasks.base import IR_VERSION


def nothing(port: Port) -> ir.Model:
    """A graph without inputs whose output has the port's name, dtype and last size, and no rows.

    For image features ``[rows, E]`` it gives ``[0, E]``.
    """
    assert port.dtype is not None
    shape = [0, *(size if isinstance(size, int) else 0 for size in port.dims[1:])]
    value = ir.tensor(np.zeros(shape, port.dtype.numpy()), dtype=port.dtype)
    node = ir.node("Constant", [], attributes={"value": value})
    output = node.outputs[0]
    output.name, output.dtype, output.shape = port.name, port.dtype, ir.Shape(shape)
    graph = ir.Graph([], [output], nodes=[node], opset_imports={"": OPSET}, name="nothing")
    return ir.Model(graph, ir_version=IR_VERSION, producer_name="ep-workbench")


__all__ = ["nothing"]

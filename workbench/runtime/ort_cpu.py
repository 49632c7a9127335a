"""ONNX Runtime on CPU kernels: any graph whose operators have one, whatever provider it was made for.

Weights are handed over in memory, so that nothing is written to disk and lazy tensors are read once.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from workbench.errors import ExecutionError, FeedsError, WeightsError

EXECUTOR = "ort-cpu"
INLINE_BYTES = 1024
"""Smaller initializers stay in the file: shape inference wants to read them."""

Array = npt.NDArray[Any]


@dataclasses.dataclass(frozen=True)
class SessionSettings:
    """How a session was made; part of every result that came from it. ``threads`` 0 leaves it to ONNX Runtime."""

    graph_optimization: str = "all"
    threads: int = 0

    def to_dict(self) -> dict[str, str]:
        """As text, for reports."""
        return {
            "providers": "CPUExecutionProvider",
            "graph_optimization_level": self.graph_optimization,
            "intra_op_num_threads": str(self.threads),
        }


class OrtCpuSession:
    """One loaded graph. A context manager: leaving it frees the session and its weights.

    Raises:
        WeightsError: the graph is a skeleton.
        ExecutionError: ONNX Runtime refuses the graph; the text says why.
    """

    def __init__(self, model: ir.Model, settings: SessionSettings | None = None) -> None:
        self.settings = settings or SessionSettings()
        _check_weights(model)
        light, heavy = _split(model)
        self._session: Any = _load(light, heavy, self.settings)
        self.inputs: dict[str, Any] = {value.name: value for value in self._session.get_inputs()}
        self.outputs: tuple[str, ...] = tuple(value.name for value in self._session.get_outputs())

    def run(self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
        """Outputs by name.

        Raises:
            FeedsError: an input is missing or unknown.
            ExecutionError: ONNX Runtime refuses to run it; the text says why.
        """
        if self._session is None:
            raise ExecutionError("This session is closed; make a new one.")
        names = list(outputs or self.outputs)
        missing, unknown = sorted(set(self.inputs) - set(feeds)), sorted(set(feeds) - set(self.inputs))
        if missing or unknown:
            raise FeedsError(
                f"The graph's inputs are {', '.join(self.inputs)}; missing: {', '.join(missing) or 'none'}; "
                f"unknown: {', '.join(unknown) or 'none'}."
            )
        try:
            return dict(zip(names, self._session.run(names, dict(feeds)), strict=True))
        except Exception as error:  # the binding raises a dozen unrelated classes
            raise ExecutionError(f"ONNX Runtime could not run the graph: {_first_line(error)}") from error

    def close(self) -> None:
        """Free the session and its weights."""
        self._session = None

    def __enter__(self) -> OrtCpuSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"OrtCpuSession({len(self.inputs)} inputs, {len(self.outputs)} outputs)"


def _check_weights(model: ir.Model) -> None:
    bare = [name for name, value in model.graph.initializers.items() if value.const_value is None]
    if bare:
        raise WeightsError(
            f"The graph is a skeleton: {len(bare)} initializers have no data ({', '.join(bare[:3])}, ...). "
            "Build it with load_weights=True to run it."
        )


def _split(model: ir.Model) -> tuple[Any, dict[str, ir.TensorProtocol]]:
    """The graph as a proto whose big initializers are declared external, and those initializers."""
    import onnx

    clone = model.clone()
    heavy: dict[str, ir.TensorProtocol] = {}
    for name, value in list(clone.graph.initializers.items()):
        tensor = value.const_value
        if tensor is not None and tensor.nbytes > INLINE_BYTES and not value.is_graph_input():
            heavy[name] = tensor
            del clone.graph.initializers[name]
    proto = ir.to_proto(clone)
    for name, tensor in heavy.items():
        declared = proto.graph.initializer.add(name=name, data_type=int(tensor.dtype), dims=tensor.shape.numpy())
        declared.data_location = onnx.TensorProto.EXTERNAL
        for key, text in (("location", "in-memory"), ("offset", "0"), ("length", str(tensor.nbytes))):
            declared.external_data.add(key=key, value=text)
    return proto, heavy


def _load(proto: Any, heavy: Mapping[str, ir.TensorProtocol], settings: SessionSettings) -> Any:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = settings.threads
    level = {"all": "ORT_ENABLE_ALL", "none": "ORT_DISABLE_ALL"}[settings.graph_optimization]
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    try:
        values = [ort.OrtValue.ortvalue_from_numpy(_contiguous(tensor)) for tensor in heavy.values()]
        options.add_external_initializers(list(heavy), values)
        session = ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ExecutionError(f"ONNX Runtime could not load the graph: {_first_line(error)}") from error
    session.disable_fallback()
    return session


def _contiguous(tensor: ir.TensorProtocol) -> Array:
    return np.ascontiguousarray(tensor.numpy())


def _first_line(error: Exception) -> str:
    text = str(error).replace(os.linesep, "\n").strip()
    return text.split("\n")[0][:400] or type(error).__name__

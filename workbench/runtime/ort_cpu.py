"""ONNX Runtime on CPU kernels: any graph whose operators have one, whatever provider it was made for.

Weights go through a temporary file that ONNX Runtime maps into memory: handed over as arrays they would be held twice
(measured with onnxruntime 1.32).
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from workbench.errors import (
    ExecutionError,
    FeedsError,
    WeightsError,
    WorkbenchError,
    root_cause,
    some,
    unknown,
    wrong_type,
)  # fmt: skip
from workbench.passes.cleanup import in_order
from workbench.runtime.arrays import check_arrays
from workbench.runtime.stand_ins import for_cpu_kernels, stand_ins
from workbench.weights.external import Layout, layout
from workbench.weights.lazy import pieces, to_proto

EXECUTOR = "ort-cpu"
INLINE_BYTES = 1024
"""Smaller initializers stay in the file: shape inference wants to read them."""

Array = npt.NDArray[Any]
_WEIGHTS = "weights"
_LEVELS = {"all": "ORT_ENABLE_ALL", "none": "ORT_DISABLE_ALL"}


@dataclasses.dataclass(frozen=True)
class SessionSettings:
    """How a session was made; part of every result that came from it. ``threads`` 0 leaves it to ONNX Runtime.

    ``prepacking`` lets ONNX Runtime keep a second, rearranged copy of each weight: faster in the long run, and twice
    the memory.
    """

    graph_optimization: str = "all"
    threads: int = 0
    prepacking: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.graph_optimization, str) or self.graph_optimization not in _LEVELS:
            raise unknown("graph optimization level", self.graph_optimization, _LEVELS)
        if isinstance(self.threads, bool) or not isinstance(self.threads, int) or self.threads < 0:
            raise wrong_type("threads", self.threads, "a whole number, 0 or more")
        if not isinstance(self.prepacking, bool):
            raise wrong_type("prepacking", self.prepacking, "True or False")

    def to_dict(self) -> dict[str, str]:
        """As text, for reports."""
        return {
            "providers": "CPUExecutionProvider",
            "graph_optimization_level": self.graph_optimization,
            "intra_op_num_threads": str(self.threads),
            "session.disable_prepacking": str(int(not self.prepacking)),
        }


class OrtCpuSession:
    """One loaded graph. A context manager: leaving it frees the session and its weights.

    What CPU kernels lack of a provider's operators is written out first; ``stand_ins`` names it.

    Raises:
        WeightsError: the graph is a skeleton.
        ExecutionError: ONNX Runtime refuses the graph; the text says why.
    """

    def __init__(self, model: ir.Model, settings: SessionSettings | None = None) -> None:
        if not isinstance(model, ir.Model):
            raise wrong_type("model", model, "an onnx_ir.Model", "A package holds its own as package.model.")
        if not isinstance(settings, SessionSettings | None):
            raise wrong_type("settings", settings, "a SessionSettings")
        self.settings = settings or SessionSettings()
        _check_weights(model)
        self.stand_ins = stand_ins(model)
        self._session, self._folder = _load(for_cpu_kernels(model), self.settings)
        self.inputs: dict[str, Any] = {value.name: value for value in self._session.get_inputs()}
        self.outputs: tuple[str, ...] = tuple(value.name for value in self._session.get_outputs())

    def run(self, feeds: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
        """Outputs by name.

        Raises:
            FeedsError: an input is missing or unknown, or of another dtype, rank or size.
            ExecutionError: ONNX Runtime refuses to run it; the text says why.
        """
        if self._session is None:
            raise ExecutionError("This session is closed; make a new one.")
        names = list(outputs or self.outputs)
        missing, unknown = sorted(set(self.inputs) - set(feeds)), sorted(set(feeds) - set(self.inputs))
        if missing or unknown:
            raise FeedsError(
                f"The graph's inputs are {some(self.inputs)}; missing: {some(missing)}; unknown: {some(unknown)}. "
                "Give an array for each input and no others."
            )
        check_arrays(self.inputs, feeds)
        try:
            return dict(zip(names, self._session.run(names, dict(feeds)), strict=True))
        except Exception as error:  # the binding raises a dozen unrelated classes
            raise ExecutionError(f"ONNX Runtime could not run the graph: {_first_line(error)}") from error

    def close(self) -> None:
        """Free the session and its weights."""
        self._session = None
        self._folder.cleanup()

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
            f"The graph is a skeleton: {len(bare)} initializers have no data ({some(bare, 3)}). "
            "Build it with load_weights=True to run it."
        )
    tensors = [value.const_value for graph in model.graphs() for value in graph.initializers.values()]
    away = [t for t in tensors if isinstance(t, ir.ExternalTensor) and not os.path.isfile(t.path)]
    if away:
        raise WeightsError(
            f"The weights of {some((t.name or '?' for t in away), 3)} are missing: {away[0].path} is not there. "
            "Put the data file beside the model to run it."
        )


def _split(model: ir.Model) -> tuple[Any, list[ir.TensorProtocol], Layout]:
    """The graph as a proto whose big initializers are declared external, those initializers, and their places."""
    import onnx

    with in_order(model):
        clone = model.clone()
    heavy: dict[str, ir.TensorProtocol] = {}
    for name, value in list(clone.graph.initializers.items()):
        tensor = value.const_value
        if tensor is not None and tensor.nbytes > INLINE_BYTES and not value.is_graph_input():
            heavy[name] = tensor
            del clone.graph.initializers[name]
    _read_external(clone)
    proto, place = to_proto(clone), layout(list(heavy.values()))
    for (name, tensor), offset, length in zip(heavy.items(), place.offsets, place.lengths, strict=True):
        declared = proto.graph.initializer.add(name=name, data_type=int(tensor.dtype), dims=tensor.shape.numpy())
        declared.data_location = onnx.TensorProto.EXTERNAL
        for key, text in (("location", _WEIGHTS), ("offset", str(offset)), ("length", str(length))):
            declared.external_data.add(key=key, value=text)
    return proto, list(heavy.values()), place


def _read_external(model: ir.Model) -> None:
    """Small tensors, and those of subgraphs, that lie in a file of their own: the session has another folder."""
    for graph in model.graphs():
        for name, value in graph.initializers.items():
            if isinstance(value.const_value, ir.ExternalTensor):
                value.const_value = ir.Tensor(value.const_value.numpy().copy(), name=name)


def _serialized(model: ir.Model) -> tuple[Any, list[ir.TensorProtocol], Layout]:
    try:
        return _split(model)
    except ir.serde.SerdeError as error:
        raise ExecutionError(f"The graph cannot be written for ONNX Runtime: {root_cause(error)}") from error


def _load(model: ir.Model, settings: SessionSettings) -> tuple[Any, tempfile.TemporaryDirectory[str]]:
    import onnxruntime as ort

    proto, heavy, place = _serialized(model)
    ort.disable_telemetry_events()
    folder = tempfile.TemporaryDirectory(prefix="ep-workbench-", ignore_cleanup_errors=True)
    path = Path(folder.name) / "model.onnx"
    try:
        _write(path.with_name(_WEIGHTS), heavy, place)
        path.write_bytes(proto.SerializeToString())
        session = ort.InferenceSession(str(path), _options(settings), providers=["CPUExecutionProvider"])
        session.disable_fallback()
    except BaseException as error:
        folder.cleanup()
        if isinstance(error, WorkbenchError) or not isinstance(error, Exception):
            raise
        if isinstance(error, OSError):
            raise ExecutionError(_no_room(error, folder.name, place.size)) from error
        raise ExecutionError(f"ONNX Runtime could not load the graph: {_first_line(error)}") from error
    if os.name == "posix":
        folder.cleanup()  # what is mapped stays mapped, and nothing is left behind by a kernel that is killed
    return session, folder


def _write(path: Path, tensors: Sequence[ir.TensorProtocol], place: Layout) -> None:
    with open(path, "wb", buffering=0) as file:
        for tensor, offset in zip(tensors, place.offsets, strict=True):
            file.seek(offset)
            for piece in pieces(tensor):
                file.write(np.ascontiguousarray(piece).reshape(-1).view(np.uint8).data)


def _no_room(error: OSError, folder: str, size: int) -> str:
    return (
        f"The weights ({size / 1e6:.0f} MB) could not be written to the temporary folder {folder}: {error.strerror}. "
        "Free some space there, or point TMPDIR to a disk that has it."
    )


def _options(settings: SessionSettings) -> Any:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = settings.threads
    options.add_session_config_entry("session.disable_prepacking", str(int(not settings.prepacking)))
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, _LEVELS[settings.graph_optimization])
    return options


def _first_line(error: Exception) -> str:
    text = str(error).replace(os.linesep, "\n").strip()
    return text.split("\n")[0][:400] or type(error).__name__

"""The inputs and outputs of real graphs, read below the folder of a package; weights are not touched."""

from __future__ import annotations

import dataclasses
import pathlib
import warnings
from typing import Any

from workbench.errors import root_cause
from workbench.metadata.files import look_for

_ABSENT = {
    "absent": "there is no such file below the package",
    "outside": "its path leaves the package, so it is not looked at",
    "no-file": "it is no regular file",
}
_MOST_BYTES = 2**31
_TEXT = {
    ".onnxtxt": "onnxtxt", ".textproto": "textproto", ".txtpb": "textproto", ".pbtxt": "textproto", ".json": "json",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class GraphPort:
    """One input or output of a graph. ``dims`` holds numbers, names, or None for a dimension nobody named."""

    name: str
    dtype: str
    dims: tuple[int | str | None, ...] | None

    @property
    def text(self) -> str:
        dims = "..." if self.dims is None else ", ".join("?" if dim is None else str(dim) for dim in self.dims)
        return f"{self.dtype}[{dims}]"


@dataclasses.dataclass(frozen=True)
class GraphPorts:
    """``required`` are the inputs without a default."""

    inputs: dict[str, GraphPort]
    outputs: dict[str, GraphPort]
    required: frozenset[str]


def graph_ports(root: pathlib.Path, artifact: str) -> GraphPorts | str:
    """The ports of a graph, or why they cannot be read."""
    verdict = look_for(root, artifact)
    if verdict != "there":
        return f"{artifact!r}: {_ABSENT[verdict]}"
    path = root / artifact
    try:
        if path.stat().st_size > _MOST_BYTES:
            return f"{artifact!r}: larger than a graph can be"
        return _read(path)
    except Exception as error:  # a damaged file raises what its reader likes
        return f"{artifact!r}: no ONNX graph ({root_cause(error)})"


def _read(path: pathlib.Path) -> GraphPorts:
    import onnx_ir as ir

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The onnxtxt format is experimental")
        graph = ir.load(path, format=_TEXT.get(path.suffix.lower(), "protobuf")).graph
    required = frozenset(str(value.name) for value in graph.inputs if str(value.name) not in graph.initializers)
    inputs, outputs = ({str(value.name): _port(value) for value in values} for values in (graph.inputs, graph.outputs))
    if not outputs:
        raise ValueError("the file holds no graph with outputs")
    return GraphPorts(inputs, outputs, required)


def _port(value: Any) -> GraphPort:
    shape = None if value.shape is None else tuple(_dim(dim) for dim in value.shape)
    return GraphPort(str(value.name), _dtype(value.dtype), shape)


def _dim(dim: Any) -> int | str | None:
    return dim if isinstance(dim, int) else getattr(dim, "value", None)


_NAMES = {
    "FLOAT": "float32", "DOUBLE": "float64", "FLOAT8E4M3FN": "float8_e4m3fn", "FLOAT8E5M2": "float8_e5m2",
}  # fmt: skip


def _dtype(dtype: Any) -> str:
    return "unknown" if dtype is None else _NAMES.get(dtype.name, dtype.name.lower())

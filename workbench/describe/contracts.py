"""Tensor contracts: written by hand, or read off the port of a graph."""

from __future__ import annotations

import onnx_ir as ir

from workbench.analysis.graph_facts import Port
from workbench.describe.written import written
from workbench.errors import UnsupportedError
from workbench.metadata.document.tensor import RequestAligned, TensorContract
from workbench.metadata.dtypes import NAMEABLE
from workbench.types import dtype_word


def contract(dtype: str, *shape: int | str, batch: int | None = 0, optional: bool = False) -> TensorContract:
    """A contract of this shape; ``batch`` is the axis with one entry per request, None where there is none.

    Raises:
        ArgumentError: a size is below 0, or neither a number nor a name.
    """
    words: dict[str, object] = {"dtype": dtype, "rank": len(shape), "shape": shape}
    if optional:
        words["optional"] = True
    if batch is not None:
        words["batch_layout"] = RequestAligned(kind="request_aligned", axis=batch)
    with written(f"The contract {dtype} {list(shape)}"):
        return TensorContract(**words)  # type: ignore[arg-type]  # only what was said, so that a default is not


def contract_of(port: Port, *, batch: int | None = 0) -> TensorContract:
    """The contract of a graph's port, in the graph's own symbols; a size without a name is called after its axis.

    Raises:
        UnsupportedError: the port's dtype has no name in a workflow.
    """
    shape = [f"{port.name}.{axis}" if size is None else size for axis, size in enumerate(port.dims)]
    return contract(word_of(port.name, port.dtype), *shape, batch=batch if shape else None)


def word_of(port: str, dtype: ir.DataType | None) -> str:
    """The name of a dtype in a workflow.

    Raises:
        UnsupportedError: it has none, or the graph does not say its dtype.
    """
    word = dtype_word(dtype) if dtype is not None else "unknown"
    if word not in NAMEABLE:
        raise UnsupportedError(
            f"The port {port!r} has the dtype {word}, which a workflow cannot name. Known: "
            f"{', '.join(sorted(NAMEABLE))}."
        )
    return word


__all__ = ["contract", "contract_of", "word_of"]

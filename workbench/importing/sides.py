"""Keys where the graph has keys: names that lead to the wrong half of a cache give wrong answers and no error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from workbench.analysis.graph_facts import GQA
from workbench.errors import ConfigError
from workbench.rules.graph import use_of
from workbench.types import OpId

if TYPE_CHECKING:
    import onnx_ir as ir

_READ: Mapping[OpId, tuple[int, int]] = {GQA: (3, 4), OpId("Attention"): (4, 5)}
"""Which inputs of an operator are the past keys and values. Source: the operators' schemas (onnx, onnxruntime)."""
_WRITTEN = (1, 2)
"""Which outputs of them are the present ones."""


def check_sides(model: ir.Model, names: Mapping[str, str]) -> None:
    """Hold every port of the cache against the operator that reads or writes it; others say nothing.

    Raises:
        ConfigError: the config calls keys what the graph uses as values, or the other way round.
    """
    wanted = {own: known.rsplit(".", 1)[1] for known, own in names.items() if known.endswith((".key", ".value"))}
    for port, side, node in (*_reads(model), *_writes(model)):
        if port in wanted and wanted[port] != side:
            raise ConfigError(
                f"The config calls {port!r} a {wanted[port]} of the cache, and the graph uses it as a {side} ({node}). "
                "Exchange the names of keys and values in model.decoder.inputs and outputs."
            )


def _reads(model: ir.Model) -> Iterator[tuple[str, str, str]]:
    for value in model.graph.inputs:
        for use in value.uses():
            places = _READ.get(use_of(use.node), ())
            if use.idx in places:
                yield value.name or "", _side(places.index(use.idx)), use.node.name or use.node.op_type


def _writes(model: ir.Model) -> Iterator[tuple[str, str, str]]:
    for value in model.graph.outputs:
        node = value.producer()
        if node is not None and use_of(node) in _READ and value.index() in _WRITTEN:
            yield value.name or "", _side(_WRITTEN.index(value.index() or 0)), node.name or node.op_type


def _side(place: int) -> str:
    return ("key", "value")[place]

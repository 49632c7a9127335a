"""A graph with a cache of fixed length, as one that is told where to write: the ports that a scatter cache needs.

The graph as built finds the place in its mask (slots ``T - S`` and on). With the ports, every row has a place of its
own; the mask and the positions follow from them, so rows of different lengths decode side by side.
"""

from __future__ import annotations

import onnx_ir as ir

from workbench.analysis.graph_facts import graph_facts
from workbench.errors import UnsupportedError
from workbench.functions import FIXED_CACHE_ATTENTION, INDEXED, TOKENS_IN_CACHE, ensure
from workbench.passes.cleanup import in_order
from workbench.rules.graph import use_of
from workbench.types import OpId

WRITE_INDICES, KV_LENGTHS = "write_indices", "kv_lengths"
_SCATTER = OpId("TensorScatter")
_TOLD = {FIXED_CACHE_ATTENTION: 6, _SCATTER: 2}
"""Which input says where an operator writes."""
_FOLLOWS = ("attention_mask", "position_ids")


def can_be_told(model: ir.Model) -> bool:
    """Whether every cache of the graph is written by an operator that can be told where."""
    facts = graph_facts(model)
    caches = [ops for name, ops in facts.readers.items() if ".key" in name or ".value" in name]
    return bool(caches) and all(ops and all(op.use in _TOLD for op in ops) for ops in caches)


def with_cache_ports(model: ir.Model) -> ir.Model:
    """A clone with ``write_indices [B], kv_lengths [B]`` (int64) in place of ``attention_mask`` and ``position_ids``.

    Raises:
        UnsupportedError: an operator of the graph finds the place by itself, or the mask is not int64.
    """
    if not can_be_told(model):
        raise UnsupportedError(
            "The attention of this graph finds its place in the cache by itself and cannot be told. Build it for the "
            "execution provider 'default' with cache_length."
        )
    with in_order(model):
        clone = model.clone()
    told = _ports(clone)
    for node in clone.graph:
        if (place := _TOLD.get(use_of(node))) is not None:
            node.overload = INDEXED if use_of(node) == FIXED_CACHE_ATTENTION else ""
            node.resize_inputs(place + 1)
            node.replace_input_with(place, told[0])
    _lead(clone, told)
    clone.functions.pop((FIXED_CACHE_ATTENTION.domain, FIXED_CACHE_ATTENTION.op_type, ""), None)
    if any(use_of(node) == FIXED_CACHE_ATTENTION for node in clone.graph):
        ensure(clone, FIXED_CACHE_ATTENTION, INDEXED)
    ensure(clone, TOKENS_IN_CACHE)
    return clone


def _ports(model: ir.Model) -> tuple[ir.Value, ir.Value]:
    """New inputs, one number a row."""
    ids = next(value for value in model.graph.inputs if value.name == "input_ids")
    rows = ids.shape[0] if ids.shape is not None else None
    made = tuple(
        ir.Value(name=name, type=ir.TensorType(ir.DataType.INT64), shape=ir.Shape([rows]))
        for name in (WRITE_INDICES, KV_LENGTHS)
    )
    place = list(model.graph.inputs).index(ids) + 1
    model.graph.inputs[place:place] = made
    return made[0], made[1]


def _lead(model: ir.Model, told: tuple[ir.Value, ir.Value]) -> None:
    """Mask and positions from the new inputs, in place of those that were fed."""
    by_name = {value.name: value for value in model.graph.inputs}
    node = ir.node(
        TOKENS_IN_CACHE.op_type, [by_name["input_ids"], *told], domain=TOKENS_IN_CACHE.domain, num_outputs=2,
        name="cache/TokensInCache",
    )  # fmt: skip
    for output, name in zip(node.outputs, _FOLLOWS, strict=True):
        old = by_name.get(name)
        output.name = name
        if old is None:
            continue
        if old.dtype != ir.DataType.INT64:
            raise UnsupportedError(f"{name} is {old.dtype}, and what leads to it is int64. Build it for 'default'.")
        output.type, output.shape = old.type, old.shape
        old.replace_all_uses_with(output)
        model.graph.inputs.remove(old)
        old.name = f"{name}.fed"
    model.graph.insert_before(model.graph[0], node)


__all__ = ["KV_LENGTHS", "WRITE_INDICES", "can_be_told", "with_cache_ports"]

"""What a graph says of itself to a client: its ends, the operators that hold its cache, and their windows.

Read from names, types, shapes and attributes alone; no weight is touched.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping

import onnx_ir as ir

from workbench.functions import FIXED_CACHE_ATTENTION
from workbench.rules.features import uses
from workbench.rules.graph import attr, last_dim, use_of, value_in
from workbench.types import MS_DOMAIN, ROTARY_OFFSET_KEY, OpId

GQA = OpId("GroupQueryAttention", MS_DOMAIN)
SHARES = (GQA, OpId("PagedAttention", MS_DOMAIN), OpId("TensorScatter"), FIXED_CACHE_ATTENTION)
"""Operators that write new keys and values into the buffer of the old ones."""
_TABLES = {GQA: 7, OpId("RotaryEmbedding", MS_DOMAIN): 2, OpId("RotaryEmbedding"): 1}
"""Which input of an operator is its table of cosines, ``[positions, width]``."""
_LOOKS = {(OpId("CastLike"), 1), (OpId("Shape"), 0), (OpId("Size"), 0)}
Dims = tuple[int | str | None, ...]


@dataclasses.dataclass(frozen=True)
class Port:
    """An input or output of a graph."""

    name: str
    dtype: ir.DataType | None
    dims: Dims

    def size(self, axis: int) -> int | None:
        """The fixed size of an axis, or None."""
        found = self.dims[axis] if -len(self.dims) <= axis < len(self.dims) else None
        return found if isinstance(found, int) else None


@dataclasses.dataclass(frozen=True)
class CacheOp:
    """A node that reads a layer's cached keys or values."""

    node: str
    use: OpId
    features: frozenset[str]
    window: int | None
    """Tokens of its sliding window; None where it has none, or where only its mask could tell."""
    bounded: bool
    """Whether it takes a cache that holds the window alone (``sliding_window_cache``)."""
    kv_heads: int | None
    head_size: int | None


@dataclasses.dataclass(frozen=True, eq=False)
class GraphFacts:
    """The facts of one decoder graph."""

    inputs: Mapping[str, Port]
    outputs: Mapping[str, Port]
    readers: Mapping[str, tuple[CacheOp, ...]]
    """By graph input: the nodes that read it, one entry a node."""
    tables: tuple[tuple[str, int], ...]
    """RoPE tables that are constants of the graph: name and how many positions each holds."""
    rotary_offset: int | None = None
    """The row at which the second of two RoPE tables in one begins; None where attentions have one table each."""

    def layers(self, template: str) -> Mapping[int, str]:
        """Inputs or outputs whose name fits a template such as ``past_key_values.%d.key``, by layer."""
        return {layer: name for name in (*self.inputs, *self.outputs) if (layer := _layer(name, template)) is not None}

    def cache_ops(self, template: str) -> Mapping[int, tuple[CacheOp, ...]]:
        """Readers of the cache by layer."""
        return {layer: self.readers.get(name, ()) for layer, name in sorted(self.layers(template).items())}

    def capacity(self, template: str) -> int | None:
        """The fixed length of the cache, where it has one."""
        found = [self.inputs[name].size(2) for name in self.layers(template).values() if name in self.inputs]
        return next((length for length in found if length is not None), None)

    def shares_buffer(self, *templates: str) -> bool:
        """Whether every layer's cache may be one buffer, before and after a step."""
        ops = [op for template in templates for found in self.cache_ops(template).values() for op in found or (None,)]
        return bool(ops) and all(op is not None and op.use in SHARES for op in ops)


@functools.lru_cache(maxsize=64)
def _pattern(template: str) -> re.Pattern[str] | None:
    before, found, after = template.partition("%d")
    return re.compile(f"{re.escape(before)}([0-9]{{1,6}}){re.escape(after)}") if found else None


def _layer(name: str, template: str) -> int | None:
    pattern = _pattern(template)
    found = pattern.fullmatch(name) if pattern is not None else None
    return int(found[1]) if found else None


def graph_facts(model: ir.Model) -> GraphFacts:
    """Read them off a graph."""
    graph = model.graph
    return GraphFacts(
        inputs={value.name or "": _port(value) for value in graph.inputs},
        outputs={value.name or "": _port(value) for value in graph.outputs},
        readers={value.name or "": tuple(_cache_op(node) for node in _consumers(value)) for value in graph.inputs},
        tables=tuple(dict.fromkeys(_tables(graph))),
        rotary_offset=next(_offsets(graph), None),
    )


def _offsets(graph: ir.Graph) -> Iterator[int]:
    found = (node.metadata_props.get(ROTARY_OFFSET_KEY, "") for node in graph)
    return (int(text) for text in found if text.isdecimal())


def _port(value: ir.Value) -> Port:
    dims = () if value.shape is None else tuple(map(_size, value.shape))
    return Port(value.name or "", value.dtype, dims)


def _size(dim: int | ir.SymbolicDim) -> int | str | None:
    """A number or a name; some exporters write -1 or an empty name for an axis without one."""
    if isinstance(dim, int):
        return dim if dim >= 0 else None
    return dim.value or None


def _consumers(value: ir.Value) -> list[ir.Node]:
    """Nodes that read the values; those that look at shape or dtype alone do not."""
    uses = [use for use in value.uses() if (use_of(use.node), use.idx) not in _LOOKS]
    return list(dict.fromkeys(use.node for use in uses))


def _cache_op(node: ir.Node) -> CacheOp:
    use = use_of(node)
    features = frozenset(found.feature for found in uses(node) if found.feature)
    kv_heads = attr(node, "kv_num_heads", 0) or None
    window = attr(node, "local_window_size", -1) if use == GQA else -1
    return CacheOp(
        node=node.name or node.op_type,
        use=use,
        features=features,
        window=window if isinstance(window, int) and window > 0 else None,
        bounded=use == GQA and bool(attr(node, "sliding_window_cache", 0)),
        kv_heads=kv_heads if isinstance(kv_heads, int) else None,
        head_size=_head_size(node, kv_heads) if use == GQA else None,
    )


def _head_size(node: ir.Node, kv_heads: int | None) -> int | None:
    """From the width of the queries, of packed queries, keys and values, or of the cache."""
    heads = attr(node, "num_heads", 0)
    query = node.inputs[0] if node.inputs else None
    width = last_dim(query) if query is not None else None
    if isinstance(width, int) and isinstance(heads, int) and heads and kv_heads:
        count = heads if value_in(node, 1) is not None else heads + 2 * kv_heads
        return width // count if width % count == 0 else None
    return None


def _tables(graph: ir.Graph) -> Iterator[tuple[str, int]]:
    for node in graph:
        index = _TABLES.get(use_of(node))
        table = value_in(node, index) if index is not None else None
        if table is None or not table.is_initializer() or table.shape is None or len(table.shape) != 2:
            continue
        if isinstance(table.shape[0], int):
            yield table.name or "", table.shape[0]

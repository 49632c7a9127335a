"""What changed about a node that both graphs have."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from workbench.analysis.diff.boundary import Boundary
from workbench.analysis.diff.content import attribute_key, attribute_text, dtype_text, names_a_dtype, shape_text
from workbench.analysis.diff.flat import Side, Source
from workbench.analysis.diff.result import Change
from workbench.analysis.diff.uniform import Uniform


def node_changes(boundary: Boundary, whole: Uniform, x: int, y: int) -> tuple[Change, ...]:
    """Everything that differs between two matched nodes, in the order in which one reads a node."""
    a, b = boundary.sides
    old, new = a.nodes[x], b.nodes[y]
    found = [*_operator(a, b, x, y)]
    if old.attributes or new.attributes:
        versions = [side.model.graph.opset_imports.get("", 1) for side in (a, b)]
        found += _attributes(boundary, whole, x, y, versions)
    found += _inputs(boundary, x, y)
    found += _outputs(whole, old, new)
    return tuple(found)


def _operator(a: Side, b: Side, x: int, y: int) -> list[Change]:
    texts = []
    for side, i in ((a, x), (b, y)):
        domain, op_type = side.ops[i]
        overload = side.nodes[i].overload
        texts.append((f"{domain}.{op_type}" if domain else op_type) + (f":{overload}" if overload else ""))
    return [Change("op_type", "operator", texts[0], texts[1])] if texts[0] != texts[1] else []


def _attributes(boundary: Boundary, whole: Uniform, x: int, y: int, versions: list[int]) -> list[Change]:
    a, b = boundary.sides
    old, new = a.nodes[x].attributes, b.nodes[y].attributes
    keys = [labels.attributes[i] for labels, i in zip(boundary.labels, (x, y))]
    if keys[0] == keys[1]:
        return []
    found = []
    for name in dict.fromkeys((*old, *new)):
        pair = [
            keys[n][name] if name in keys[n] else default(*side.ops[i], versions[n], name)
            for n, (side, i) in enumerate(((a, x), (b, y)))
        ]
        if pair[0] == pair[1] or _converted(whole, a.ops[x][1], old.get(name), new.get(name)):
            continue
        texts = [attribute_text(held[name]) if name in held else "" for held in (old, new)]
        found.append(Change("attribute", name, *texts))
    return found


def _converted(whole: Uniform, op_type: str, old: ir.Attr | None, new: ir.Attr | None) -> bool:
    """Whether an attribute only follows the dtype of the whole graph."""
    if old is None or new is None or not whole.dtypes or old.is_ref() or new.is_ref():
        return False
    if old.type == new.type == ir.AttributeType.TENSOR:
        before, after = old.value, new.value
        if before.dtype == after.dtype or whole.dtypes.get(before.dtype) != after.dtype:
            return False
        if isinstance(before, ir.LazyTensor) or isinstance(after, ir.LazyTensor) or before.size > 4096:
            return False
        return bool(np.array_equal(before.numpy().astype(after.dtype.numpy()), after.numpy()))
    if not names_a_dtype(op_type, old.name) or old.type != ir.AttributeType.INT:
        return False
    try:
        return bool(whole.dtypes.get(ir.DataType(old.value)) == ir.DataType(new.value))
    except ValueError:
        return False


@functools.lru_cache(maxsize=4096)
def default(domain: str, op_type: str, version: int, name: str) -> Any:
    """The key of an attribute's default in the standard; None where there is none."""
    if domain:
        return None
    try:
        schema = onnx.defs.get_schema(op_type, version, "")
    except onnx.defs.SchemaError:
        return None
    known = schema.attributes.get(name)
    if known is None or not known.default_value.name:
        return None
    return attribute_key(ir.serde.deserialize_attribute(known.default_value))


def _inputs(boundary: Boundary, x: int, y: int) -> list[Change]:
    a, b = boundary.sides
    mine, theirs = a.sources[x], b.sources[y]
    found = []
    for position in range(max(len(mine), len(theirs))):
        sa = mine[position] if position < len(mine) else None
        sb = theirs[position] if position < len(theirs) else None
        if not boundary.explained(sa, sb):
            texts = _input_text(a, x, position, sa), _input_text(b, y, position, sb)
            found.append(Change("input", f"input {position}", *texts))
    return found


def _input_text(side: Side, index: int, position: int, source: Source | None) -> str:
    """The value's name, and the node that makes it."""
    if source is None:
        return ""
    value = side.nodes[index].inputs[position]
    return value_text(side, value.name if value is not None else "", source)


def value_text(side: Side, name: str | None, source: Source) -> str:
    """A value by its name; by its maker where it has none."""
    if name:
        return name
    return f"{side.ops[source[1]][1]}:{source[2]}" if source[0] == "n" else "unnamed"


def _outputs(whole: Uniform, old: ir.Node, new: ir.Node) -> list[Change]:
    found = []
    for number, (a, b) in enumerate(zip(old.outputs, new.outputs)):
        where = f"output {number}" if len(old.outputs) > 1 else "output"
        if not whole.same_dtype(a.dtype, b.dtype):
            found.append(Change("dtype", where, dtype_text(a.dtype), dtype_text(b.dtype)))
        if not whole.same_shape(a.shape, b.shape):
            found.append(Change("shape", where, shape_text(a.shape), shape_text(b.shape)))
        if type(a.type) is not type(b.type) and a.type is not None and b.type is not None:
            kinds = [type(v.type).__name__.removesuffix("Type").lower() for v in (a, b)]
            found.append(Change("dtype", where, *kinds))
    return found

"""Planted differences: each changes a graph in one place and says what a diff must find, and nothing else."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable

import numpy as np
import onnx_ir as ir


@dataclasses.dataclass(frozen=True)
class Planted:
    """What was done: ``status`` of the node's entry (empty for a change of the graph), and the kind of the change."""

    kind: str
    node: str
    status: str
    what: str


Used = set[int]
_FLOATS = (ir.DataType.FLOAT, ir.DataType.FLOAT16)


def _free(model: ir.Model, used: Used, rng: random.Random, wanted: Callable[[ir.Node], bool]) -> ir.Node | None:
    """A node of the main graph, away from those that another plant touched."""
    nodes = [n for n in model.graph if id(n) not in used and wanted(n)]
    if not nodes:
        return None
    node = rng.choice(nodes)
    around = {node, *(r for o in node.outputs for r, _ in o.uses())}
    around |= {v.producer() for v in node.inputs if v is not None and v.producer() is not None}
    used.update(id(one) for one in around)
    return node


def attribute(model: ir.Model, used: Used, rng: random.Random) -> Planted | None:
    """An attribute of a number is another number."""
    node = _free(model, used, rng, lambda n: any(a.type == ir.AttributeType.FLOAT for a in n.attributes.values()))
    if node is None:
        return None
    name = next(name for name, a in node.attributes.items() if a.type == ir.AttributeType.FLOAT)
    node.attributes[name] = ir.AttrFloat32(name, node.attributes[name].as_float() + 0.5)
    return Planted("attribute", node.name or "", "changed", "attribute")


def dtype(model: ir.Model, used: Used, rng: random.Random) -> Planted | None:
    """A node's output has another dtype."""
    node = _free(model, used, rng, lambda n: n.outputs[0].dtype in _FLOATS and not n.outputs[0].is_graph_output())
    if node is None:
        return None
    node.outputs[0].type = ir.TensorType(ir.DataType.DOUBLE)  # types are shared by copies of a graph
    return Planted("dtype", node.name or "", "changed", "dtype")


def rewire(model: ir.Model, used: Used, rng: random.Random) -> Planted | None:
    """A node reads an earlier value of the same type instead."""
    order = {node: i for i, node in enumerate(model.graph)}

    def others(node: ir.Node) -> list[ir.Value]:
        value = node.inputs[0] if node.inputs else None
        if value is None or value.producer() is None or len(value.uses()) < 2:
            return []
        made = [m for m in order if order[m] < order[node] and id(m) not in used and m is not value.producer()]
        return [m.outputs[0] for m in made if m.outputs[0].type == value.type and m.outputs[0].shape == value.shape]

    choices = {node: others(node) for node in order}
    node = _free(model, used, rng, lambda n: bool(choices[n]))
    if node is None:
        return None
    node.replace_input_with(0, rng.choice(choices[node]))
    return Planted("rewire", node.name or "", "changed", "input")


def insert(model: ir.Model, used: Used, rng: random.Random) -> Planted | None:
    """A node stands between a value and all its readers."""
    node = _free(model, used, rng, lambda n: n.outputs[0].dtype in _FLOATS and not n.outputs[0].is_graph_output())
    if node is None:
        return None
    old = node.outputs[0]
    new = ir.node("Erf", [old], name=f"planted_{len(used)}")
    new.outputs[0].type, new.outputs[0].shape, new.outputs[0].name = old.type, old.shape, f"planted_{len(used)}_out"
    readers = [(reader, index) for reader, index in old.uses() if reader is not new]
    model.graph.insert_after(node, new)
    for reader, index in readers:
        reader.replace_input_with(index, new.outputs[0])
    used.add(id(new))
    return Planted("insert", new.name or "", "added", "")


def delete(model: ir.Model, used: Used, rng: random.Random) -> Planted | None:
    """A node is gone, and its readers read what it read."""

    def passes(node: ir.Node) -> bool:
        made = [v for v in node.inputs if v is not None and v.producer() is not None]
        out = node.outputs[0]
        same = bool(made) and made[0].type == out.type and made[0].shape == out.shape and len(made) == 1
        return same and len(node.outputs) == 1 and not out.is_graph_output() and bool(out.uses())

    node = _free(model, used, rng, passes)
    if node is None:
        return None
    source = next(v for v in node.inputs if v is not None and v.producer() is not None)
    ir.convenience.replace_all_uses_with(node.outputs[0], source)
    model.graph.remove(node, safe=True)
    return Planted("delete", node.name or "", "removed", "")


def initializer(model: ir.Model, used: Used, rng: random.Random) -> Planted | None:
    """A weight holds other values."""
    weights = [v for v in model.graph.initializers.values() if id(v) not in used and v.const_value is not None]
    weights = [v for v in weights if v.dtype == ir.DataType.FLOAT and v.uses() and v.const_value.nbytes <= 1 << 16]
    weights = [v for v in weights if not any(id(reader) in used for reader, _ in v.uses())]
    if not weights:
        return None
    value = rng.choice(weights)
    used.update((id(value), *(id(reader) for reader, _ in value.uses())))
    array = np.array(value.const_value.numpy(), copy=True)
    array.reshape(-1)[rng.randrange(array.size)] += 1
    value.const_value = ir.Tensor(array, name=value.name)
    return Planted("initializer", value.name or "", "", "initializer")


KINDS: tuple[Callable[[ir.Model, Used, random.Random], Planted | None], ...] = (
    attribute, dtype, rewire, insert, delete, initializer,
)  # fmt: skip

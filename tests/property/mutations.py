"""Small changes to a graph that a rule may trip over: another reader, another order, something in between."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import onnx_ir as ir

from tests.property.blocks import PADDED
from workbench.rules.graph import new
from workbench.types import OpId

Mutation = Callable[[ir.Model, random.Random], None]


def _node(model: ir.Model, rng: random.Random) -> ir.Node:
    return rng.choice(list(model.graph))


def read_elsewhere(model: ir.Model, rng: random.Random) -> None:
    """Somebody else reads a value: it becomes an output."""
    value = rng.choice([v for v in _node(model, rng).outputs if v.name])
    if not value.is_graph_output() and value.dtype is not None and not _of_padding(value):
        model.graph.outputs.append(value)


def _of_padding(value: ir.Value, steps: int = 3) -> bool:
    """Whether it is soon to be dropped for tokens of padding: what it says of these, nobody may read."""
    if not steps:
        return False
    return any(
        PADDED in (use.node.name or "") or any(_of_padding(out, steps - 1) for out in use.node.outputs)
        for use in value.uses()
    )


def swap_inputs(model: ir.Model, rng: random.Random) -> None:
    nodes = [n for n in model.graph if n.op_type in ("Add", "Mul") and len(n.inputs) == 2]
    if nodes:
        node = rng.choice(nodes)
        one, two = node.inputs
        node.replace_input_with(0, two)
        node.replace_input_with(1, one)


def between(model: ir.Model, rng: random.Random) -> None:
    """A node on the way from one to another: nothing, or something that changes the numbers."""
    node = _node(model, rng)
    places = [i for i, v in enumerate(node.inputs) if v is not None and v.dtype == ir.DataType.FLOAT]
    if not places:
        return
    index = rng.choice(places)
    made = new(
        OpId(rng.choice(["Identity", "Neg", "Identity", "Relu"])), [node.inputs[index]], like=[node.inputs[index]]
    )
    made.name = f"between_{len(model.graph)}"
    made.outputs[0].name = f"{made.name}:0"
    model.graph.insert_before(node, [made])
    node.replace_input_with(index, made.outputs[0])


def other_number(model: ir.Model, rng: random.Random) -> None:
    """A scalar that a formula hangs on is a little off, or an attribute is another."""
    scalars = [v for v in model.graph.initializers.values() if v.shape is not None and len(v.shape) == 0]
    if scalars:
        value = rng.choice(scalars)
        assert value.const_value is not None
        value.const_value = ir.tensor(np.float32(value.const_value.numpy() * 1.01), name=value.name)
    for node in model.graph:
        if "epsilon" in node.attributes and rng.random() < 0.5:
            node.attributes["epsilon"] = ir.AttrFloat32("epsilon", 0.1)


def weight_as_input(model: ir.Model, rng: random.Random) -> None:
    """A weight that can be overridden when the graph is run."""
    weights = list(model.graph.initializers.values())
    if weights:
        value = rng.choice(weights)
        if not value.is_graph_input():
            model.graph.inputs.append(value)


def forget_shape(model: ir.Model, rng: random.Random) -> None:
    """What exporters leave out: shapes of values in between."""
    for node in model.graph:
        for value in node.outputs:
            if not value.is_graph_output() and rng.random() < 0.5:
                value.shape = None


def shared_weight(model: ir.Model, rng: random.Random) -> None:
    """One weight for two nodes of one kind."""
    nodes = [
        n for n in model.graph if n.op_type == "MatMul" and n.inputs[1] is not None and n.inputs[1].is_initializer()
    ]
    if len(nodes) > 1:
        one, two = rng.sample(nodes, 2)
        if one.inputs[1].shape == two.inputs[1].shape:
            two.replace_input_with(1, one.inputs[1])


def twice(model: ir.Model, rng: random.Random) -> None:
    """The same computation a second time, for another reader."""
    node = _node(model, rng)
    if len(node.outputs) != 1 or not node.outputs[0].uses() or node.domain == "ep_workbench":
        return
    attributes = {name: a.value for name, a in node.attributes.items()}
    made = new(OpId(node.op_type, node.domain), list(node.inputs), like=[node.outputs[0]], **attributes)
    made.name = f"twice_{len(model.graph)}"
    made.outputs[0].name = f"{made.name}:0"
    model.graph.insert_after(node, [made])
    use = rng.choice(list(node.outputs[0].uses()))
    if use.node is not made:
        use.node.replace_input_with(use.idx, made.outputs[0])


MUTATIONS: tuple[Mutation, ...] = (
    read_elsewhere, swap_inputs, between, other_number, weight_as_input, forget_shape, shared_weight, twice,
)  # fmt: skip


def mutate(model: ir.Model, rng: random.Random) -> list[str]:
    """None to two changes; their names."""
    chosen = [rng.choice(MUTATIONS) for _ in range(rng.choice([0, 1, 1, 2]))]
    for mutation in chosen:
        mutation(model, rng)
    return [mutation.__name__ for mutation in chosen]

"""The same graph in another dress, and graphs with one planted difference."""

from __future__ import annotations

import random
from collections.abc import Iterator

import onnx_ir as ir

Nodes = ir.Graph | ir.Function


def all_graphs(model: ir.Model) -> Iterator[Nodes]:
    """Main graph, bodies of control flow, functions and what is inside those."""
    yield from model.graphs()
    for function in model.functions.values():
        yield function
        yield from function.subgraphs()


def clone(model: ir.Model) -> ir.Model:
    """A copy that shares its tensors."""
    return model.clone()


def renamed(model: ir.Model, seed: int = 0, *, metadata: bool = False) -> ir.Model:
    """Every node, value and initializer has a name of no meaning; inputs and outputs of the model keep theirs.

    Without ``metadata`` nothing that a builder wrote into nodes is left.
    """
    made, rng = clone(model), random.Random(seed)
    kept = {id(v) for v in (*made.graph.inputs, *made.graph.outputs)}
    numbers = iter(rng.sample(range(10**7), 10**5))
    for graph in list(all_graphs(made)):
        inner = [] if graph is made.graph else [v for v in graph.inputs if v is not None]
        weights = list(graph.initializers.values()) if isinstance(graph, ir.Graph) else []
        for value in (*inner, *weights, *(out for node in graph for out in node.outputs)):
            if id(value) not in kept and (value.name or value.uses()):
                value.name = f"v{next(numbers)}"
        for node in graph:
            node.name = f"x{next(numbers)}"
            if not metadata:
                node.metadata_props.clear()
    return made


def shuffled(model: ir.Model, seed: int = 0) -> ir.Model:
    """Another order of the nodes that is legal too, in every graph."""
    made, rng = clone(model), random.Random(seed)
    for graph in list(all_graphs(made)):
        order = _legal(graph, rng)
        for node in order:
            graph.append(node)  # a node that is there already moves to the end
    return made


def _legal(graph: Nodes, rng: random.Random) -> list[ir.Node]:
    nodes = list(graph)
    here = set(nodes)
    waits = {node: {maker for maker in _makers(node) if maker in here} for node in nodes}
    order: list[ir.Node] = []
    ready = [node for node in nodes if not waits[node]]
    readers: dict[ir.Node, list[ir.Node]] = {}
    for node, makers in waits.items():
        for maker in makers:
            readers.setdefault(maker, []).append(node)
    while ready:
        node = ready.pop(rng.randrange(len(ready)))
        order.append(node)
        for reader in readers.get(node, ()):
            waits[reader].discard(node)
            if not waits[reader]:
                ready.append(reader)
    return order


def _makers(node: ir.Node) -> Iterator[ir.Node]:
    inner = [n for a in node.attributes.values() if a.type == ir.AttributeType.GRAPH for n in a.as_graph().all_nodes()]
    for one in (node, *inner):
        for value in one.inputs:
            producer = value.producer() if value is not None else None
            if producer is not None:
                yield producer

"""A model as one list of nodes: the main graph, the bodies of control flow, the bodies of functions.

Everything that matching and comparing ask for stands in lists by a node's index, so that no step walks the graph again.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from typing import Any

import onnx_ir as ir

from workbench.analysis.scopes import scope_of
from workbench.errors import ModelFileError, some
from workbench.passes.wellformed import check_values
from workbench.types import REPLACES_KEY, RULES_KEY

FOREIGN_RULE = "pkg.onnxscript.rewriter.rule_name"

Source = tuple[Any, ...]
"""Where a value comes from: ``("n", node, output)``, ``("w", initializer)``, ``("i", name)`` an input of the main
graph, ``("f", function, position)`` of a function, ``("b", node, attribute, position)`` of a body of control flow."""

Reading = tuple[int, int, int]
"""A reader's index, the position of its input, the number of the output that it reads there."""

BODY = 1 << 20
"""Positions from here on are no inputs: a node with bodies depends on what those give back."""


@dataclasses.dataclass(slots=True)
class Side:
    """One of the two models, flat."""

    model: ir.Model
    nodes: list[ir.Node] = dataclasses.field(default_factory=list)
    places: list[str] = dataclasses.field(default_factory=list)
    """The graph that each node stands in, as :class:`NodeInfo` says it."""
    homes: list[tuple[Any, ...]] = dataclasses.field(default_factory=list)
    """The same without names of nodes: what may be matched with what."""
    owners: list[int] = dataclasses.field(default_factory=list)
    """The node whose body each stands in; -1 for those of the main graph and of functions."""
    ops: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    scopes: list[str] = dataclasses.field(default_factory=list)
    sources: list[list[Source | None]] = dataclasses.field(default_factory=list)
    inner: list[list[Source]] = dataclasses.field(default_factory=list)
    readers: list[list[Reading]] = dataclasses.field(default_factory=list)
    gives: list[list[tuple[Any, ...]]] = dataclasses.field(default_factory=list)
    """Outputs of the main graph or of a function that a node makes: ``("", name, number)``, ``(key, k, number)``."""
    initializers: list[ir.Value] = dataclasses.field(default_factory=list)
    users: list[list[tuple[int, int]]] = dataclasses.field(default_factory=list)
    """Per initializer: the nodes that read it, and at which input."""
    order: list[int] = dataclasses.field(default_factory=list)
    """All nodes, each after those whose values it needs."""
    passed: list[tuple[str, Source]] = dataclasses.field(default_factory=list)
    """Outputs of the main graph by name and where each comes from."""

    def __len__(self) -> int:
        return len(self.nodes)

    def rules(self, index: int) -> tuple[str, ...]:
        """The rules that made a node: ours, or the name that onnxscript's rewriter left."""
        props = self.nodes[index].metadata_props
        own = props.get(RULES_KEY)
        if own:
            return tuple(own.split())
        foreign = props.get(FOREIGN_RULE)
        return tuple(name for name in re.split(r"[,\s]+", foreign) if name) if foreign else ()

    def replaces(self, index: int) -> tuple[str, ...]:
        """Names of the generic graph's nodes that a rewrite removed for this one."""
        return tuple(self.nodes[index].metadata_props.get(REPLACES_KEY, "").split())


def flatten(model: ir.Model) -> Side:
    """The lists of a model.

    Raises:
        ModelFileError: the graph has a cycle, a reader of nothing, or a damaged name.
    """
    check_values(model)
    side = Side(model)
    known: dict[ir.Value, Source] = {}
    _enter(side, known, model.graph, "", ("",))
    for value in model.graph.inputs:
        known.setdefault(value, ("i", value.name or ""))
    for key, function in model.functions.items():
        name = f"{key[0]}.{key[1]}" + (f":{key[2]}" if key[2] else "")
        for position, value in enumerate(function.inputs):
            known[value] = ("f", key, position)
        _enter(side, known, function, f"function {name}", ("function", *key))
    _connect(side, known)
    side.order = _topological(side)
    return side


def bodies(node: ir.Node) -> Iterator[tuple[str, ir.Graph]]:
    """The graphs inside a node, by attribute (numbered where one attribute holds several)."""
    for name, attribute in node.attributes.items():
        if attribute.is_ref():
            continue
        if attribute.type == ir.AttributeType.GRAPH:
            yield name, attribute.as_graph()
        elif attribute.type == ir.AttributeType.GRAPHS:
            yield from ((f"{name}[{i}]", graph) for i, graph in enumerate(attribute.as_graphs()))


def _enter(
    side: Side, known: dict[ir.Value, Source], graph: ir.Graph | ir.Function, place: str, home: tuple[Any, ...]
) -> None:
    """Nodes of a graph, then those of the graphs inside it; no recursion, so that no depth is too deep."""
    waiting: list[tuple[Any, str, tuple[Any, ...], int]] = [(graph, place, home, -1)]
    for current, where, key, owner in waiting:
        if isinstance(current, ir.Graph):
            _weights(side, known, current.initializers.values())
        for node in current:
            index = len(side.nodes)
            _add(side, known, node, where, key)
            side.owners.append(owner)
            for name, body in bodies(node) if node.attributes else ():
                for position, value in enumerate(body.inputs):
                    known[value] = ("b", index, name, position)
                inside = f"{node.name or node.op_type} / {name}"
                waiting.append((body, f"{where} / {inside}" if where else inside, (*key, name), index))


def _weights(side: Side, known: dict[ir.Value, Source], values: Iterable[ir.Value]) -> None:
    for value in values:
        known[value] = ("w", len(side.initializers))
        side.initializers.append(value)
        side.users.append([])


def _add(side: Side, known: dict[ir.Value, Source], node: ir.Node, place: str, home: tuple[Any, ...]) -> None:
    index = len(side.nodes)
    side.nodes.append(node)
    side.places.append(place)
    side.homes.append(home)
    side.ops.append(("" if node.domain == "ai.onnx" else node.domain, node.op_type))
    side.scopes.append(scope_of(node))
    for number, value in enumerate(node.outputs):
        known[value] = ("n", index, number)


def _connect(side: Side, known: dict[ir.Value, Source]) -> None:
    side.readers = [[] for _ in side.nodes]
    side.gives = [[] for _ in side.nodes]
    for index, node in enumerate(side.nodes):
        found = [None if value is None else known.get(value) for value in node.inputs]
        side.sources.append(found)
        inner = [known[v] for _, body in bodies(node) for v in body.outputs if v in known] if node.attributes else []
        side.inner.append(inner)
        for position, source in enumerate(found):
            _note(side, source, index, position)
        for position, source in enumerate(inner):
            _note(side, source, index, BODY + position)
    for value in side.model.graph.outputs:
        source = known[value]
        side.passed.append((value.name or "", source))
        if source[0] == "n":
            side.gives[source[1]].append(("", value.name or "", source[2]))
    for key, function in side.model.functions.items():
        for position, value in enumerate(function.outputs):
            source = known.get(value, ("", 0, 0))
            if source[0] == "n":
                side.gives[source[1]].append((key, position, source[2]))


def _note(side: Side, source: Source | None, reader: int, position: int) -> None:
    if source is None:
        return
    if source[0] == "n":
        side.readers[source[1]].append((reader, position, source[2]))
    elif source[0] == "w":
        side.users[source[1]].append((reader, position))


def _needs(side: Side, index: int) -> Iterator[int]:
    for source in (*side.sources[index], *side.inner[index]):
        if source is not None and source[0] == "n":
            yield source[1]


def _topological(side: Side) -> list[int]:
    """Kahn's order: what needs nothing first, otherwise as the graph has it."""
    missing = [sum(1 for _ in _needs(side, index)) for index in range(len(side))]
    order = [index for index, count in enumerate(missing) if not count]
    for index in order:
        for reader, _, _ in side.readers[index]:
            missing[reader] -= 1
            if not missing[reader]:
                order.append(reader)
    if len(order) < len(side):
        names = [side.nodes[i].name or side.ops[i][1] for i, count in enumerate(missing) if count]
        raise ModelFileError(
            f"Graph {side.model.graph.name!r} cannot be compared: a cycle holds back {some(names)}, each needing the "
            "result of another. Export the model again."
        )
    return order

"""What is known of a graph between two rules."""

from __future__ import annotations

import onnx_ir as ir

from workbench.rules.census import Census
from workbench.types import MS_DOMAIN, OpId


def graph() -> ir.Graph:
    x = ir.Value(name="x")
    nodes = [ir.node(name, [x], domain=domain) for name, domain in (("Add", ""), ("Gelu", MS_DOMAIN), ("Gelu", ""))]
    return ir.Graph([x], [], nodes=[*nodes, ir.node("Add", [x])], opset_imports={"": 24})


def test_nodes_of_several_operators_stand_in_the_graphs_order() -> None:
    found = graph()
    nodes = list(found)
    census = Census(found)
    assert census.nodes([OpId("Gelu"), OpId("Add")]) == [nodes[0], nodes[2], nodes[3]]
    assert census.nodes([OpId("Gelu", MS_DOMAIN), OpId("Gelu", MS_DOMAIN)]) == [nodes[1]]
    assert census.nodes([OpId("Mul")]) == [] and census.nodes([]) == []
    assert census.counts() == {"Add": 2, "com.microsoft.Gelu": 1, "Gelu": 1}


def test_it_sees_what_has_changed_once_it_is_told() -> None:
    found = graph()
    census = Census(found)
    before = census.counts()
    found.remove(next(iter(found)))
    assert census.counts() == before
    census.changed()
    assert census.counts() == {"com.microsoft.Gelu": 1, "Gelu": 1, "Add": 1}
    assert census.nodes([OpId("Add")]) == [list(found)[-1]]

"""Taking many nodes out of a graph, and many values out of use, in time that does not grow with the graph's outputs.

onnx-ir 1.1.0 reads all outputs of a graph at each ``Graph.remove`` and each replaced output. A decoder has two outputs
for each layer, so one call per node makes a pipeline quadratic in layers.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir


class Discard:
    """Nodes of one graph that nobody reads any more, on their way out.

    A node that was taken belongs to no graph (``node.graph`` is None) and reads nothing, but the graph still lists it
    until ``flush``.
    """

    def __init__(self, graph: ir.Graph) -> None:
        self.graph = graph
        self._taken: list[ir.Node] = []
        self._places: dict[ir.Value, list[int]] = {}
        for index, value in enumerate(list(graph.outputs)):
            self._places.setdefault(value, []).append(index)

    def replace(self, changes: Mapping[ir.Value, ir.Value]) -> None:
        """Let readers and the graph's outputs have other values."""
        for old, new in changes.items():
            self.hand_over(old, new)
            ir.convenience.replace_all_uses_with(old, new)

    def hand_over(self, old: ir.Value, new: ir.Value) -> None:
        """Let the graph's outputs have another value; readers keep theirs."""
        for index in self._places.pop(old, []):
            self.graph.outputs[index] = new
            self._places.setdefault(new, []).append(index)

    def dead(self, node: ir.Node | None) -> list[ir.Node]:
        """Take a node that nobody reads, then every producer that nobody reads any more; what went, in that order."""
        waiting, gone = [node], list[ir.Node]()
        while waiting:
            one = waiting.pop()
            if one is None or one.graph is not self.graph:
                continue
            if any(value.uses() or value.is_graph_output() for value in one.outputs):
                continue
            producers = [value.producer() for value in one.inputs if value is not None]
            self._take(one)
            gone.append(one)
            waiting += reversed(producers)
        return gone

    def _take(self, node: ir.Node) -> None:
        """It must read nothing: otherwise its producers would have a reader for ever."""
        for index in range(len(node.inputs)):
            node.replace_input_with(index, None)
        node.graph = None
        self._taken.append(node)

    def flush(self) -> None:
        """Take them out of the graph's list."""
        for node in self._taken:
            node.graph = self.graph  # onnx-ir removes only what says that it belongs there
        self.graph.remove(self._taken)
        self._taken = []


__all__ = ["Discard"]

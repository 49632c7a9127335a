"""The nodes of a graph by operator, read anew only once something has changed: most rules find nothing to do."""

from __future__ import annotations

import collections
from collections.abc import Iterable

import onnx_ir as ir

from workbench.types import OpId


class Census:
    """What stands in a main graph. Whoever changes the graph says so with ``changed``."""

    def __init__(self, graph: ir.Graph) -> None:
        self._graph = graph
        self._found: dict[tuple[str, str], list[tuple[int, ir.Node]]] | None = None

    def changed(self) -> None:
        """Nodes have come, gone or moved."""
        self._found = None

    def counts(self) -> dict[str, int]:
        """Nodes by operator (``com.microsoft.GroupQueryAttention``), in the order of their first."""
        each = self._each()
        return {f"{domain}.{name}" if domain else name: len(nodes) for (domain, name), nodes in each.items()}

    def nodes(self, operators: Iterable[OpId]) -> list[ir.Node]:
        """The nodes of these operators, in the graph's order."""
        each = self._each()
        wanted = {(use.domain, use.op_type) for use in operators}
        found = [placed for key in wanted for placed in each.get(key, ())]
        return [node for _, node in sorted(found, key=lambda placed: placed[0])]

    def _each(self) -> dict[tuple[str, str], list[tuple[int, ir.Node]]]:
        if self._found is None:
            self._found = collections.defaultdict(list)
            for place, node in enumerate(self._graph):
                self._found[node.domain, node.op_type].append((place, node))
        return self._found


__all__ = ["Census"]

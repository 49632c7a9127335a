"""Whether nodes still stand in order after a rewrite, told from the rewrite alone: sorting reads the whole graph."""

from __future__ import annotations

from collections.abc import Iterable

import onnx_ir as ir

from workbench.rules.base import Rewrite
from workbench.rules.graph import bodies


class Order:
    """The places of a graph's nodes. ``kept`` turns False with the first rewrite that may have put them out of order.

    New nodes stand where their anchor stood. That is in order where they read from before it and whatever reads what
    they replace comes after it. What a body reads of the graph around it is no input of its node: there nobody knows.
    """

    def __init__(self, graph: ir.Graph) -> None:
        self.kept = True
        self._graph = graph
        self._place: dict[ir.Node, int] = {}

    def rewritten(self, anchor: ir.Node, change: Rewrite) -> None:
        """To be told of a rewrite before it is done."""
        if not self.kept:
            return
        if not self._place:  # most rules rewrite nothing
            self._place = {node: index for index, node in enumerate(self._graph)}
        here, new = self._place[anchor], set[ir.Node]()
        for node in change.nodes:
            self.kept &= self._from_before(node.inputs, here, new) and not any(bodies(node))
            new.add(node)
        self.kept &= self._from_before(change.replace.values(), here, new)
        self.kept &= all(self._place.get(use.node, -1) >= here for old in change.replace for use in old.uses())
        self._place |= dict.fromkeys(change.nodes, here)

    def _from_before(self, values: Iterable[ir.Value | None], here: int, new: set[ir.Node]) -> bool:
        makers = (value.producer() for value in values if value is not None)
        return all(maker is None or maker in new or self._place.get(maker, here) < here for maker in makers)


__all__ = ["Order"]

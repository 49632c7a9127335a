"""Where a diagnostic is drawn: on the step, or the lane of state, that it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from workbench.metadata.context import WORKFLOW
from workbench.metadata.diagnostic import Diagnostic, Path
from workbench.metadata.flow.nodes import Nodes
from workbench.metadata.flow.records import FlowNode, Lane, Pin

_GROUPS = ("serving", "state_service", "groups")


class Places:
    """Components are drawn where they are invoked first, outputs where something is emitted into them."""

    def __init__(self, nodes: Nodes, lanes: tuple[Lane, ...]) -> None:
        self.nodes = nodes
        self.cells = {cell: index for index, lane in enumerate(lanes) for cell in lane.cells}
        self.groups = {lane.name: index for index, lane in enumerate(lanes) if lane.is_group}
        self.components = _first(nodes.done, lambda node: node.component)
        self.outputs = _first(nodes.done, lambda node: node.title.removeprefix("emit ") if node.kind == "emit" else "")

    def pins(self, found: Iterable[Diagnostic]) -> tuple[Pin, ...]:
        return tuple(Pin(one, *self._of(one.path)) for one in found)

    def _of(self, path: Path) -> tuple[int, int]:
        if path[: len(WORKFLOW)] != WORKFLOW:
            return 0, -1
        section, name = path[len(WORKFLOW) :][:1], str(path[len(WORKFLOW) + 1]) if len(path) > len(WORKFLOW) + 1 else ""
        if section in (("steps",), ("inputs",)):
            return self.nodes.at(path), -1
        if section in (("components",), ("outputs",)):
            return (self.components if section == ("components",) else self.outputs).get(name, 0), -1
        if section == ("state",):
            return 0, self.cells.get(name, -1)
        if path[len(WORKFLOW) :][:3] == _GROUPS and len(path) > len(WORKFLOW) + 3:
            return 0, self.groups.get(str(path[len(WORKFLOW) + 3]), -1)
        return 0, -1


def _first(nodes: Iterable[FlowNode], name_of: Callable[[FlowNode], str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in nodes:
        found.setdefault(name_of(node), node.index)
    found.pop("", None)
    return found

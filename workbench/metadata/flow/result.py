"""``WorkflowMap``: the frozen result behind the workflow view, and its faces where no kernel runs."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

from workbench.analysis.markup import plural
from workbench.errors import Diagnostic
from workbench.metadata.analyses.tables import Table
from workbench.metadata.diagnostic import Path, show_path
from workbench.metadata.flow.links import FlowLink, links, names
from workbench.metadata.flow.records import AliasTable, FlowNode, Lane, Pin, longest
from workbench.metadata.flow.text import to_text

if TYPE_CHECKING:
    from workbench.widgets.workflow import WorkflowView


@dataclasses.dataclass(frozen=True, repr=False)
class WorkflowMap(Table):
    """A workflow to draw. ``nodes`` stand in the order of the picture, frames before what is in them."""

    nodes: tuple[FlowNode, ...]
    lanes: tuple[Lane, ...]
    aliases: tuple[AliasTable, ...]
    pins: tuple[Pin, ...]
    COLUMNS = ("step", "kind", "depth", "note", "reads", "makes", "state", "diagnostics", "path")

    @cached_property
    def _by_path(self) -> dict[Path, int]:
        return {node.path: node.index for node in self.nodes}  # of a case and its one step, the step

    def at(self, path: Path) -> FlowNode:
        """The node of the longest part of a path that has one; the workflow itself where none has."""
        return self.nodes[longest(path, self._by_path)]

    def diagnostics(self, node: int) -> tuple[Diagnostic, ...]:
        """What is drawn on a node, and not on a lane."""
        return tuple(self._by_node.get(node, ()))

    @cached_property
    def _by_node(self) -> dict[int, list[Diagnostic]]:
        found: dict[int, list[Diagnostic]] = {}
        for pin in self.pins:
            if pin.lane < 0:
                found.setdefault(pin.node, []).append(pin.diagnostic)
        return found

    @cached_property
    def links(self) -> tuple[FlowLink, ...]:
        """Which step gives which values to which other; without what a loop keeps for the steps in it."""
        return links(self)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each node is called where only its name stands: told apart where several have one title."""
        return names(self.nodes)

    @cached_property
    def cells(self) -> frozenset[str]:
        """The names of all state cells."""
        return frozenset(cell for lane in self.lanes for cell in lane.cells)

    @property
    def artifacts(self) -> Mapping[str, str]:
        """The ONNX components that are invoked, and their files."""
        return {node.component: node.artifact for node in self.nodes if node.artifact}

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"step": n.title, "kind": n.kind, "depth": n.depth, "note": n.note, "reads": len(n.reads),
             "makes": len(n.writes), "state": self.marks(n),
             "diagnostics": ", ".join(d.code for d in self.diagnostics(n.index)), "path": show_path(n.path)}
            for n in self.nodes
        ]  # fmt: skip

    def marks(self, node: FlowNode) -> str:
        """What a node does to state, in words."""
        return "; ".join(f"{mark.words} of {self.lanes[mark.lane].name}" for mark in node.marks)

    def to_text(self) -> str:
        """The nested steps as indented lines, then which step gives what to which, state, aliases and
        faults: what the picture shows, in words.
        """
        return to_text(self)

    def to_svg(self) -> str:
        """The picture, with everything unfolded but the rows of ports."""
        return str(self._repr_mimebundle_()["image/svg+xml"])

    def widget(self, **options: Any) -> WorkflowView:
        """The view to walk through: :class:`~workbench.widgets.WorkflowView`."""
        from workbench.widgets.workflow import WorkflowView

        return WorkflowView(self, **options)

    def save_html(self, path: str | os.PathLike[str]) -> FilePath:
        """One self-contained page with the view alive in it.

        Raises:
            SaveError: the folder is missing, full or not writable.
        """
        return self.widget().save_html(path)

    def __repr__(self) -> str:
        errors = sum(pin.diagnostic.severity == "error" for pin in self.pins)
        steps = sum(node.kind in ("invoke", "loop", "branch", "emit", "sequence") for node in self.nodes)
        counts = ((steps, "step"), (len(self.lanes), "lane"), (errors, "error"))
        return f"WorkflowMap({', '.join(plural(count, word) for count, word in counts)})"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        from workbench.viz.workflow import to_svg

        return {"text/plain": self.to_text(), "image/svg+xml": to_svg(self)}

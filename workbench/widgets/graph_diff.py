"""The graph diff to walk through: both graphs in one picture or side by side, folded by module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import traitlets

from workbench.analysis.markup import plural
from workbench.errors import wrong_type
from workbench.viz.graph.details import of_changes
from workbench.viz.graph.fold import unfolded_at_first
from workbench.viz.graph.scene import scene
from workbench.widgets.pack import Column
from workbench.widgets.view import View

TEXTS = {
    "tree_label": "label", "tree_note": "note", "tree_path": "path", "tree_scope": "tree_scope", "op": "op",
    "mark": "mark", "name": "name", "scope": "scope", "value": "value", "groups": "groups", "rules": "rules",
    "details": "details",
}  # fmt: skip
NUMBERS = ("kind", "counts", "head", "parent", "first", "width", "status", "group", "source", "target", "side")


class GraphDiffView(View):
    """A ``GraphDiff`` as a picture that is folded, searched, filtered and read.

    ``node`` and ``scope`` are what is selected: setting one shows it. ``rule`` and ``op`` are filters: everything else
    is dimmed. A node without a name goes by its first output.

    Args:
        diff: the result of ``workbench.analysis.diff.diff``; of ``one_graph`` to look at that graph alone.
        mode: ``"union"``, both graphs in one picture, or ``"panes"``, side by side.
        expanded: paths of the boxes that are unfolded, as ``model.layers.0``; by default what differs, until there are
            about sixty boxes. ``["*"]`` unfolds everything.

    Raises:
        ArgumentError: what is given is no diff.
    """

    module: ClassVar[str] = "graph_diff"
    styles: ClassVar[tuple[str, ...]] = ("graph_diff",)
    label: ClassVar[str] = "Graph diff"

    mode = traitlets.Enum(["union", "panes"], "union").tag(sync=True)
    expanded = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(self, diff: Any, **options: Any) -> None:
        if not hasattr(diff, "entries") or not hasattr(diff, "runs"):
            raise wrong_type("diff", diff, "a GraphDiff", "workbench.diff(a, b) makes one.")
        self._scene = scene(diff)
        options.setdefault("expanded", self._first())
        super().__init__(diff, **options)

    def columns(self, result: Any) -> Mapping[str, Column]:
        """The scene's columns."""
        numbers: dict[str, Column] = {name: getattr(self._scene, name) for name in NUMBERS}
        return numbers | {name: getattr(self._scene, column) for name, column in TEXTS.items()}

    def facts(self, result: Any) -> Mapping[str, Any]:
        """Labels, counts, changes of the graphs themselves, and what is unfolded at first."""
        counts = self._scene.counts[:4].tolist()
        first, second = result.labels
        one = result.is_one
        words = ", ".join(f"{n} {word}" for n, word in zip(counts, ("same", "changed", "removed", "added")))
        title = f"Graph {first}: {plural(sum(counts), 'node')}" if one else f"Graph diff {first} to {second}: {words}"
        return {
            "labels": [first, second], "counts": counts, "one": one, "title": title,
            "changes": of_changes(result.changes), "expanded": self._first(),
        }  # fmt: skip

    def _first(self) -> list[str]:
        return [self._scene.path[i] for i in sorted(unfolded_at_first(self._scene))]


class GraphView(GraphDiffView):
    """One graph to walk through: the same view without a word about differences."""

    label: ClassVar[str] = "Graph"

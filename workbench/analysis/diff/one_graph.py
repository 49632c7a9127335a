"""One graph to look at: what the diff of it with itself holds, without a word about differences."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.analysis.diff.compute import diff
from workbench.analysis.diff.graph_diff import GraphDiff

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["op_type", "domain", "node", "graph", "scope"]


class OneGraph(GraphDiff):
    """A graph as its own diff: the same views and pictures, which say nothing of a second one."""

    is_one: ClassVar[bool] = True

    def to_frame(self) -> pd.DataFrame:
        """A row per node: op_type, domain, node, graph, scope."""
        import pandas as pd

        return pd.DataFrame([[n.op_type, n.domain, n.name, n.graph, n.scope] for n in self.b], columns=COLUMNS)

    def widget(self) -> Any:
        """The graph to walk through."""
        from workbench.widgets.graph_diff import GraphView

        return GraphView(self)

    def save_html(self, path: str | os.PathLike[str]) -> Path:
        """One self-contained page with the view alive in it.

        Raises:
            SaveError: the folder is missing, full or not writable.
        """
        return Path(self.widget().save_html(path, title=self.labels[0]))

    def __repr__(self) -> str:
        return f"OneGraph({self.labels[0]}: {len(self.b)} {'node' if len(self.b) == 1 else 'nodes'})"


def one_graph(model: Any, label: str) -> OneGraph:
    """A graph for the graph view alone.

    Args:
        model: what :func:`workbench.diff` takes for one side.
        label: what to call it.

    Raises:
        ArgumentError, ModelFileError, WorkbenchError: see :func:`workbench.diff`.
    """
    found = diff(model, model, labels=(label, label))
    return OneGraph(**{field.name: getattr(found, field.name) for field in dataclasses.fields(found)})

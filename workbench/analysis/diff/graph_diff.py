"""The result of a diff, with its faces: one line, a table of what is not the same, a page, a document."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from workbench.analysis.diff.result import STATUSES, Change, Edge, Entry, Group, LayerRun, NodeInfo, Status

if TYPE_CHECKING:
    import pandas as pd

    from workbench.analysis.diff.summary import DiffSummary

COLUMNS = ["status", "op_type", "domain", "node", "graph", "scope", "rule", "changes"]


@dataclasses.dataclass(frozen=True)
class GraphDiff:
    """Two graphs as one: an entry for every node that either has, and everything that differs.

    ``a`` and ``b`` are the nodes of both sides: the main graph in its order, then bodies of control flow and of
    functions. ``entries`` stand in one order in which each comes after what it reads. ``changes`` are those of the
    graphs and packages; changes of nodes stand in their entries. ``unread`` names weights that both have and whose
    contents were not compared, ``sampled`` those of which only parts were.
    """

    labels: tuple[str, str]
    a: tuple[NodeInfo, ...]
    b: tuple[NodeInfo, ...]
    entries: tuple[Entry, ...]
    edges: tuple[Edge, ...]
    groups: tuple[Group, ...]
    changes: tuple[Change, ...]
    runs: tuple[LayerRun, ...]
    method: Literal["provenance", "structure"]
    unread: tuple[str, ...] = ()
    sampled: tuple[str, ...] = ()
    seconds: float = dataclasses.field(default=0.0, compare=False)
    is_one: ClassVar[bool] = False
    """Whether it is one graph with itself, which is shown without a word about differences."""

    def info(self, entry: Entry) -> NodeInfo:
        """The node of an entry as the second graph has it; as the first, where it is gone."""
        return self.b[entry.b] if entry.b is not None else self.a[entry.a or 0]

    @property
    def counts(self) -> Mapping[Status, int]:
        """Entries by status, all four in order."""
        found = dict.fromkeys(STATUSES, 0)
        for entry in self.entries:
            found[entry.status] += 1
        return MappingProxyType(found)

    @property
    def is_empty(self) -> bool:
        """Whether nothing differs, neither a node nor anything of the graphs."""
        return not self.changes and all(entry.status == "same" for entry in self.entries)

    @property
    def unexplained(self) -> tuple[Entry, ...]:
        """Nodes that went or came without a group that says why."""
        return tuple(e for e in self.entries if e.group < 0 and e.status in ("removed", "added"))

    def rule(self, entry: Entry) -> str:
        """What explains an entry; empty where nothing does."""
        return self.groups[entry.group].rule if entry.group >= 0 else ""

    def summary(self) -> DiffSummary:
        """What happened, counted: groups by rule, layers that are alike, what changed, what is not explained."""
        from workbench.analysis.diff.summary import summarize

        return summarize(self)

    def to_frame(self) -> pd.DataFrame:
        """A row per entry that is not the same: status, op_type, domain, node, graph, scope, rule, changes."""
        import pandas as pd

        return pd.DataFrame([self._row(e) for e in self.entries if e.status != "same"], columns=COLUMNS)

    def _row(self, entry: Entry) -> list[str]:
        info = self.info(entry)
        changes = "; ".join(map(str, entry.changes))
        return [
            entry.status, info.op_type, info.domain, info.name, info.graph, info.scope, self.rule(entry), changes,
        ]  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON's own types; the command line writes it."""
        from workbench.analysis.diff.document import document

        return document(self)

    def widget(self) -> Any:
        """The interactive view of both graphs as one."""
        from workbench.widgets.graph_diff import GraphDiffView

        return GraphDiffView(self)

    def save_html(self, path: str | os.PathLike[str]) -> Path:
        """Write one self-contained page that works offline: the graph to walk through, the summary, what differs.

        Raises:
            SaveError: the folder is missing, full or not writable.
        """
        from workbench.widgets.diff_report import save_html

        return save_html(self, path)

    def __repr__(self) -> str:
        from workbench.analysis.diff.summary import names

        counts = ", ".join(f"{count} {status}" for status, count in self.counts.items())
        explained = f", {_plural(len(self.groups), 'group')}" if self.groups else ""
        changed = f", {_plural(len(self.changes), 'graph change')}" if self.changes else ""
        return f"GraphDiff({names(self.labels)}: {counts}{explained}{changed}; by {self.method})"

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, Any]]:
        from workbench.viz.graph.faces import faces

        return faces(self)


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"

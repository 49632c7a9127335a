"""A diff as one JSON document: what ``workbench diff --json`` writes."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.analysis.diff.graph_diff import GraphDiff

FORMAT = "ep-workbench.diff"
VERSION = 1


def document(diff: GraphDiff) -> dict[str, Any]:
    """Counts, groups, changes, layer runs, and an item per entry that is not the same."""
    return {
        "format": FORMAT,
        "format_version": VERSION,
        "labels": list(diff.labels),
        "method": diff.method,
        "is_empty": diff.is_empty,
        "counts": dict(diff.counts),
        "changes": [dataclasses.asdict(change) for change in diff.changes],
        "groups": [
            {"rule": g.rule, "scope": g.scope, "before": _names(diff, g.before), "after": _names(diff, g.after)}
            for g in diff.groups
        ],
        "layer_runs": [{"prefix": run.prefix, "layers": list(run.indices)} for run in diff.runs],
        "nodes": [_node(diff, i) for i, entry in enumerate(diff.entries) if entry.status != "same"],
        "unread_weights": list(diff.unread),
        "sampled_weights": list(diff.sampled),
    }


def _names(diff: GraphDiff, entries: tuple[int, ...]) -> list[dict[str, str]]:
    infos = [diff.info(diff.entries[i]) for i in entries]
    return [{"node": info.name, "op_type": info.op} for info in infos]


def _node(diff: GraphDiff, index: int) -> dict[str, Any]:
    entry = diff.entries[index]
    info = diff.info(entry)
    return {
        "status": entry.status,
        "node": info.name,
        "op_type": info.op_type,
        "domain": info.domain,
        "graph": info.graph,
        "scope": info.scope,
        "rule": diff.rule(entry),
        "changes": [dataclasses.asdict(change) for change in entry.changes],
    }

"""What the view tells about one node, one value, one group: texts that the browser reads when somebody asks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.analysis.diff.result import Change, Entry, Group, NodeInfo

MOST_LETTERS = 2_000
MOST_THINGS = 200


def of_entry(entry: Entry, before: NodeInfo | None, after: NodeInfo | None) -> str:
    """Everything about a node as JSON: as it is in the second graph, or in the first where it is gone."""
    info = after or before
    assert info is not None
    told: dict[str, Any] = {"op": cut(info.op), "scope": cut(info.scope), "graph": cut(info.graph)}
    told["inputs"], told["outputs"] = _texts(info.inputs), _texts(info.outputs)
    told["types"] = _texts(info.types)
    told["attributes"] = [[cut(name), cut(value)] for name, value in info.attributes[:MOST_THINGS]]
    if entry.changes:
        told["changes"] = of_changes(entry.changes)
    if before is not None and after is not None and before.name != after.name:
        told["was"] = cut(before.name)
    for name, texts in (("rules", info.rules), ("replaces", info.replaces)):
        if texts:
            told[name] = _texts(texts)
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def of_group(group: Group) -> str:
    """A group as JSON."""
    told = {"rule": group.rule, "before": list(group.before), "after": list(group.after)}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def of_changes(changes: tuple[Change, ...]) -> list[list[str]]:
    """``[what, where, before, after]`` of each."""
    return [[c.what, cut(c.where), cut(c.before), cut(c.after)] for c in changes[:MOST_THINGS]]


def cut(text: str) -> str:
    """The beginning and the end of a text that nobody reads whole."""
    half = MOST_LETTERS // 2
    return text if len(text) <= MOST_LETTERS else f"{text[:half]} … {text[-half:]}"


def _texts(texts: tuple[str, ...]) -> list[str]:
    return [cut(text) for text in texts[:MOST_THINGS]]

"""What one document has that another has not, as a small list of changes that can be written into a document."""

from __future__ import annotations

from typing import Any

from workbench.metadata.dialects.places import Path, copied

Patch = list[dict[str, Any]]


def difference(before: Any, after: Any) -> Patch:
    """Changes that make ``after`` of ``before``, in the order of their paths.

    Mappings are compared key by key; a list of words, or of another length, differs as a whole.
    """
    return sorted(_changes(before, after, ()), key=lambda change: [(type(s).__name__, s) for s in change["path"]])


def _changes(before: Any, after: Any, path: Path) -> Patch:
    if isinstance(before, dict) and isinstance(after, dict):
        found: Patch = [{"path": [*path, key], "gone": True} for key in before if key not in after]
        for key, value in after.items():
            if key in before:
                found += _changes(before[key], value, (*path, key))
            else:
                found.append({"path": [*path, key], "value": copied(value)})
        return found
    if _match(before, after):
        return [change for i, (b, a) in enumerate(zip(before, after)) for change in _changes(b, a, (*path, i))]
    same = type(before) is type(after) and before == after
    return [] if same else [{"path": list(path), "value": copied(after)}]


def _match(before: Any, after: Any) -> bool:
    """Whether two lists are compared item by item: those of equal length that hold more than words and numbers."""
    return (
        isinstance(before, list) and isinstance(after, list) and len(before) == len(after)
        and any(isinstance(item, dict | list) for item in after)
    )  # fmt: skip


def apply(patch: Any, data: Any) -> None:
    """Make the changes in place. One whose surroundings are no longer there is passed over."""
    for change in patch if isinstance(patch, list) else ():
        path = change.get("path") if isinstance(change, dict) else None
        if isinstance(path, list) and path:
            _make(change, path, data)


def _make(change: dict[str, Any], path: list[Any], data: Any) -> None:
    around = data
    if isinstance(data, dict) and path[0] == "model" and len(path) > 1:
        data.setdefault("model", {})  # gone with its only key
    for step in path[:-1]:
        around = _below(around, step)
    last = path[-1]
    if isinstance(around, dict) and isinstance(last, str):
        if change.get("gone"):
            around.pop(last, None)
        else:
            around[last] = copied(change.get("value"))
    elif isinstance(around, list) and _is_index(last, around) and not change.get("gone"):
        around[last] = copied(change.get("value"))


def _below(around: Any, step: Any) -> Any:
    if isinstance(around, dict):
        return around.get(step) if isinstance(step, str) else None
    return around[step] if isinstance(around, list) and _is_index(step, around) else None


def _is_index(step: Any, items: list[Any]) -> bool:
    return isinstance(step, int) and not isinstance(step, bool) and 0 <= step < len(items)

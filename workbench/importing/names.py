"""The graph's own names in a document that was written under others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def renamed(data: Any, component: str, names: Mapping[str, str]) -> Any:
    """The ports of a component under other names, wherever plain data of a document speak of them."""
    if all(known == own for known, own in names.items()):
        return data
    workflow = data["pipeline"]["workflow"]
    ports = workflow["components"][component].get("ports", {})
    for part in ("inputs", "outputs", "roles"):
        if part in ports:
            ports[part] = _keys(ports[part], names)
    for step in _steps(workflow["steps"]):
        if step["kind"] == "invoke" and step["component"] == component:
            step.update({side: _keys(step[side], names) for side in ("inputs", "outputs") if side in step})
    for group in workflow.get("serving", {}).get("state_service", {}).get("groups", {}).values():
        for alias in group.get("ports", {}).get(component, {}).values():
            alias.update({side: names.get(alias[side], alias[side]) for side in ("input", "output") if side in alias})
        for held in (group.get("update") or {}).values():
            if isinstance(held, dict) and component in held:
                held[component] = names.get(held[component], held[component])
    return data


def _keys(held: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in held.items()}


def _steps(steps: Any) -> Any:
    for step in steps:
        yield step
        below = [*step.get("setup", ()), *step.get("steps", ()), *step.get("cases", {}).values()]
        yield from _steps(below + [step["default"]] if step.get("default") else below)

"""Where in plain data the things stand that the two dialects write differently. Data of any shape are walked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Path = tuple[str | int, ...]
Mapping = dict[str, Any]
Placed = tuple[Path, Mapping]
WORKFLOW: Path = ("pipeline", "workflow")


def mapping_at(data: Any, *path: str) -> Mapping | None:
    """The mapping at a path, or None where there is none."""
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else None


def workflow_of(data: Any) -> Mapping | None:
    return mapping_at(data, "pipeline", "workflow")


def entries(data: Any, *path: str) -> Iterator[Placed]:
    """The mappings that a map of free names holds."""
    for name, entry in (mapping_at(data, *path) or {}).items():
        if isinstance(entry, dict):
            yield (*path, name), entry


def steps(data: Any) -> Iterator[Placed]:
    """Every step at every depth, outer before inner."""
    workflow = workflow_of(data)
    yield from _listed((workflow or {}).get("steps"), (*WORKFLOW, "steps"))


def _listed(found: Any, path: Path) -> Iterator[Placed]:
    for index, step in enumerate(found if isinstance(found, list) else ()):
        yield from _step(step, (*path, index))


def _step(step: Any, path: Path) -> Iterator[Placed]:
    if not isinstance(step, dict):
        return
    yield path, step
    for key in ("setup", "steps"):
        yield from _listed(step.get(key), (*path, key))
    cases = step.get("cases")
    for case, inner in cases.items() if isinstance(cases, dict) else ():
        yield from _step(inner, (*path, "cases", case))
    yield from _step(step.get("default"), (*path, "default"))


def contracts(data: Any) -> Iterator[Placed]:
    """Every tensor contract: of inputs, outputs, ports, cells, iterations and preprocessing."""
    for section in ("inputs", "outputs", "state"):
        for path, entry in entries(data, "pipeline", "workflow", section):
            yield from _contract(entry, path)
    for path, _ in entries(data, "pipeline", "workflow", "components"):
        for side in ("inputs", "outputs"):
            yield from entries(data, *map(str, path), "ports", side)
    for path, step in steps(data):
        iteration = step.get("iteration")
        if isinstance(iteration, dict):
            yield from _contract(iteration, (*path, "iteration"))
    for medium in ("image", "audio"):
        program = mapping_at(data, "preprocessing", medium) or {}
        outputs = program.get("outputs")
        for index, output in enumerate(outputs if isinstance(outputs, list) else ()):
            if isinstance(output, dict):
                yield from _contract(output, ("preprocessing", medium, "outputs", index))


def _contract(entry: Mapping, path: Path) -> Iterator[Placed]:
    contract = entry.get("contract")
    if isinstance(contract, dict):
        yield (*path, "contract"), contract


def groups(data: Any) -> Iterator[Placed]:
    """Every state group."""
    yield from entries(data, "pipeline", "workflow", "serving", "state_service", "groups")


def copied(value: Any) -> Any:
    """A copy in which no two places share a mapping or list."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value

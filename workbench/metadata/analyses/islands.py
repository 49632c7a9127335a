"""``predicted_islands``: neighbouring graphs that a runtime may run as one; a prediction, for want of devices."""

from __future__ import annotations

import dataclasses
from typing import Any

from workbench.metadata.analyses.opening import Source, opened, workflow_of
from workbench.metadata.analyses.tables import Table
from workbench.metadata.context import Context
from workbench.metadata.diagnostic import Path, show_path
from workbench.metadata.document.ports import Component
from workbench.metadata.document.state import IndexedScatter
from workbench.metadata.document.steps import InvokeStep
from workbench.metadata.document.workflow import Workflow

_POLICIES = frozenset({
    "onnx-genai.token-sampler", "onnx-genai.termination-predicate", "onnx-genai.state-update",
    "token-sampler", "termination-predicate", "state-update",
})  # fmt: skip
_SMALLEST = 2


@dataclasses.dataclass(frozen=True)
class Run:
    """Neighbouring invocations. ``is_island`` where there are two or more; ``ended_by`` says why it goes no further."""

    path: Path
    first: int
    components: tuple[str, ...]
    ended_by: str
    overridable: tuple[str, ...] = ()

    @property
    def is_island(self) -> bool:
        return len(self.components) >= _SMALLEST


@dataclasses.dataclass(frozen=True, repr=False)
class Islands(Table):
    """A prediction from the document alone: the runtime also asks whether all graphs are on one device."""

    runs: tuple[Run, ...]
    alone: tuple[tuple[Path, str, str], ...]
    COLUMNS = ("island", "path", "steps", "components", "ended_by", "overridable")
    is_prediction = True

    @property
    def islands(self) -> tuple[Run, ...]:
        return tuple(run for run in self.runs if run.is_island)

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"island": number, "path": show_path(run.path),
             "steps": f"{run.first}-{run.first + len(run.components) - 1}", "components": ", ".join(run.components),
             "ended_by": run.ended_by, "overridable": ", ".join(run.overridable)}
            for number, run in enumerate(self.islands, 1)
        ]  # fmt: skip

    def __repr__(self) -> str:
        sizes = ", ".join(str(len(run.components)) for run in self.islands) or "none"
        return f"Islands(prediction, graphs in each: {sizes}; {len(self.alone)} invocations cannot join)"


def predicted_islands(source: Source, *, dialect: str = "auto") -> Islands:
    """Runs of graphs in one list of steps that nothing keeps apart, and what does where something does."""
    context = opened(source, dialect)
    workflow = workflow_of(context)
    barred = {name: _barred(workflow, name, component) for name, component in workflow.components.items()}
    runs: list[Run] = []
    alone: list[tuple[Path, str, str]] = []
    for path, steps in _lists(context).items():
        current: list[str] = []
        for index, step in enumerate(steps):
            why = barred.get(step.component, "its component is unknown") if isinstance(step, InvokeStep) else step.kind
            if isinstance(step, InvokeStep) and why:
                alone.append(((*path, index), step.component, why))
            if isinstance(step, InvokeStep) and not why:
                current.append(step.component)
                continue
            name = f"{step.component}: {why}" if isinstance(step, InvokeStep) else f"a {step.kind} step"
            _close(runs, path, index, current, name, workflow)
        _close(runs, path, len(steps), current, "the end of the list", workflow)
    return Islands(tuple(runs), tuple(alone))


def _close(runs: list[Run], path: Path, end: int, current: list[str], why: str, workflow: Workflow) -> None:
    if current:
        free = tuple(name for name in current if workflow.components[name].application_overridable)
        runs.append(Run(path, end - len(current), tuple(current), why, free))
        current.clear()


def _lists(context: Context) -> dict[Path, list[Any]]:
    """Every list of steps, by its path."""
    found: dict[Path, list[Any]] = {}
    for placed in context.steps:
        if isinstance(placed.path[-1], int):
            found.setdefault(placed.path[:-1], []).append(placed.step)
    return found


def _barred(workflow: Workflow, name: str, component: Component) -> str:
    """Why a component cannot be part of an island; empty where it can."""
    if not component.is_onnx:
        return f"it is no graph ({component.implementation.kind})"
    if component.effects:
        return f"it has effects ({', '.join(component.effects)})"
    groups = workflow.serving.state_service.groups if workflow.serving else {}
    for group, found in groups.items():
        if isinstance(found.update, IndexedScatter) and name in found.update.write_indices_ports:
            return f"it writes into the cache of {group}"
    return _not_per_row(component)


def _not_per_row(component: Component) -> str:
    """Policies join only with the second version of their contract, in which each row is on its own."""
    contract = component.contract
    if contract is None or contract.id not in _POLICIES:
        return ""
    wanted = {"batching": "per_row", "inactive_rows": "preserve"}
    wrong = [key for key, word in wanted.items() if contract.parameters.get(key) != word]
    if contract.version != "2" or wrong:
        return f"its contract {contract.id}@{contract.version} is not the per-row one"
    ports = [*component.ports.inputs.values(), *component.ports.outputs.values()]
    loose = any(p.row_scoped and (not p.shape or p.shape[0] != "batch") for p in ports)
    return "one of its ports does not begin with the dimension batch" if loose else ""

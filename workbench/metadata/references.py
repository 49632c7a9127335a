"""Which values a step reads, and where it says so."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.metadata.context import AnyStep
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.state import Growing, Invariant, StateCell
from workbench.metadata.document.steps import BranchStep, EmitStep, InvokeStep, LoopStep
from workbench.metadata.document.workflow import Workflow

Read = tuple[Path, str]


def reads(step: AnyStep, workflow: Workflow) -> Iterator[Read]:
    """Path from the step and name of every value it reads, without the steps inside it and what a branch joins."""
    if isinstance(step, InvokeStep):
        for port, value in step.inputs.items():
            yield ("inputs", port), value
    elif isinstance(step, LoopStep):
        yield from _of_loop(step, workflow)
    elif isinstance(step, BranchStep):
        yield ("predicate",), step.predicate
    elif isinstance(step, EmitStep):
        for field in ("value", "when", "valid_length"):
            value = getattr(step, field)
            if value is not None:
                yield (field,), value


def _of_loop(step: LoopStep, workflow: Workflow) -> Iterator[Read]:
    yield ("max_iterations",), step.max_iterations
    yield ("continue_when",), step.continue_when
    for index, carry in enumerate(step.carried):
        path: Path = ("carried", index)
        cell = workflow.state.get(carry.cell)
        if carry.initial is not None:
            yield (*path, "initial"), carry.initial
        if cell is not None:
            yield from ((path, value) for value in of_cell(cell))
        yield (*path, "next"), carry.next


def of_cell(cell: StateCell) -> Iterator[str]:
    """Values that a loop reads because it carries the cell."""
    yield cell.initializer
    if not isinstance(cell.recurrence, Invariant):
        yield cell.recurrence.max
    if isinstance(cell.recurrence, Growing):
        yield cell.recurrence.increment


def joins(step: BranchStep) -> Iterator[tuple[Path, str | None, str]]:
    """Path, case (None for the default) and value of everything that a branch takes out of its cases."""
    for name, output in step.outputs.items():
        for case, value in output.cases.items():
            yield ("outputs", name, "cases", case), case, value
        if output.default is not None:
            yield ("outputs", name, "default"), None, output.default

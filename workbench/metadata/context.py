"""What rules read: the document, its data, and facts that several of them share, each found once."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.metadata.diagnostic import Path
from workbench.metadata.document import Document
from workbench.metadata.document.base import Closed
from workbench.metadata.document.steps import BranchStep, EmitStep, InvokeStep, LoopStep, SequenceStep
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.parsing import Misfit, parse
from workbench.metadata.reading import Loaded

if TYPE_CHECKING:
    from workbench.metadata.scope import Scope

WORKFLOW: Path = ("pipeline", "workflow")
AnyStep = SequenceStep | InvokeStep | LoopStep | BranchStep | EmitStep


@dataclasses.dataclass(frozen=True)
class Site:
    """A tensor contract and where it stands. ``what`` is one of input, output, port, state."""

    path: Path
    contract: TensorContract
    what: str


@dataclasses.dataclass(frozen=True)
class Placed:
    """A step, where it stands, and the steps around it, the outermost first."""

    path: Path
    step: AnyStep
    around: tuple[Placed, ...] = ()


class Context:
    """One document while it is being checked."""

    def __init__(
        self,
        loaded: Loaded,
        package_root: pathlib.Path | None = None,
        advertised: frozenset[str] | None = None,
    ) -> None:
        self.loaded = loaded
        self.data: Any = loaded.data
        self.package_root = package_root
        self.advertised = advertised
        self.parsed: Document | None = None
        self.misfits: tuple[Misfit, ...] = ()
        if loaded.data is not None:
            self.parsed, self.misfits = parse(loaded.data)

    @property
    def document(self) -> Document:
        """The typed document; only rules after the parse stage may ask."""
        assert self.parsed is not None
        return self.parsed

    @cached_property
    def workflow(self) -> Workflow | None:
        return self.parsed.workflow if self.parsed else None

    @cached_property
    def contracts(self) -> tuple[Site, ...]:
        """Every contract of inputs, outputs, ports and state cells, in the order of these sections."""
        return tuple(_contracts(self.workflow)) if self.workflow else ()

    @cached_property
    def steps(self) -> tuple[Placed, ...]:
        """Every step at every depth, outer before inner, setup before body."""
        return tuple(_steps(self.workflow.steps, (*WORKFLOW, "steps"), ())) if self.workflow else ()

    @cached_property
    def scope(self) -> Scope:
        """Every value of the workflow, and what the walk through its steps finds wrong."""
        from workbench.metadata.scope import Scope, scope_of

        return scope_of(self.workflow) if self.workflow else Scope()

    @cached_property
    def invokes(self) -> dict[str, list[Placed]]:
        """The invocations of each component."""
        found: dict[str, list[Placed]] = {}
        for placed in self.steps:
            if isinstance(placed.step, InvokeStep):
                found.setdefault(placed.step.component, []).append(placed)
        return found

    @cached_property
    def emits(self) -> list[tuple[Path, EmitStep]]:
        return [(placed.path, placed.step) for placed in self.steps if isinstance(placed.step, EmitStep)]

    @cached_property
    def loops(self) -> list[tuple[Path, LoopStep]]:
        return [(placed.path, placed.step) for placed in self.steps if isinstance(placed.step, LoopStep)]

    @cached_property
    def branches(self) -> list[tuple[Path, BranchStep]]:
        return [(placed.path, placed.step) for placed in self.steps if isinstance(placed.step, BranchStep)]


def _contracts(workflow: Workflow) -> Iterator[Site]:
    for name, entry in workflow.inputs.items():
        yield Site((*WORKFLOW, "inputs", name, "contract"), entry.contract, "input")
    for name, output in workflow.outputs.items():
        yield Site((*WORKFLOW, "outputs", name, "contract"), output.contract, "output")
    for name, component in workflow.components.items():
        ports = (*WORKFLOW, "components", name, "ports")
        for port, contract in component.ports.inputs.items():
            yield Site((*ports, "inputs", port), contract, "port")
        for port, contract in component.ports.outputs.items():
            yield Site((*ports, "outputs", port), contract, "port")
    for name, cell in workflow.state.items():
        yield Site((*WORKFLOW, "state", name, "contract"), cell.contract, "state")


def children(step: AnyStep) -> Iterator[tuple[Path, AnyStep]]:
    """The steps directly inside a step, with the path from it to them."""
    if isinstance(step, LoopStep):
        for index, inner in enumerate(step.setup):
            yield ("setup", index), inner
    if isinstance(step, LoopStep | SequenceStep):
        for index, inner in enumerate(step.steps):
            yield ("steps", index), inner
    if isinstance(step, BranchStep):
        for case, inner in step.cases.items():
            yield ("cases", case), inner
        if step.default is not None:
            yield ("default",), step.default


def _steps(steps: tuple[AnyStep, ...], path: Path, around: tuple[Placed, ...]) -> Iterator[Placed]:
    waiting = [Placed((*path, index), step, around) for index, step in enumerate(steps)][::-1]
    while waiting:
        placed = waiting.pop()
        yield placed
        inside = [(*placed.path, *tail) for tail, _ in children(placed.step)]
        inner = [step for _, step in children(placed.step)]
        chain = (*placed.around, placed)
        waiting.extend(reversed([Placed(p, s, chain) for p, s in zip(inside, inner)]))


__all__ = ["WORKFLOW", "AnyStep", "Closed", "Context", "Placed", "Site", "children"]

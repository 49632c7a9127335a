"""A cell that a loop carries: what it starts from, what it is in the body, and what it is afterwards."""

from __future__ import annotations

import dataclasses

from workbench.metadata.context import WORKFLOW
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.state import Growing, Invariant, StateCell
from workbench.metadata.document.steps import Carry, LoopStep
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.scope.compare import fits, is_scalar_count, shown
from workbench.metadata.scope.names import Draft
from workbench.metadata.scope.walk import Walk
from workbench.metadata.wording import q


@dataclasses.dataclass(frozen=True)
class Carried:
    """``cell`` is None where the state does not declare it: rule 99's matter."""

    entry: Carry
    cell: StateCell | None
    loop: Path
    path: Path

    @property
    def name(self) -> str:
        return self.entry.cell

    @property
    def declared(self) -> Path:
        return (*WORKFLOW, "state", self.name)

    @property
    def contract(self) -> TensorContract | None:
        return self.cell.contract if self.cell else None

    @property
    def sources(self) -> tuple[str, ...]:
        start = self.entry.initial or (self.cell.initializer if self.cell else None)
        return (self.entry.next,) if start is None else (start, self.entry.next)


def carries(workflow: Workflow, step: LoopStep, path: Path) -> list[Carried]:
    return [
        Carried(entry, workflow.state.get(entry.cell), path, (*path, "carried", index))
        for index, entry in enumerate(step.carried)
    ]


def start(walk: Walk, one: Carried) -> None:
    """What is read in the scope around the loop: where the cell starts, and how far it may grow."""
    if one.cell is not None:
        place = (*one.declared, "initializer")
        said = f"starts the cell {q(one.name)}, and is not defined before the loop that carries it."
        _starts(walk, one, walk.read(one.cell.initializer, place, one.loop, "initializer", 212, said), place)
        _bounds(walk, one, one.cell)
    if one.entry.initial is not None:
        place = (*one.path, "initial")
        _starts(walk, one, walk.read(one.entry.initial, place, one.loop, "initial"), place)


def _starts(walk: Walk, one: Carried, draft: Draft | None, path: Path) -> None:
    if draft is None or one.cell is None:
        return
    # A cell that grows starts as it is declared; the axis of a bounded one has any length up to its bound.
    exempt = () if isinstance(one.cell.recurrence, Growing) else (one.cell.varying_axis,)
    if not fits(draft.contract, one.contract, exempt):
        message = f"The cell {q(one.name)} is {shown(one.contract)}, and starts from {q(draft.name)}, "
        message += f"{shown(draft.contract)}."
        walk.tell(213, path, message, "Start from another value, or correct one of the two contracts.")


def _bounds(walk: Walk, one: Carried, cell: StateCell) -> None:
    if isinstance(cell.recurrence, Invariant):
        return
    names = {"max": cell.recurrence.max}
    if isinstance(cell.recurrence, Growing):
        names["increment"] = cell.recurrence.increment
    for field, name in names.items():
        place = (*one.declared, "recurrence", field)
        said = f"is the {field} of the cell {q(one.name)}, and is not defined before the loop that carries it."
        draft = walk.read(name, place, one.loop, "recurrence", 211, said)
        if draft is not None and not is_scalar_count(draft.contract):
            message = f"The {field} of the cell {q(one.name)} is {q(name)}, {shown(draft.contract)}."
            walk.tell(211, place, message, "Take one whole number: of shape [], or of shape [1].")


def enter(walk: Walk, one: Carried) -> bool:
    """The cell as a value of the body. False where its name is taken."""
    made = Draft(one.name, "carry", (*one.path, "cell"), one.loop, one.contract, sources=one.sources)
    return walk.define(made)


def result(walk: Walk, one: Carried) -> Draft:
    """The cell as a value after the loop: what the last round gave for the next."""
    place = (*one.path, "next")
    said = f"is the next {q(one.name)}, and the end of the body does not see it."
    draft = walk.read(one.entry.next, place, one.loop, "next", 215, said)
    contract = one.contract if draft is None else draft.contract
    exempt = (one.cell.varying_axis,) if one.cell else ()
    if draft is not None and not fits(draft.contract, one.contract, exempt):
        message = f"The cell {q(one.name)} is {shown(one.contract)}, and its next is {q(draft.name)}, "
        message += f"{shown(draft.contract)}."
        walk.tell(216, place, message, "Carry another value, or correct one of the two contracts.")
        contract = one.contract
    return Draft(one.name, "loop", (*one.path, "cell"), one.loop, contract, sources=(one.entry.next,))

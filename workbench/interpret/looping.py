"""A loop as it runs: setup once, the condition before each round, cells carried from one round to the next."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from workbench.interpret.carrying import Carrier
from workbench.interpret.diagnostic import Violation
from workbench.interpret.predicates import count, flags
from workbench.interpret.recording import At, Draft
from workbench.interpret.scoped import Held, Scope
from workbench.interpret.trace import StepKind, TraceStep
from workbench.metadata.document.steps import LoopStep
from workbench.metadata.wording import q

if TYPE_CHECKING:
    from workbench.interpret.machine import Machine


class Looping:
    """One loop, each time it is entered. The condition may be one flag or one per request: the loop goes on while any
    holds, and requests whose flag is false keep what they carry."""

    def __init__(self, machine: Machine, step: LoopStep, at: At, scope: Scope) -> None:
        self.machine, self.step, self.at, self.scope = machine, step, at, scope
        self.carrier = Carrier(machine.facts, scope, machine.feeding.requests)
        self.cells: dict[str, Held] = {}
        self.most, self.live, self.round = 0, np.asarray(True), 0

    def records(self) -> Iterator[TraceStep]:
        machine, step = self.machine, self.step
        yield from machine.steps(step.setup, self.at, ("setup",), "setup.nodes", self.scope)
        yield from machine.perform(self._draft("enter", self.scope), self._enter)
        around = machine.caller.policy.live
        while True:
            body = self._body()
            yield from machine.perform(self._draft("test", body), partial(self._test, body))
            if not self.live.any() or self.round >= self.most:
                break
            yield from machine.steps(step.steps, self.at, ("steps",), "body.nodes", body)
            yield from machine.perform(self._draft("carry", body), partial(self._carry, body))
            machine.keeper.forget()
            self.round += 1
        machine.caller.policy.live = around  # who is live around this loop does not end with it
        yield from machine.perform(self._draft("leave", self.scope), self._leave)

    def _draft(self, kind: StepKind, scope: Scope) -> Draft:
        return self.machine.draft(kind, self.at, f"loop: {kind}", scope)

    def _body(self) -> Scope:
        body = Scope((*self.at.place, "steps"), (*self.scope.iteration, self.round), self.scope)
        for name, held in self.cells.items():
            body.define(name, held)
        if self.step.iteration is not None:
            contract = self.step.iteration.contract
            number = np.full((1,) * contract.rank, self.round, np.int64)
            body.define(self.step.iteration.value, Held(number, contract))
        return body

    # --- the records of a loop --------------------------------------------------------------------------------
    def _enter(self, draft: Draft) -> None:
        name = self.step.max_iterations
        array = self.scope.read(name).array
        draft.read("max_iterations", name, array)
        self.most = count(name, array, "the most rounds of the loop")
        for entry in self.step.carried:
            held = self.carrier.start(entry)
            self.cells[entry.cell] = held
            cell = self.machine.facts.workflow.state[entry.cell]
            draft.read(entry.cell, entry.initial or cell.initializer, held.array)

    def _test(self, body: Scope, draft: Draft) -> None:
        draft.title = f"loop: round {self.round}?"
        for name in (*self.cells, *([self.step.iteration.value] if self.step.iteration else [])):
            draft.write(name, name, body.read(name).array)
        name = self.step.continue_when
        array = body.read(name).array
        draft.read("continue_when", name, array)
        self.live = flags(name, array)
        self.machine.caller.policy.go_on(self.live)
        if not self.live.any():
            draft.title += " no"
        elif self.round >= self.most:
            draft.title += f" no: {self.most} rounds are done"
            self._at_its_bound(draft)
        elif self.round >= self.machine.limits.max_rounds:
            raise Violation(
                "run.loop-bound",
                f"The loop has run {self.round} rounds, the most that this run allows "
                f"(Limits.max_rounds); the document allows {self.most}.",
                "Correct its condition, or allow more.",
                name,
            )
        else:
            draft.title += " yes"

    def _at_its_bound(self, draft: Draft) -> None:
        """A loop that ends because it may not go on is worth a word, unless it waits for the end of a text."""
        if self.step.termination == "predicate" and self.most > 0:
            draft.tell(
                Violation(
                    "run.loop-bound",
                    f"The loop ended after {self.most} rounds, its bound, while "
                    f"{q(self.step.continue_when)} still held.",
                    "Allow more rounds, if more were meant.",
                    self.step.continue_when,
                ),
                "warning",
            )

    def _carry(self, body: Scope, draft: Draft) -> None:
        live = self.live if self.live.ndim == 1 and self.live.size > 1 else None
        made: dict[str, Held] = {}
        for entry in self.step.carried:
            held = body.find(entry.next)
            if held is not None:
                draft.read(entry.cell, entry.next, held.array)
            made[entry.cell] = self.carrier.next(entry, self.cells[entry.cell], body, live)
        self.cells = made

    def _leave(self, draft: Draft) -> None:
        draft.title = f"loop: left after {self.round} rounds"
        for name, held in self.cells.items():
            self.scope.define(name, held)
            draft.write(name, name, held.array)

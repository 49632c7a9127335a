"""A cell from round to round: what it may start from, how it may change, and what requests that have ended keep."""

from __future__ import annotations

import numpy as np

from workbench.interpret.arrays import Array, described, single, sizes
from workbench.interpret.caching import written
from workbench.interpret.contracts import check, request_axis
from workbench.interpret.diagnostic import Violation
from workbench.interpret.roles import Facts
from workbench.interpret.scoped import Held, Scope
from workbench.metadata.document.state import Bounded, Growing, StateCell
from workbench.metadata.document.steps import Carry
from workbench.metadata.wording import q


class Carrier:
    """The cells that one loop carries."""

    def __init__(self, facts: Facts, outer: Scope, requests: int) -> None:
        self.facts, self.outer, self.requests = facts, outer, requests

    def start(self, entry: Carry) -> Held:
        """What a cell starts from.

        Raises:
            Violation: it does not fit the cell, or is too long already.
        """
        cell = self.facts.workflow.state[entry.cell]
        held = self.outer.read(entry.initial or cell.initializer)
        self._fits(entry.cell, cell, held.array, f"The start of {q(entry.cell)}", entry.initial or cell.initializer)
        self._within(entry.cell, cell, held.array)
        return Held(held.array, cell.contract)

    def next(self, entry: Carry, before: Held, body: Scope, live: Array | None) -> Held:
        """What a cell is in the next round; ``live`` are the requests that were active in this one (None: all).

        Raises:
            Violation: it changed as the cell must not.
        """
        name, cell = entry.cell, self.facts.workflow.state[entry.cell]
        held = body.read(entry.next)
        array = written(self.facts, name, before.array, held)
        self._fits(name, cell, array, f"The next {q(name)}", entry.next)
        self._changes(name, cell, before.array, array)
        self._within(name, cell, array)
        return Held(_kept(before.array, array, cell, live), cell.contract)

    # --- kind and shape -------------------------------------------------------------------------------------
    def _fits(self, name: str, cell: StateCell, array: Array, what: str, value: str) -> None:
        check(array, cell.contract, what, value, None, self.facts.sequence_axes(name), self.requests)

    def _changes(self, name: str, cell: StateCell, before: Array, after: Array) -> None:
        group, varying = self.facts.group_of(name), self.facts.sequence_axes(name)
        for axis, (old, new) in enumerate(zip(before.shape, after.shape, strict=True)):
            if axis not in varying and old != new:
                self._refuse_change(name, cell, before, after, axis)
        if isinstance(cell.recurrence, Growing) and group is None:
            self._grown(name, cell.recurrence, before, after)

    def _refuse_change(self, name: str, cell: StateCell, before: Array, after: Array, axis: int) -> None:
        if axis == request_axis(cell.contract, after):
            raise Violation(
                "run.rows",
                f"The cell {q(name)} had {before.shape[axis]} requests and now has {after.shape[axis]}.",
                "One entry per request must come out of each round.",
                name,
            )
        raise Violation(
            "run.invariant",
            f"The cell {q(name)} is invariant on axis {axis}, and went from {sizes(before.shape)} to "
            f"{sizes(after.shape)}.",
            "Carry a value of the same shape, or declare the axis growing or bounded.",
            name,
        )

    def _grown(self, name: str, rule: Growing, before: Array, after: Array) -> None:
        step = self._count(rule.increment, "increment", name)
        old, new = before.shape[rule.axis], after.shape[rule.axis]
        if new != old + step:
            raise Violation(
                "run.growth",
                f"The cell {q(name)} grows by {step} on axis {rule.axis} each round, and went from {old} to {new}.",
                "Append that many entries, or correct the increment.",
                name,
            )

    def _within(self, name: str, cell: StateCell, array: Array) -> None:
        rule = cell.recurrence
        if not isinstance(rule, Growing | Bounded):
            return
        most = self._count(rule.max, "max", name)
        if array.shape[rule.axis] > most:
            raise Violation(
                "run.beyond-max",
                f"The cell {q(name)} has {array.shape[rule.axis]} entries on axis "
                f"{rule.axis}, and at most {most} are allowed.",
                "End the loop before, or allow more.",
                name,
            )

    def _count(self, value: str, field: str, name: str) -> int:
        found = single(self.outer.read(value).array)
        if not isinstance(found, int) or isinstance(found, bool):
            raise Violation(
                "run.predicate",
                f"The {field} of the cell {q(name)} is {q(value)}, "
                f"{described(self.outer.read(value).array)}, and not one whole number.",
                "",
                value,
            )
        return found


def _kept(before: Array, after: Array, cell: StateCell, live: Array | None) -> Array:
    """What is carried: requests that have ended keep what they had; what a cache grew by has no old entry to keep."""
    axis = request_axis(cell.contract, after)
    if live is None or axis is None or live.all() or live.shape != (after.shape[axis],):
        return after
    common = tuple(slice(0, min(a, b)) for a, b in zip(before.shape, after.shape, strict=True))
    made = after.copy()
    mask = live.reshape([-1 if at == axis else 1 for at in range(after.ndim)])
    made[common] = np.where(mask, after[common], before[common])
    return made

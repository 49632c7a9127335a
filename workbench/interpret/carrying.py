"""A cell from round to round: what it may start from, how it may change, and what requests that have ended keep."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workbench.interpret.arrays import Array, described, single, sizes
from workbench.interpret.contracts import check, request_axis
from workbench.interpret.decoding import Decoding
from workbench.interpret.diagnostic import Violation
from workbench.interpret.roles import Facts
from workbench.interpret.scoped import Held, Scope
from workbench.metadata.document.state import Bounded, Growing, IndexedScatter, StateCell, StateGroup
from workbench.metadata.document.steps import Carry
from workbench.metadata.wording import q

_SELF = ("full_attention", "sliding_attention", "multi_latent_attention")


class Carrier:
    """The cells that one loop carries."""

    def __init__(
        self, facts: Facts, carried: tuple[Carry, ...], outer: Scope, decoders: Mapping[str, Decoding], requests: int
    ) -> None:
        self.facts, self.carried, self.outer = facts, carried, outer
        self.decoders, self.requests = decoders, requests

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
        array = self._written(name, held, before.array, body)
        self._fits(name, cell, array, f"The next {q(name)}", entry.next)
        self._changes(name, cell, before.array, array, held)
        self._within(name, cell, array)
        return Held(_kept(before.array, array, cell, live), cell.contract)

    # --- kind and shape -------------------------------------------------------------------------------------
    def _fits(self, name: str, cell: StateCell, array: Array, what: str, value: str) -> None:
        check(array, cell.contract, what, value, None, self.facts.sequence_axes(name), self.requests)

    def _changes(self, name: str, cell: StateCell, before: Array, after: Array, held: Held) -> None:
        group, varying = self.facts.group_of(name), self.facts.sequence_axes(name)
        for axis, (old, new) in enumerate(zip(before.shape, after.shape, strict=True)):
            if axis not in varying and old != new:
                self._refuse_change(name, cell, before, after, axis)
        if isinstance(cell.recurrence, Growing) and group is None:
            self._grown(name, cell.recurrence, before, after)
        elif group is not None and group.sequence_axis in varying:
            self._appended(name, group, before, after, held)

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

    def _appended(self, name: str, group: StateGroup, before: Array, after: Array, held: Held) -> None:
        """A cache of the runtime takes the tokens of the call that made it: past and new, or in its room."""
        axis, decoding = group.sequence_axis, self.decoders.get(held.component)
        assert axis is not None
        old, new = before.shape[axis], after.shape[axis]
        if group.kind not in _SELF or decoding is None or decoding.step is None:
            return
        tokens, total = decoding.step.input_ids.shape[1], decoding.step.attention_mask.shape[1]
        shared = group.aliasing != "forbidden" and new == old and total <= old  # written into the room of the past
        window = group.kind == "sliding_attention" and new < old + tokens  # what has left the window may be gone
        if new != old + tokens and not shared and not window:
            raise Violation(
                "run.growth",
                f"The cache {q(name)} took {tokens} tokens, and went from {old} to {new} on axis {axis}.",
                "The graph must give the past and the new entries.",
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

    # --- what the runtime does for a group --------------------------------------------------------------------
    def _written(self, name: str, held: Held, before: Array, body: Scope) -> Array:
        """The next value of a cell where the component gives only the new entries: behind the past, or in place."""
        group = self.facts.group_of(name)
        if group is None or group.sequence_axis is None or held.component not in self.decoders:
            return held.array
        if isinstance(group.update, IndexedScatter):
            return self._scattered(name, group, group.update, held, before, body)
        axis = group.sequence_axis
        if self._gives_new_only(held, axis) and held.array.ndim == before.ndim:
            return np.concatenate([before, held.array], axis=axis)
        return held.array

    def _gives_new_only(self, held: Held, axis: int) -> bool:
        """Whether the output's contract has the symbol of the tokens on the cache's axis: new entries, not all."""
        component, shape = (
            self.facts.workflow.components[held.component],
            held.contract.shape if held.contract else None,
        )
        for port, role in component.ports.roles.items():
            said = component.ports.inputs.get(port)
            if role in ("token_ids", "inputs_embeds") and said is not None and said.shape is not None and shape:
                return (
                    len(said.shape) > 1
                    and axis < len(shape)
                    and isinstance(shape[axis], str)
                    and shape[axis] == said.shape[1]
                )
        return False

    def _scattered(
        self, name: str, group: StateGroup, update: IndexedScatter, held: Held, before: Array, body: Scope
    ) -> Array:
        axis, decoding = group.sequence_axis, self.decoders[held.component]
        assert axis is not None and decoding.step is not None
        places = self._places(update, body, decoding)
        capacity, tokens = before.shape[axis], decoding.step.input_ids.shape[1]
        for row, first in enumerate(places.tolist()):
            if first < 0 or first + tokens > capacity:
                raise Violation(
                    "run.scatter",
                    f"Request {row} writes {tokens} entries from place {first} on into {q(name)}, which "
                    f"has room for {capacity}.",
                    "End the loop before, or give a larger capacity.",
                    name,
                )
        if held.array.shape == before.shape or held.array.shape[axis : axis + 1] != (tokens,):
            return held.array
        made = np.moveaxis(before.copy(), axis, 1)
        for row, first in enumerate(places.tolist()):
            made[row, first : first + tokens] = np.moveaxis(held.array, axis, 1)[row]
        return np.moveaxis(made, 1, axis)

    def _places(self, update: IndexedScatter, body: Scope, decoding: Decoding) -> Array:
        """``[B]`` where the entries of this round begin."""
        held = body.find(update.write_indices)
        carried = any(one.cell == update.write_indices for one in self.carried)
        return held.array.reshape(-1) if held is not None and carried else decoding.slots_before


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

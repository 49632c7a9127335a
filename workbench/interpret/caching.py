"""Caches of the runtime as a call meets them: what it may write where, and what must come back.

A cache that grows comes back as the past and the new entries, or written into the room of the past where its group
permits that, or as the new entries alone where the output's contract has the symbol of the tokens on that axis: then
they are put behind the past, or in their places, when the cell is carried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from workbench.interpret.arrays import Array, described
from workbench.interpret.diagnostic import Violation
from workbench.interpret.roles import Facts, port_of
from workbench.interpret.scoped import Held
from workbench.metadata.document.ports import Component
from workbench.metadata.document.state import IndexedScatter, PortAlias, StateGroup
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.wording import q

_SELF = ("full_attention", "sliding_attention", "multi_latent_attention")
Arrays = Mapping[str, Array]


class Caches:
    """The caches that go through one component."""

    def __init__(self, facts: Facts, name: str) -> None:
        self.facts, self.name = facts, name
        self.component: Component = facts.workflow.components[name]

    def tokens(self, fed: Arrays) -> int | None:
        """S: how many tokens a call reads; None where no port of its has tokens or embeddings."""
        for role in ("token_ids", "inputs_embeds"):
            array = fed.get(port_of(self.component, role) or "")
            if array is not None and array.ndim > 1:
                return int(array.shape[1])
        return None

    def places(self, fed: Arrays) -> Array | None:
        """``[B]`` where a call begins to write; None for a cache that grows."""
        for update in self.facts.scatters(self.name):
            array = fed.get(update.write_indices_ports.get(self.name, ""))
            if array is not None and array.ndim <= 1:
                return array.reshape(-1)
        return None

    def check_places(self, fed: Arrays) -> None:
        """Refuse to write beside a buffer.

        Raises:
            Violation: run.scatter.
        """
        places, tokens = self.places(fed), self.tokens(fed)
        if places is None or tokens is None:
            return
        for cell, group, alias in self._aliases(scattered=True):
            past = fed.get(alias.input)
            room = None if past is None else length(past, group.sequence_axis)
            for row, first in enumerate(places.tolist()):
                if room is not None and (first < 0 or first + tokens > room):
                    raise Violation(
                        "run.scatter",
                        f"Request {row} writes {tokens} entries from place {first} on into {q(cell)}, which has room "
                        f"for {room}.",
                        "End the loop before, or give a larger capacity.",
                        cell,
                    )

    def check_growth(self, fed: Arrays, given: Arrays, total: int | None) -> None:
        """Refuse a cache that did not take the tokens; ``total`` is how many there are with those before, if known.

        Raises:
            Violation: run.growth.
        """
        tokens = self.tokens(fed)
        for cell, group, alias in self._aliases(scattered=False):
            axis, past, present = group.sequence_axis, fed.get(alias.input), given.get(alias.output or "")
            if tokens is None or axis is None or past is None or present is None or group.kind not in _SELF:
                continue
            old, new = length(past, axis), length(present, axis)
            if old is None or new is None:
                raise Violation(
                    "run.rank",
                    f"The cache {q(cell)} has its tokens on axis {axis}; {described(past)} went in, and "
                    f"{described(present)} came back.",
                    "Correct the graph, or the group's sequence_axis.",
                    cell,
                )
            self._check_room(cell, axis, new)
            fits = group.aliasing == "required" or (total is not None and total <= old)
            shared = group.aliasing != "forbidden" and new == old and fits  # written into the room of the past
            window = group.kind == "sliding_attention" and new < old + tokens  # what has left the window may be gone
            alone = new == tokens and self.gives_new_alone(alias.output or "", axis)
            if new != old + tokens and not shared and not window and not alone:
                raise Violation(
                    "run.growth",
                    f"The cache {q(cell)} took {tokens} tokens, and went from {old} to {new} on axis {axis}.",
                    "The graph must give the past and the new entries.",
                    cell,
                )

    def _check_room(self, cell: str, axis: int, size: int) -> None:
        shape = self.facts.workflow.state[cell].contract.shape
        room = shape[axis] if shape is not None and axis < len(shape) else None
        if isinstance(room, int) and size > room:
            raise Violation(
                "run.beyond-max",
                f"The cache {q(cell)} has room for {room} entries on axis {axis}, and {size} came back.",
                "Ask for fewer tokens, or build with a longer cache.",
                cell,
            )

    def gives_new_alone(self, port: str, axis: int) -> bool:
        """Whether an output's contract has the symbol of the tokens on an axis."""
        made, tokens = self.component.ports.outputs.get(port), self._token_contract()
        if made is None or made.shape is None or axis >= len(made.shape):
            return False
        symbol = tokens.shape[1] if tokens is not None and tokens.shape and len(tokens.shape) > 1 else None
        return isinstance(symbol, str) and made.shape[axis] == symbol

    def _token_contract(self) -> TensorContract | None:
        ports = (port_of(self.component, role) or "" for role in ("token_ids", "inputs_embeds"))
        return next((self.component.ports.inputs[p] for p in ports if p in self.component.ports.inputs), None)

    def _aliases(self, scattered: bool) -> Iterator[tuple[str, StateGroup, PortAlias]]:
        """Cells that are read and written, by indexed scatter or by growing."""
        for group in self.facts.groups.values():
            if isinstance(group.update, IndexedScatter) is scattered:
                for cell, alias in group.ports.get(self.name, {}).items():
                    if alias.access == "read_write":
                        yield cell, group, alias


def length(array: Array, axis: int | None) -> int | None:
    """The size of an axis; None where the array has no such axis."""
    return int(array.shape[axis]) if axis is not None and -array.ndim <= axis < array.ndim else None


def written(facts: Facts, cell: str, before: Array, held: Held) -> Array:
    """The next value of a cell: what a component gave, or what that makes of the value before it."""
    group = facts.group_of(cell)
    axis = None if group is None else group.sequence_axis
    after = held.array
    if group is None or axis is None or not held.component or after.ndim != before.ndim:
        return after
    if isinstance(group.update, IndexedScatter):
        fresh = after.shape != before.shape and after.shape[axis] == held.tokens
        return _in_place(before, after, held.places, axis) if fresh and held.places is not None else after
    alone = Caches(facts, held.component).gives_new_alone(held.port, axis)
    return np.concatenate([before, after], axis=axis) if alone else after


def _in_place(before: Array, new: Array, places: Array, axis: int) -> Array:
    made, entries = np.moveaxis(before.copy(), axis, 1), np.moveaxis(new, axis, 1)
    for row, first in enumerate(places.tolist()):
        made[row, first : first + entries.shape[1]] = entries[row]
    return np.moveaxis(made, 1, axis)

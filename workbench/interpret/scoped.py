"""The values of a run while it goes on: scopes inside scopes, a name once in each chain."""

from __future__ import annotations

import dataclasses

from workbench.interpret.arrays import Array
from workbench.interpret.diagnostic import Violation
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.wording import q


@dataclasses.dataclass(frozen=True, eq=False)
class Held:
    """A value, the contract it was made under, and the component and port that made it.

    ``tokens`` is how many the call read, ``places`` ``[B]`` where it began to write into a buffer; None where unknown.
    """

    array: Array
    contract: TensorContract | None = None
    component: str = ""
    port: str = ""
    tokens: int | None = None
    places: Array | None = None


class Scope:
    """``place`` is the list or case of the document, ``iteration`` the rounds that it is in."""

    def __init__(self, place: Path, iteration: tuple[int, ...] = (), parent: Scope | None = None) -> None:
        self.place, self.iteration, self._parent = place, iteration, parent
        self._own: dict[str, Held] = {}

    def find(self, name: str) -> Held | None:
        """The value of a name as seen from here."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope._own:
                return scope._own[name]
            scope = scope._parent
        return None

    def read(self, name: str) -> Held:
        """The value of a name that must be there.

        Raises:
            Violation: nothing made it.
        """
        found = self.find(name)
        if found is None:
            raise Violation(
                "run.undefined",
                f"{q(name)} has no value here: no step before made it, or an input is absent.",
                "Give the input, or read it only where it is present.",
                name,
            )
        return found

    def define(self, name: str, held: Held) -> None:
        self._own[name] = held

"""One walk through the steps of a workflow: what is visible, what has been read and what is wrong, so far."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from functools import cached_property
from typing import Any

from workbench.metadata.context import AnyStep
from workbench.metadata.diagnostic import Path, show_path
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.registry import Finding
from workbench.metadata.scope.names import Draft, Names
from workbench.metadata.scope.records import Reader, Scope, Use
from workbench.metadata.wording import q

_READ = "is read here, and nothing that can be seen from here defines it."
_FEW, _SHORT = 1_000, 60  # how many names a similar one is looked for among, and how long they may be
Handlers = dict[type, Callable[..., None]]


class Walk:
    """``handlers`` say what to do at a step of each kind: they get the walk, the step and its path."""

    def __init__(self, workflow: Workflow, handlers: Handlers) -> None:
        self.workflow = workflow
        self.names = Names()
        self.tick = -1
        self.presence_is_bad = False  # rules 109 and 110: a predicate that nothing defines is their consequence
        self._handlers = handlers
        self._broken: list[tuple[int, Finding]] = []
        self._unknown: list[tuple[str, Use, int, str]] = []

    def tell(self, number: int, path: Path, message: str, hint: str = "") -> None:
        self._broken.append((number, Finding(path, message, hint)))

    def read(
        self, name: str, path: Path, step: Path, how: Reader, number: int = 199, said: str = _READ
    ) -> Draft | None:
        """The value of that name as seen from here.

        None where there is none, which breaks the rule of ``number``; ``said`` is the message after the name.
        """
        use = Use(path, step, how, self.tick)
        draft = self.names.get(name)
        if draft is not None:
            draft.uses.append(use)
        elif not (how == "predicate" and self.presence_is_bad):
            self._unknown.append((name, use, number, said))
        return draft

    def define(self, draft: Draft) -> bool:
        """Make a value visible from here on, unless its name is: a name is defined once among those visible."""
        draft.tick = self.tick
        before = self.names.define(draft)
        if before is not None:
            message = f"{q(draft.name)} is defined here again; the first time is {show_path(before.path)}."
            self.tell(204, draft.path, message, "Give one of the two another name.")
        return before is None

    def body(self, steps: tuple[AnyStep, ...], path: Path) -> None:
        """A list that must do something."""
        if not steps:
            self.tell(196, path, "The list of steps is empty.", "Remove it, or say what is to be done.")
        self.steps(steps, path)

    def steps(self, steps: tuple[AnyStep, ...], path: Path) -> None:
        for index, step in enumerate(steps):
            self.step(step, (*path, index))

    def step(self, step: AnyStep, path: Path) -> None:
        self.tick += 1
        self._handlers[type(step)](self, step, path)

    def done(self) -> Scope:
        for name, use, number, said in self._unknown:
            self.tell(number, use.path, f"{q(name)} {said}", self._hint(name))
        values = tuple(draft.done() for draft in self.names.drafts)
        return Scope(values, tuple((name, use) for name, use, _, _ in self._unknown), tuple(self._broken))

    def _hint(self, name: str) -> str:
        place = self._places.get(name)
        if place is not None:
            return f"It is defined at {show_path(place.path)}: later, or in a scope that does not reach here."
        if name in self.workflow.state:
            return f"The state cell {q(name)} is a value in and after a loop that carries it."
        near: list[Any] = []
        if len(self._places) <= _FEW and len(self._unknown) <= 20 and len(name) <= _SHORT:
            near = difflib.get_close_matches(name, [place for place in self._places if len(place) <= _SHORT], 1)
        return f"Is {q(near[0])} meant?" if near else "Define it before, or read another value."

    @cached_property
    def _places(self) -> dict[str, Draft]:
        return {draft.name: draft for draft in reversed(self.names.drafts)}

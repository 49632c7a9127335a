"""What the scope walk finds: each value of a workflow, who makes it, who reads it, and where it can be seen."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Literal

from workbench.metadata.context import WORKFLOW
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.registry import Finding

TOP: Path = (*WORKFLOW, "steps")
Producer = Literal["input", "presence", "invoke", "iteration", "carry", "loop", "branch"]
Reader = Literal[
    "port", "initializer", "initial", "next", "limit", "condition", "predicate", "join", "emit", "when",
    "valid_length", "recurrence", "serving",
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Use:
    """A place that reads a value.

    ``path`` is where its name stands, ``step`` the step that reads it (the workflow's path for serving), ``how`` what
    it is read as. ``tick`` counts steps in the order of the walk: it is the number of the last step that had begun.
    """

    path: Path
    step: Path
    how: Reader
    tick: int


@dataclasses.dataclass(frozen=True)
class Value:
    """One definition of a name. Two cases of a branch, or a loop's body and what is around it, may each have one.

    ``producer``: an input of the workflow, the presence of one, the port of an invocation, the iteration number of a
    loop, a state cell inside the loop that carries it, the cell after that loop, or what a branch takes out of its
    cases. ``path`` is where the definition stands and ``step`` the step that makes it (``path`` itself for an input).
    ``scope`` is the list or case it is defined in: ``(..., "steps")`` of the workflow or of a loop, ``(..., "setup")``,
    ``(..., "cases", name)`` or ``(..., "default")``; a sequence is none of its own. ``seen_in`` is the scope whose
    later steps see it, those inside them too: another one only for a setup, which runs in the scope around its loop.
    ``contract`` is None where nothing declares one. ``tick`` is that of the step, -1 for inputs.
    """

    name: str
    producer: Producer
    path: Path
    step: Path
    scope: Path
    seen_in: Path
    contract: TensorContract | None
    tick: int
    component: str | None = None
    port: str | None = None
    sources: tuple[str, ...] = ()  # what a branch joins, or the start and the next of a carried cell
    uses: tuple[Use, ...] = ()

    @property
    def first(self) -> Use | None:
        return self.uses[0] if self.uses else None

    @property
    def last(self) -> Use | None:
        return self.uses[-1] if self.uses else None

    @property
    def consumers(self) -> tuple[Path, ...]:
        """The steps that read it, each once, in order."""
        return tuple(dict.fromkeys(use.step for use in self.uses))

    @property
    def where(self) -> Literal["top", "setup", "body", "case"]:
        """The kind of the scope it is defined in."""
        if self.scope == TOP:
            return "top"
        if self.scope[-1] == "setup" and self.scope[-2] != "cases":
            return "setup"
        return "body" if self.scope[-1] == "steps" and self.scope[-2] != "cases" else "case"

    def __repr__(self) -> str:
        made = f"{self.component}.{self.port}" if self.component else self.producer
        return f"Value({self.name!r} from {made}, {self.where}, {len(self.uses)} uses)"


@dataclasses.dataclass(frozen=True)
class Scope:
    """The values of a workflow in the order of their definition, and what the walk found wrong.

    ``unknown`` are the names, and the places that read them, that nothing visible there defines.
    """

    values: tuple[Value, ...] = ()
    unknown: tuple[tuple[str, Use], ...] = ()
    broken: tuple[tuple[int, Finding], ...] = dataclasses.field(default=(), repr=False)

    @cached_property
    def by_name(self) -> dict[str, tuple[Value, ...]]:
        found: dict[str, list[Value]] = {}
        for value in self.values:
            found.setdefault(value.name, []).append(value)
        return {name: tuple(values) for name, values in found.items()}

    @cached_property
    def top(self) -> dict[str, Value]:
        """What is visible at the top level once all steps are done."""
        return {value.name: value for value in self.values if value.seen_in == TOP}

    @cached_property
    def _findings(self) -> dict[int, tuple[Finding, ...]]:
        found: dict[int, dict[tuple[Path, str], Finding]] = {}
        for number, finding in self.broken:
            found.setdefault(number, {}).setdefault((finding.path, finding.message), finding)
        return {number: tuple(findings.values()) for number, findings in found.items()}

    def findings(self, number: int) -> tuple[Finding, ...]:
        """What breaks a rule, in the order of the walk, each once."""
        return self._findings.get(number, ())

    def __repr__(self) -> str:
        return f"Scope({len(self.values)} values, {len(self.unknown)} unknown reads)"

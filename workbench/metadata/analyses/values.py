"""``value_table``: every value of a workflow, who makes it, who reads it, what it looks like and where it is seen."""

from __future__ import annotations

import dataclasses
from typing import Any

from workbench.metadata.analyses.opening import Source, opened, workflow_of
from workbench.metadata.analyses.tables import Table, contract_text
from workbench.metadata.context import WORKFLOW
from workbench.metadata.diagnostic import Path, show_path
from workbench.metadata.document.steps import EmitStep, InvokeStep, LoopStep
from workbench.metadata.scope import Use, Value


@dataclasses.dataclass(frozen=True)
class ValueRow:
    """One definition. ``users`` are the readers in words (``lm.mask``, ``emit tokens``), in the order of the walk."""

    value: Value
    maker: str
    users: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.value.name

    @property
    def contract(self) -> str:
        return contract_text(self.value.contract)

    @property
    def is_unused(self) -> bool:
        return not self.value.uses


@dataclasses.dataclass(frozen=True, repr=False)
class ValueTable(Table):
    """In the order of definition. A name stands once for each of its definitions."""

    entries: tuple[ValueRow, ...]
    unknown: tuple[tuple[str, Use], ...]
    COLUMNS = ("name", "maker", "contract", "scope", "users", "first_use", "last_use", "path")
    BRIEF = COLUMNS[:5]

    def of(self, name: str) -> tuple[ValueRow, ...]:
        """The definitions of a name."""
        return tuple(entry for entry in self.entries if entry.name == name)

    @property
    def unused(self) -> tuple[str, ...]:
        """Names of values that no step reads."""
        return tuple(entry.name for entry in self.entries if entry.is_unused)

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"name": e.name, "maker": e.maker, "contract": e.contract, "scope": e.value.where,
             "users": ", ".join(e.users), "first_use": _place(e.value.first), "last_use": _place(e.value.last),
             "path": show_path(e.value.path)}
            for e in self.entries
        ]  # fmt: skip

    def __repr__(self) -> str:
        return f"ValueTable({len(self.entries)} values, {len(self.unused)} unused, {len(self.unknown)} unknown reads)"


def value_table(source: Source, *, dialect: str = "auto") -> ValueTable:
    """The values of a workflow. Reads of names that nothing defines stand in ``unknown``."""
    context = opened(source, dialect)
    workflow_of(context)
    steps = {placed.path: placed.step for placed in context.steps}
    rows = [ValueRow(v, _maker(v), tuple(_user(use, steps) for use in v.uses)) for v in context.scope.values]
    return ValueTable(tuple(rows), context.scope.unknown)


def _maker(value: Value) -> str:
    if value.component:
        return f"{value.component}.{value.port}"
    if value.producer == "presence":
        return f"presence of {value.sources[0]}"
    if value.producer in ("carry", "loop", "branch"):
        return f"{value.producer} ({', '.join(value.sources)})"
    return value.producer


def _user(use: Use, steps: dict[Path, Any]) -> str:
    step = steps.get(use.step)
    if isinstance(step, InvokeStep):
        return f"{step.component}.{use.path[-1]}"
    if isinstance(step, EmitStep):
        return f"emit {step.output}" + ("" if use.how == "emit" else f" ({use.how})")
    if use.how == "initializer":
        return f"start of {use.path[-2]}"
    if use.how in ("initial", "next") and isinstance(step, LoopStep) and isinstance(use.path[-2], int):
        word = "start" if use.how == "initial" else "next"
        return f"{word} of {step.carried[use.path[-2]].cell}"
    if use.how == "serving":
        return f"serving.{use.path[-1]}"
    return f"{use.how} of {step.kind}" if step is not None else use.how


def _place(use: Use | None) -> str:
    return "" if use is None else show_path(use.path).removeprefix(show_path(WORKFLOW) + ".")

"""Rules: what one is, how one is written down, and which group a number belongs to."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from workbench.errors import Severity
from workbench.metadata.diagnostic import Path, Stage

if TYPE_CHECKING:
    from workbench.metadata.context import Context
    from workbench.metadata.document.workflow import Workflow

GROUPS: dict[str, tuple[str, int, int]] = {
    "A": ("Parsing and closed shape", 1, 11),
    "B": ("Document", 12, 16),
    "C": ("Generation", 17, 21),
    "D": ("Profiles", 22, 34),
    "E": ("Preprocessing", 35, 45),
    "F": ("Adapters", 46, 97),
    "G": ("Lowering", 98, 99),
    "H": ("Tensor contracts", 100, 102),
    "I": ("Workflow inputs", 103, 112),
    "J": ("Workflow outputs", 113, 122),
    "K": ("Components and effects", 123, 140),
    "L": ("State cells", 141, 156),
    "M": ("Serving and state groups", 157, 195),
    "N": ("Scope walk", 196, 232),
    "O": ("Batching", 233, 236),
    "P": ("Speculative decoding", 237, 270),
    "Q": ("Package files", 271, 274),
}
"""Letter: title, first and last number."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """What a rule yields: a place and what is wrong there. The rest of a diagnostic is the rule's own."""

    path: Path
    message: str
    hint: str = ""
    severity: Severity | None = None
    line: int | None = None  # only where the reader knows it already


Check = Callable[["Context"], Iterable[Finding]]
WorkflowCheck = Callable[["Context", "Workflow"], Iterable[Finding]]


@dataclasses.dataclass(frozen=True)
class Rule:
    """A numbered rule. ``unless`` are rules whose findings make this one's mere consequences."""

    number: int
    stage: Stage
    sentence: str
    check: Check = dataclasses.field(repr=False)
    unless: tuple[int, ...] = ()
    lowered: bool = False

    @property
    def group(self) -> str:
        return group_of(self.number)

    @property
    def code(self) -> str:
        return f"{self.group}{self.number}"


def group_of(number: int) -> str:
    for letter, (_, first, last) in GROUPS.items():
        if first <= number <= last:
            return letter
    raise KeyError(number)


_RULES: dict[int, Rule] = {}


def rule(number: int, stage: Stage, sentence: str, *, unless: tuple[int, ...] = ()) -> Callable[[Check], Check]:
    """Write a rule down. The function gets the context and yields a finding for each place that breaks the rule.

    A rule of a later stage than ``parse`` is asked only when the document parsed, so ``context.document`` is there.
    """

    def add(check: Check) -> Check:
        _add(Rule(number, stage, sentence, check, unless))
        return check

    return add


def workflow_rule(
    number: int, sentence: str, *, unless: tuple[int, ...] = (), lowered: bool = False
) -> Callable[[WorkflowCheck], WorkflowCheck]:
    """A semantic rule that is asked only about a document with a workflow, which it gets as second argument.

    ``lowered``: it reads what walking the steps gives, so it says nothing after an error of group G.
    """

    def add(check: WorkflowCheck) -> WorkflowCheck:
        def asked(context: Context) -> Iterable[Finding]:
            return check(context, context.workflow) if context.workflow else ()

        _add(Rule(number, "semantic", sentence, asked, unless, lowered))
        return check

    return add


def _add(made: Rule) -> None:
    group_of(made.number)
    if made.number in _RULES:
        raise ValueError(f"rule {made.number} stands twice")
    _RULES[made.number] = made


def collected() -> dict[int, Rule]:
    """All rules by number, in order."""
    return dict(sorted(_RULES.items()))

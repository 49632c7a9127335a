"""One finding about a document, and the tuple of all of them that ``validate`` returns."""

from __future__ import annotations

import dataclasses
import html
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from workbench import errors
from workbench.metadata.wording import q

if TYPE_CHECKING:
    import pandas as pd

Path = tuple[str | int, ...]
Stage = Literal["parse", "semantic", "package", "admission"]
STAGES: tuple[Stage, ...] = ("parse", "semantic", "package", "admission")
_PLAIN = re.compile(r"[\w/-]+\Z")
_LONGEST = 80


def show_path(path: Sequence[str | int]) -> str:
    """``pipeline.workflow.steps[0].inputs.mask``; a name with a dot or a space in it stands in brackets."""
    parts = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif len(step) <= _LONGEST and _PLAIN.match(step):
            parts.append(f".{step}")
        else:
            parts.append(f"[{q(step)}]")
    return "".join(parts).removeprefix(".")


@dataclasses.dataclass(frozen=True)
class Diagnostic(errors.Diagnostic):
    """A broken rule and the place that breaks it.

    ``code`` is the letter of the rule's group and its number (``N204``), ``rule`` the number alone; both are stable.
    ``path`` leads there in the document, ``line`` is its line in the text (the first is 1; None for a mapping).
    ``message`` speaks of this place; ``sentence`` is the rule in general.
    """

    rule: int = 0
    stage: Stage = "semantic"
    path: Path = ()
    line: int | None = None

    @property
    def sentence(self) -> str:
        from workbench.metadata.rules import RULES

        return RULES[self.rule].sentence

    def __str__(self) -> str:
        line = f"line {self.line}, " if self.line else ""
        hint = f" Hint: {self.hint}" if self.hint else ""
        return f"{self.severity} {self.code} [{line}{self.where or 'document'}]: {self.message}{hint}"


class Diagnostics(tuple[Diagnostic, ...]):
    """All findings of one document: parse, semantic, package, admission; in each the order of the document."""

    __slots__ = ()

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(found for found in self if found.severity == "error")

    @property
    def codes(self) -> tuple[str, ...]:
        """The distinct codes of errors, in order."""
        return tuple(dict.fromkeys(found.code for found in self.errors))

    @property
    def ok(self) -> bool:
        """Whether nothing is an error; warnings may stand."""
        return not self.errors

    def __repr__(self) -> str:
        if not self:
            return "Diagnostics(none)"
        shown = "\n".join(f"  {found}" for found in self[:20])
        more = f"\n  ... ({len(self) - 20} more)" if len(self) > 20 else ""
        return f"Diagnostics({len(self.errors)} errors of {len(self)})\n{shown}{more}"

    def _repr_html_(self) -> str:
        columns = ("severity", "code", "line", "path", "message", "hint")
        head = "".join(f"<th>{name}</th>" for name in columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(row[name]))}</td>" for name in columns) + "</tr>"
            for row in self._rows()
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def to_frame(self) -> pd.DataFrame:
        import pandas as pd

        columns = ["severity", "stage", "code", "rule", "line", "path", "message", "hint"]
        return pd.DataFrame(self._rows(), columns=columns)

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "severity": found.severity, "stage": found.stage, "code": found.code, "rule": found.rule,
                "line": found.line if found.line is not None else "", "path": found.where,
                "message": found.message, "hint": found.hint,
            }
            for found in self
        ]  # fmt: skip

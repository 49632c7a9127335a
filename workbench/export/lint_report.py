"""What ``lint`` found in a folder."""

from __future__ import annotations

import dataclasses
import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import Diagnostic

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["code", "severity", "message", "where", "hint"]


@dataclasses.dataclass(frozen=True)
class LintReport:
    """Contradictions between a folder's config, its graphs and its tokenizer, each with its fix.

    ``checks`` names what was looked at; ``skipped`` says what could not be, and why.
    """

    folder: Path
    findings: tuple[Diagnostic, ...]
    checks: tuple[str, ...]
    skipped: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """Findings with which the client fails or answers wrongly."""
        return tuple(found for found in self.findings if found.severity == "error")

    @property
    def ok(self) -> bool:
        """Whether there are no errors; warnings may remain."""
        return not self.errors

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the findings, in their order, each once."""
        return tuple(dict.fromkeys(found.code for found in self.findings))

    def __add__(self, other: LintReport) -> LintReport:
        """Two reports about one folder as one."""
        return LintReport(
            self.folder, (*self.findings, *other.findings), (*self.checks, *other.checks),
            (*self.skipped, *other.skipped),
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "folder": str(self.folder), "ok": self.ok, "checks": list(self.checks), "skipped": list(self.skipped),
            "findings": [dataclasses.asdict(found) for found in self.findings],
        }  # fmt: skip

    def to_frame(self) -> pd.DataFrame:
        """A row per finding: code, severity, message, where, hint."""
        import pandas as pd

        return pd.DataFrame([[getattr(found, name) for name in COLUMNS] for found in self.findings], columns=COLUMNS)

    def __repr__(self) -> str:
        count = f"{len(self.errors)} errors, {len(self.findings) - len(self.errors)} warnings"
        return f"LintReport({self.folder.name!r}: {count if self.findings else 'nothing found'}; {self._looked_at()})"

    def _looked_at(self) -> str:
        return f"{len(self.checks)} checks" + (f", {len(self.skipped)} skipped" if self.skipped else "")

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(getattr(found, name)))}</td>" for name in COLUMNS) + "</tr>"
            for found in self.findings
        )
        head = "".join(f"<th>{column}</th>" for column in COLUMNS)
        skipped = "".join(f"<li>{html.escape(text)}</li>" for text in self.skipped)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
        return f"<div><p>{html.escape(repr(self))}</p>{table}" + (f"<ul>{skipped}</ul>" if skipped else "") + "</div>"

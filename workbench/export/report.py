"""What an export wrote, or would write."""

from __future__ import annotations

import dataclasses
import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.export.lint_report import LintReport
from workbench.package import FileRecord

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["file", "size", "sha256"]


@dataclasses.dataclass(frozen=True, eq=False)
class ExportReport:
    """A folder for a client: its files, the words of ``genai_config.json``, and what the client needs to know.

    ``dry_run`` is True where nothing was written: sizes are known then, checksums are not. ``lint`` is what
    ``lint()`` says of config, graph and tokenizer.
    """

    folder: Path
    runtime: str
    execution_provider: str
    dtype: str
    files: tuple[FileRecord, ...]
    config: Mapping[str, Any]
    notes: tuple[str, ...]
    lint: LintReport
    dry_run: bool = False

    @property
    def size(self) -> int:
        """Bytes of all files but ``manifest.json``."""
        return sum(file.size for file in self.files)

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "folder": str(self.folder), "runtime": self.runtime, "execution_provider": self.execution_provider,
            "dtype": self.dtype, "dry_run": self.dry_run, "size": self.size,
            "files": [dataclasses.asdict(file) for file in self.files], "config": dict(self.config),
            "notes": list(self.notes), "lint": self.lint.to_dict(),
        }  # fmt: skip

    def to_frame(self) -> pd.DataFrame:
        """A row per file: file, size, sha256."""
        import pandas as pd

        return pd.DataFrame([dataclasses.astuple(file) for file in self.files], columns=COLUMNS)

    def __repr__(self) -> str:
        did = "would write" if self.dry_run else "wrote"
        return (
            f"ExportReport({self.execution_provider} {self.dtype} for {self.runtime}: {did} {len(self.files) + 1} "
            f"files, {self.size:,} bytes; {len(self.lint.findings)} findings)"
        )

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(file.name)}</td><td>{file.size:,}</td><td><code>{html.escape(file.sha256)}</code>"
            "</td></tr>"
            for file in self.files
        )
        head = "".join(f"<th>{column}</th>" for column in COLUMNS)
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        words = html.escape(json.dumps(self.config, indent=2, ensure_ascii=False))
        return (
            f"<div><p>{html.escape(repr(self))}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            f"<ul>{notes}</ul><details><summary>genai_config.json</summary><pre>{words}</pre></details>"
            f"{self.lint._repr_html_() if self.lint.findings else ''}</div>"
        )

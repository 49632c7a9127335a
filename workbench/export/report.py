"""What an export wrote, or would write."""

from __future__ import annotations

import dataclasses
import html
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.describe import InferenceMetadata
from workbench.export.lint_report import LintReport
from workbench.export.metadata_folder import DIALECT, FILE
from workbench.package import FileRecord

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["file", "size", "sha256"]


@dataclasses.dataclass(frozen=True, eq=False)
class ExportReport:
    """A folder for a client: its files, the words of ``genai_config.json``, and what the client needs to know.

    ``config`` is empty in a folder for onnx-genai alone, ``metadata`` None in one for onnxruntime-genai alone.
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
    metadata: InferenceMetadata | None = None

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
            "metadata": self.metadata.to(DIALECT).data if self.metadata is not None else None,
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
        return (
            f"<div><p>{html.escape(repr(self))}</p><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            f"<ul>{notes}</ul>{''.join(self._texts())}{self.lint._repr_html_() if self.lint.findings else ''}</div>"
        )

    def _texts(self) -> Iterator[str]:
        """The files that say what the client must know, folded."""
        if self.config:
            yield _folded("genai_config.json", json.dumps(self.config, indent=2, ensure_ascii=False))
        if self.metadata is not None:
            yield _folded(FILE, self.metadata.to_yaml(DIALECT))


def _folded(name: str, text: str) -> str:
    return f"<details><summary>{name}</summary><pre>{html.escape(text)}</pre></details>"

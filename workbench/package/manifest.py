"""``manifest.json``: what lies in a package's folder, and what made it."""

from __future__ import annotations

import dataclasses
import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.config.files import reason
from workbench.errors import Diagnostic, ModelFileError
from workbench.rules.report import Miss, OptimizationReport, RuleReport
from workbench.types import Stage

if TYPE_CHECKING:
    import pandas as pd

NAME = "manifest.json"
FORMAT = "ep-workbench.package"
VERSION = 1
COLUMNS = ["file", "size", "sha256"]


@dataclasses.dataclass(frozen=True)
class FileRecord:
    """A file of the folder: its name, size in bytes and sha256."""

    name: str
    size: int
    sha256: str


@dataclasses.dataclass(frozen=True)
class Manifest:
    """What ``manifest.json`` says. ``models`` maps a graph's key to its file; timings are left out on purpose, so
    that the same package gives the same manifest."""

    files: tuple[FileRecord, ...]
    models: Mapping[str, str]
    execution_provider: str = ""
    dtype: str = ""
    padding: str = "right"
    reports: Mapping[str, OptimizationReport] = dataclasses.field(default_factory=dict)
    config: Mapping[str, Any] | None = None
    source: Mapping[str, str] | None = None
    """``name, model_type, origin, revision`` of the source; its Hugging Face config is ``config.json``."""
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    def to_json(self) -> str:
        """The text of ``manifest.json``."""
        values = {
            "format": FORMAT,
            "format_version": VERSION,
            "execution_provider": self.execution_provider,
            "dtype": self.dtype,
            "padding": self.padding,
            "models": dict(self.models),
            "dropped_inputs": {key: list(report.dropped_inputs) for key, report in self.reports.items()},
            "source": self.source,
            "config": self.config,
            "versions": dict(self.versions),
            "files": [dataclasses.asdict(file) for file in self.files],
            "reports": {key: _report_values(report) for key, report in self.reports.items()},
            "diagnostics": [dataclasses.asdict(found) for found in self.diagnostics],
        }
        return json.dumps(values, indent=1, ensure_ascii=False) + "\n"

    def to_frame(self) -> pd.DataFrame:
        """A row per file: file, size, sha256."""
        import pandas as pd

        return pd.DataFrame([dataclasses.astuple(file) for file in self.files], columns=COLUMNS)

    def __repr__(self) -> str:
        place = f"{self.execution_provider} " if self.execution_provider else ""
        return f"Manifest({place}{self.dtype or 'no dtype'}: {len(self.files)} files, {self.size:,} bytes)"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(file.name)}</td><td>{file.size:,}</td><td><code>{html.escape(file.sha256)}"
            "</code></td></tr>"
            for file in self.files
        )
        head = "".join(f"<th>{column}</th>" for column in COLUMNS)
        return (
            f"<div><p>{html.escape(repr(self))}</p><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table></div>"
        )


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a package's folder.

    Raises:
        ModelFileError: it is missing, not ours, of a newer format, or damaged.
    """
    path = folder / NAME
    try:
        values = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {reason(error)}.") from None
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} is not valid JSON: {error}. Save the package again.") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not the manifest of a package ({FORMAT}); give load() the .onnx file.")
    version = values.get("format_version")
    if version != VERSION:
        raise ModelFileError(f"{path} has format version {version!r}; this workbench reads {VERSION}. Update it.")
    try:
        return _manifest(values)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(f"{path} is damaged ({type(error).__name__}: {error}). Save the package again.") from None


def is_package(folder: Path) -> bool:
    """Whether a folder holds a readable manifest of ours."""
    try:
        read_manifest(folder)
    except ModelFileError:
        return False
    return True


def _manifest(values: Mapping[str, Any]) -> Manifest:
    files = tuple(FileRecord(str(f["name"]), int(f["size"]), str(f["sha256"])) for f in values["files"])
    known = {file.name for file in files}
    for name in (*known, *values["models"].values()):
        if Path(name).name != name or name not in known:
            raise ValueError(f"{name!r} is not the name of a listed file in this folder")
    return Manifest(
        files=files,
        models={str(key): str(name) for key, name in values["models"].items()},
        execution_provider=str(values["execution_provider"]),
        dtype=str(values["dtype"]),
        padding=str(values["padding"]),
        reports={str(key): _report(report) for key, report in values["reports"].items()},
        config=values["config"],
        source=values["source"],
        versions=dict(values["versions"]),
        diagnostics=_diagnostics(values["diagnostics"]),
    )


def _report_values(report: OptimizationReport) -> dict[str, Any]:
    values = dataclasses.asdict(dataclasses.replace(report, seconds={}))
    del values["seconds"]
    for rule in values["rules"]:
        rule["stage"] = Stage(rule["stage"]).name.lower()
        del rule["seconds"]
    return values


def _report(values: Mapping[str, Any]) -> OptimizationReport:
    return OptimizationReport(
        **{
            **values,
            "planned": _pairs(values["planned"]),
            "skipped": _pairs(values["skipped"]),
            "rules": tuple(_rule(rule) for rule in values["rules"]),
            "diagnostics": _diagnostics(values["diagnostics"]),
            "dropped_inputs": tuple(values["dropped_inputs"]),
        }
    )


def _rule(values: Mapping[str, Any]) -> RuleReport:
    misses = {key: tuple(Miss(**miss) for miss in values[key]) for key in ("misses", "partial")}
    return RuleReport(**{**values, **misses, "stage": Stage[values["stage"].upper()]})


def _pairs(values: Any) -> tuple[tuple[str, str], ...]:
    return tuple((str(first), str(second)) for first, second in values)


def _diagnostics(values: Any) -> tuple[Diagnostic, ...]:
    return tuple(Diagnostic(**found) for found in values)

"""What onnx-genai finds in a folder: ``inference_metadata.yaml`` and the small graphs that its workflow names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.describe import InferenceMetadata, beside
from workbench.describe.result import FILE
from workbench.errors import Diagnostic, WorkbenchError
from workbench.export.lint_report import LintReport
from workbench.export.subject import finding
from workbench.metadata import check_ports, dialect_of, load, validate
from workbench.metadata.reading import FILE_NAMES
from workbench.package import Package

DIALECT = "v1"
"""The dialect that the published client reads."""
RULES, PORTS = "metadata.rules", "metadata.ports"
KINDS = (
    (RULES, "rules of inference metadata, files that it names"),
    (PORTS, "ports of the workflow against the graphs"),
)


def files_of(metadata: InferenceMetadata) -> dict[str, bytes]:
    """The document as the client reads it, and its policy graphs."""
    return dict(beside.files_of(metadata, DIALECT))


def metadata_notes(made: Package, metadata: InferenceMetadata) -> Iterator[str]:
    """What whoever runs the folder has to know."""
    yield from metadata.notes
    for remark in metadata.to(DIALECT).unsaid:
        yield f"Not said to the client: {remark.message}"
    if made.padding == "right" and any("attention_mask" in (v.name or "") for v in _inputs(made)):
        yield "Rows of a batch may be padded on the right only."


def _inputs(made: Package) -> Iterator[Any]:
    for model in made.models.values():
        yield from model.graph.inputs


# --- checks -------------------------------------------------------------------------------------------------------
def document_in(folder: Path) -> Path | None:
    """The metadata file of a folder, the one that the client takes; None where there is none."""
    return next((folder / name for name in FILE_NAMES if (folder / name).exists()), None)


def check_folder(folder: Path) -> LintReport:
    """A folder's document: every rule, every file it names, every port against its graph."""
    path = document_in(folder)
    assert path is not None
    return _report(folder, path.name, path, folder)


def check_made(folder: Path, metadata: InferenceMetadata, *, written: bool) -> LintReport:
    """The same of a document that was just made; before it is written there are no files to compare with."""
    return check_folder(folder) if written else _report(folder, FILE, metadata.to(DIALECT).data, None)


def _report(folder: Path, name: str, source: Path | Mapping[str, Any], root: Path | None) -> LintReport:
    dialect = dialect_of(load(source).data)
    broken = validate(source, dialect=dialect, package_root=root)
    found = [
        finding(
            RULES, f"{one.code}: {one.message}", f"{name}: {one.where}" if one.where else name, one.hint, one.severity
        )
        for one in broken
    ]
    if root is None:
        return LintReport(folder, tuple(found), (RULES,), ("Nothing was written, so no graph was compared.",))
    if broken.errors:
        return LintReport(folder, tuple(found), (RULES,), ("A document with errors is not held against graphs.",))
    return LintReport(folder, (*found, *_ports(source, root, dialect, name)), (RULES, PORTS))


def _ports(source: Path | Mapping[str, Any], root: Path, dialect: str, name: str) -> Iterator[Diagnostic]:
    try:
        rows = check_ports(source, root, dialect=dialect).entries
    except WorkbenchError as error:  # a document without a workflow
        yield finding(PORTS, str(error), name, "Export the model again.", "warning")
        return
    for row in rows:
        if row.verdict in ("differs", "unread"):
            what = f"{row.side[:-1]} {row.port!r} of " if row.port else "the graph of "
            yield finding(
                PORTS, f"{what}{row.component!r}: {row.detail}.".capitalize(), name,
                "Correct the document, or export the model again.",
            )  # fmt: skip


__all__ = ["DIALECT", "FILE", "KINDS", "check_folder", "check_made", "document_in", "files_of", "metadata_notes"]

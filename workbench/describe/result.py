"""``InferenceMetadata``: a document that was made for a package, and the small graphs that belong to it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from workbench.analysis.markup import block, escape, table
from workbench.describe.builder import plain
from workbench.metadata.diagnostic import Diagnostics
from workbench.metadata.dialects import Conversion, convert, to_yaml
from workbench.metadata.document import Document
from workbench.metadata.reading import FILE_NAMES
from workbench.metadata.validation import validate

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["part", "name", "about"]
FILE = FILE_NAMES[0]


@dataclasses.dataclass(frozen=True, eq=False)
class InferenceMetadata:
    """What a runtime must know of a package.

    ``kind`` says how it was described; ``artifacts`` are graphs that the workflow needs beside those of the package,
    by file name; ``models`` are graphs that take the place of the package's own, by key; ``notes`` are for
    whoever runs it.
    """

    document: Document
    kind: str
    name: str = ""
    artifacts: Mapping[str, ir.Model] = dataclasses.field(default_factory=dict)
    models: Mapping[str, ir.Model] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @cached_property
    def data(self) -> dict[str, Any]:
        """Plain data in the dialect that the rules are written for (``pr828``)."""
        return plain(self.document)

    def to(self, dialect: str, *, schema_version: str | None = None) -> Conversion:
        """The document in a dialect, with remarks about what it has no words for.

        Raises:
            UnknownNameError: no such dialect, or no such version of it.
        """
        return convert(self.data, dialect, schema_version=schema_version)

    def to_yaml(self, dialect: str = "v1") -> str:
        """The text of ``inference_metadata.yaml``; ``v1`` is what the published client reads.

        Raises:
            UnknownNameError: no such dialect.
        """
        return to_yaml(self.to(dialect).data)

    def validate(self, dialect: str = "pr828") -> Diagnostics:
        """Every rule that the document breaks in a dialect; none, unless something here is wrong."""
        return validate(self.to(dialect).data, dialect=dialect)

    def save_beside(
        self, folder: str | os.PathLike[str], *, dialect: str = "v1", overwrite: bool = False
    ) -> tuple[Path, ...]:
        """Write the document and its policy graphs into a folder that holds the graphs already; gives the files.

        Each file is there whole or not at all, the document last.

        Raises:
            ModelFileError: there is no such folder, or it lacks a graph that the workflow names.
            SaveError: a file is there already, or the disk refuses.
            UnsupportedError: the workflow needs another graph than the one that is there; ``export`` writes both.
            UnknownNameError: no such dialect.
            ArgumentError: ``folder`` is no path.
        """
        from workbench.describe.beside import save_beside

        return save_beside(self, folder, dialect=dialect, overwrite=overwrite)

    def _rows(self) -> list[list[Any]]:
        workflow = self.document.workflow
        assert workflow is not None
        groups = workflow.serving.state_service.groups if workflow.serving else {}
        parts: dict[str, Any] = {
            "input": workflow.inputs, "output": workflow.outputs, "component": workflow.components,
            "state cell": workflow.state, "state group": groups,
        }  # fmt: skip
        return [[part, name, _about(entry)] for part, entries in parts.items() for name, entry in entries.items()]

    def to_frame(self) -> pd.DataFrame:
        """A row per input, output, component, state cell and state group: part, name, about."""
        import pandas as pd

        return pd.DataFrame(self._rows(), columns=COLUMNS)

    def __repr__(self) -> str:
        extra = f"; {len(self.artifacts)} policy graphs" if self.artifacts else ""
        return f"InferenceMetadata({self.name!r} as {self.kind}: {self.document!r}{extra})"

    def _repr_html_(self) -> str:
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        text = f"<details><summary>{FILE}</summary><pre>{escape(self.to_yaml())}</pre></details>"
        return block(repr(self), table(COLUMNS, self._rows()), f"<ul>{notes}</ul>" if notes else "", text)


def _about(entry: Any) -> str:
    from workbench.metadata.analyses.tables import contract_text

    if (contract := getattr(entry, "contract", None)) is not None and hasattr(contract, "dtype"):
        return contract_text(contract)
    if (made := getattr(entry, "implementation", None)) is not None:
        promised = f", {entry.contract.id} {entry.contract.version}" if entry.contract else ""
        return f"{made.kind} {getattr(made, 'artifact', None) or ''}".strip() + promised
    cells = {cell for aliases in entry.ports.values() for cell in aliases}
    return f"{entry.kind}, {entry.layout}, {len(cells)} cells"


__all__ = ["FILE", "InferenceMetadata"]

"""What an import gives: the document, and the fate of every value of the config."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.analysis.markup import block, table
from workbench.describe import InferenceMetadata
from workbench.importing.entries import ConfigEntry
from workbench.metadata.wording import brief

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ["path", "value", "fate", "note"]
_SHOWN = 500


@dataclasses.dataclass(frozen=True, eq=False)
class GenaiImport:
    """A folder of ONNX Runtime GenAI as a described package.

    ``entries`` has every value of ``genai_config.json`` in its order: imported, and where it went, or lost, and why.
    Where the graph is not what a client of workflows can take, ``metadata.artifacts`` holds one that is: sizes of the
    cache written into its ports, caches kept whole; ``notes`` say so.
    """

    folder: Path
    metadata: InferenceMetadata
    entries: tuple[ConfigEntry, ...]

    @property
    def losses(self) -> tuple[ConfigEntry, ...]:
        """What the document says nothing of: path, value, and the reason (``note``)."""
        return tuple(entry for entry in self.entries if entry.is_lost)

    @property
    def notes(self) -> tuple[str, ...]:
        """For whoever runs the package."""
        return self.metadata.notes

    def save(self, *, overwrite: bool = False) -> tuple[Path, ...]:
        """Write ``inference_metadata.yaml`` into the folder, beside the config, in the dialect of the published client,
        and the graphs of ``metadata.artifacts``, which share the weights files of the old ones. Returns the files
        written; no other file is changed.

        Raises:
            SaveError: the folder has such a file already (``overwrite`` replaces it), or the disk refuses.
        """
        from workbench.importing.saving import save

        return save(self, overwrite=overwrite)

    def to_dict(self) -> dict[str, Any]:
        """As plain values; the document in the dialect of the published client."""
        return {
            "folder": str(self.folder), "kind": self.metadata.kind, "losses": [_row(entry) for entry in self.losses],
            "imported": [_row(entry) for entry in self.entries if not entry.is_lost], "notes": list(self.notes),
            "graphs": list(self.metadata.artifacts), "document": self.metadata.to("v1").data,
        }  # fmt: skip

    def to_frame(self) -> pd.DataFrame:
        """A row per value of the config: path, value, fate, note."""
        import pandas as pd

        return pd.DataFrame([dataclasses.astuple(entry) for entry in self.entries], columns=COLUMNS)

    def __repr__(self) -> str:
        lost = len(self.losses)
        return (
            f"GenaiImport({self.folder.name!r} as {self.metadata.kind}: {len(self.entries) - lost} values imported, "
            f"{lost} lost)"
        )

    def _repr_html_(self) -> str:
        lost_first = sorted(self.entries, key=lambda entry: not entry.is_lost)[:_SHOWN]
        rows = [(one.path, brief(one.value), one.fate, one.note) for one in lost_first]
        return block(repr(self), table(COLUMNS, rows), self.metadata._repr_html_())


def _row(entry: ConfigEntry) -> Mapping[str, Any]:
    return dataclasses.asdict(entry)

"""One key of ``genai_config.json`` and its fate."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from workbench.errors import LossyImportError, some
from workbench.metadata.wording import brief

Fate = Literal["imported", "dropped", "unknown"]


@dataclasses.dataclass(frozen=True)
class ConfigEntry:
    """A value of the config. ``note`` says where in the document it went, or why it is lost."""

    path: str
    value: Any
    fate: Fate
    note: str

    @property
    def is_lost(self) -> bool:
        """Whether the document says nothing of it."""
        return self.fate != "imported"

    def __str__(self) -> str:
        arrow = "->" if self.fate == "imported" else f"{self.fate}:"
        return f"{self.path} = {brief(self.value)} {arrow} {self.note}"


def lossy(folder: object, losses: tuple[ConfigEntry, ...]) -> LossyImportError:
    """The error of an import that would lose these."""
    unknown = [loss for loss in losses if loss.fate == "unknown"]
    dropped = [loss for loss in losses if loss.fate == "dropped"]
    parts = [f"unknown: {_named(unknown)}"] if unknown else []
    parts += [f"without a place in a document: {_named(dropped)}"] if dropped else []
    count = "1 value" if len(losses) == 1 else f"{len(losses)} values"
    return LossyImportError(
        f"The import of {folder} would lose {count} of genai_config.json; {'; '.join(parts)}. Pass allow_lossy=True "
        "(--allow-lossy) to go on without, each listed with the reason, or remove them from the config.",
        losses,
    )


def _named(losses: list[ConfigEntry]) -> str:
    return some([f"{loss.path} ({brief(loss.value)[:40]})" for loss in losses], 4)

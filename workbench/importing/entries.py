"""One key of ``genai_config.json`` and its fate."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from workbench.errors import UnsupportedError, some
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


class LossyImportError(UnsupportedError):
    """An import would lose something and was not allowed to; ``losses`` has every entry."""

    def __init__(self, folder: str, losses: tuple[ConfigEntry, ...]) -> None:
        self.losses = losses
        unknown = [loss for loss in losses if loss.fate == "unknown"]
        parts = [f"unknown: {_named(unknown)}"] if unknown else []
        dropped = [loss for loss in losses if loss.fate == "dropped"]
        parts += [f"without a place in the document: {_named(dropped)}"] if dropped else []
        super().__init__(
            f"The import of {folder} would lose {len(losses)} of the values of its genai_config.json: "
            f"{'; '.join(parts)}. Pass allow_lossy=True (--allow-lossy) to go on without them, each listed with the "
            "reason, or remove them from the config."
        )


def _named(losses: list[ConfigEntry]) -> str:
    return some([f"{loss.path} ({brief(loss.value)[:40]})" for loss in losses], 4)

"""What a conversion has to say of a place."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from workbench.metadata.diagnostic import show_path
from workbench.metadata.dialects.places import Path

Kind = Literal["derived", "reworded", "added", "unsaid"]
KINDS: dict[Kind, str] = {
    "derived": "left out, because the reader derives it",
    "reworded": "said in other words",
    "added": "demanded there and not stated here",
    "unsaid": "cannot be said there",
}


@dataclasses.dataclass(frozen=True)
class Remark:
    """A place that does not go over as it is. ``unsaid`` is the kind that costs meaning."""

    kind: Kind
    path: Path
    message: str
    value: Any = None

    @property
    def where(self) -> str:
        return show_path(self.path)

    def __str__(self) -> str:
        return f"{self.kind} [{self.where}]: {self.message}"

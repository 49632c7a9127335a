"""What reading gives: plain data, the faults on the way, and where each path stands in the text."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Literal

from workbench.metadata.reading.limits import Fault, Path

Syntax = Literal["yaml", "json", "mapping"]


@dataclasses.dataclass(frozen=True)
class Loaded:
    """A document as plain data. ``data`` is None where nothing could be read; then ``faults`` says why."""

    data: Any = dataclasses.field(repr=False)
    faults: tuple[Fault, ...] = ()
    text: str | None = dataclasses.field(default=None, repr=False)
    syntax: Syntax = "mapping"
    name: str = ""

    def lines(self, paths: Iterable[Path]) -> dict[Path, int | None]:
        """The line of each path (the first is 1), or of what lies nearest above it; None without a text."""
        from workbench.metadata.reading.positions import lines_of

        asked = set(paths)
        if self.text is None or not asked:
            return dict.fromkeys(asked)
        return lines_of(self.text, self.syntax, asked)

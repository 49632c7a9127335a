"""Bounds of a run: nothing that a document says may make it endless, or fill the memory."""

from __future__ import annotations

import dataclasses

from workbench.errors import wrong_type


@dataclasses.dataclass(frozen=True)
class Limits:
    """``max_rounds`` of one loop; ``max_steps`` records of the trace; ``value_bytes`` of one value and ``kept_bytes``
    of all values that the trace keeps (larger ones are summarised); ``seconds`` of wall-clock time (None: no limit).
    """

    max_rounds: int = 4096
    max_steps: int = 200_000
    value_bytes: int = 2**20
    kept_bytes: int = 2**28
    seconds: float | None = None

    def __post_init__(self) -> None:
        for field in ("max_rounds", "max_steps", "value_bytes", "kept_bytes"):
            value = getattr(self, field)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise wrong_type(field, value, "a whole number, 0 or more")
        seconds = self.seconds
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0):
            raise wrong_type("seconds", seconds, "a number above 0, or None")

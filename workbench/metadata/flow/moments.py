"""A recorded run as moments to step through: plain texts, so that a page without a kernel can show them."""

from __future__ import annotations

import dataclasses

from workbench.metadata.diagnostic import Path


@dataclasses.dataclass(frozen=True)
class SeenValue:
    """A value at a moment. ``type`` is ``int64[1, 3]``, ``numbers`` the numbers of a small one or a summary."""

    name: str
    type: str
    numbers: str = ""


@dataclasses.dataclass(frozen=True)
class Moment:
    """What happened at one step: the values it read and made. ``note`` tells rounds, choices and faults."""

    path: Path
    note: str = ""
    read: tuple[SeenValue, ...] = ()
    made: tuple[SeenValue, ...] = ()

"""Ctrl-C and SIGTERM: tidy up, then leave with the status that shells expect."""

from __future__ import annotations

import contextlib
import signal
from types import FrameType

INTERRUPTED = 130
_arrived: list[int] = []


def install() -> None:
    """Raise once when stopped; an impatient second signal must not interrupt the tidying that the first began."""
    _arrived.clear()
    with contextlib.suppress(ValueError):  # not the main thread: somebody else cares for signals
        signal.signal(signal.SIGINT, _stop)
        signal.signal(signal.SIGTERM, _stop)


def stopped_by() -> int | None:
    """The signal that came, if one did.

    Whatever goes wrong after it is its doing: a binary module that is being imported turns the interruption into an
    ImportError, for one.
    """
    return _arrived[0] if _arrived else None


def _stop(number: int, frame: FrameType | None) -> None:
    _arrived.append(number)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt

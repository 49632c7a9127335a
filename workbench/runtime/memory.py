"""How much memory this process has held at most: since it began, or since somebody asked to forget."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
# Pages that come and go between two readings of one process, in kB.
_SLACK = 64 * 1024


def forget_peak() -> bool:
    """Begin the measurement anew and say whether the system did; where it did not, the peak is the whole process's.

    A container that keeps ``/proc`` from being written either refuses or takes the word and does nothing, so the
    answer is read back: a peak that is forgotten is no larger than what is held now, give or take the pages between.
    """
    try:
        _CLEAR.write_text("5")
        held = _kilobytes("VmRSS:")
    except (OSError, ValueError, IndexError):
        return False
    return _kilobytes("VmHWM:") <= held + _SLACK


def _kilobytes(word: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(word):
            return int(line.split()[1])
    raise ValueError(f"{_STATUS} has no line {word}")


def peak_bytes() -> int:
    """The largest resident size so far, mapped weights included; 0 where the system does not tell."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return _kilobytes("VmHWM:") * 1024
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

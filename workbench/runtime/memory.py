"""How much memory this process has held at most: since it began, or since somebody asked to forget."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def forget_peak() -> None:
    """Begin the measurement anew, where the system can (Linux); elsewhere it counts from the start of the process."""
    with contextlib.suppress(OSError):
        _CLEAR.write_text("5")


def peak_bytes() -> int:
    """The largest resident size so far, mapped weights included; 0 where the system does not tell."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

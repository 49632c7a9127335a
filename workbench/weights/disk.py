"""Two requests to the disk that speed up writing a large file; where a system knows them not, nothing is lost."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import sys
from typing import Any

from workbench.config.files import is_no_space

_START_WRITING = 2  # SYNC_FILE_RANGE_WRITE


def reserve(handle: int, size: int) -> None:
    """Claim ``size`` bytes for a new file at once: in one stretch, and a disk without room says so before the work.

    Raises:
        OSError: there is no room (and for no other reason).
    """
    if size and (libc := _libc()) is not None and hasattr(libc, "fallocate"):
        if libc.fallocate(handle, 0, ctypes.c_int64(0), ctypes.c_int64(size)) != 0:
            error = OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            if is_no_space(error):
                raise error


def start_writing(handle: int) -> None:
    """Let the disk begin with what was written so far, without waiting for it where the system can."""
    libc = _libc()
    if libc is not None and hasattr(libc, "sync_file_range"):
        libc.sync_file_range(handle, ctypes.c_int64(0), ctypes.c_int64(0), _START_WRITING)
    else:
        with contextlib.suppress(OSError):  # only the last flush has to succeed
            getattr(os, "fdatasync", os.fsync)(handle)


@functools.cache
def _libc() -> Any:
    """The C library of a 64-bit Linux, else None."""
    if not sys.platform.startswith("linux") or sys.maxsize < 2**32:
        return None
    try:
        return ctypes.CDLL(None, use_errno=True)
    except OSError:
        return None

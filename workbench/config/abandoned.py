"""Hidden folders that killed writers left behind: told apart from those of living ones by a lock.

A writer locks its temporary folder (``flock`` on the folder itself). The system lets go of the lock when the process
ends, however it ends, so a folder whose lock is free has no owner. Where folders cannot be locked (Windows, some
network disks) nothing is removed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

_SUFFIX = re.compile(r"\.[0-9a-f]{12}\.tmp")


def lock(folder: Path) -> int | None:
    """A handle that holds the lock of a folder; None where folders cannot be locked.

    Raises:
        BlockingIOError: somebody else holds it.
        FileNotFoundError: the folder was removed before it was locked.
    """
    if fcntl is None:
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_ino != os.stat(folder).st_ino:
            raise FileNotFoundError(folder)
    except (BlockingIOError, FileNotFoundError):
        os.close(handle)
        raise
    except OSError:  # a disk without locks
        os.close(handle)
        return None
    return handle


def remove_abandoned(path: Path) -> list[Path]:
    """Remove the temporary folders of ``path`` whose writers are dead; those that were removed."""
    removed = []
    for folder in _siblings(path):
        with contextlib.suppress(OSError):  # a living owner's, or not ours to remove
            handle = lock(folder)
            if handle is None:
                continue
            try:
                shutil.rmtree(folder)
                removed.append(folder)
            finally:
                os.close(handle)
    return removed


def _siblings(path: Path) -> Iterator[Path]:
    """Folders named as :func:`workbench.config.files.temporary_name` names them; links are none."""
    head = f".{path.name}"
    with contextlib.suppress(OSError):
        for entry in sorted(path.parent.iterdir()):
            if entry.name.startswith(head) and _SUFFIX.fullmatch(entry.name[len(head) :]):
                if entry.is_dir() and not entry.is_symlink():
                    yield entry

"""Files that a document names, looked for below the folder of its package and nowhere else."""

from __future__ import annotations

import os
import pathlib
import stat
from typing import Literal

Verdict = Literal["there", "absent", "outside", "no-file"]
_MOST_LINKS = 40


def look_for(root: pathlib.Path, name: str) -> Verdict:
    """Whether a path names a regular file below the root. Nothing outside the root is looked at.

    Links are followed step by step, as long as they stay inside.
    """
    if os.path.isabs(name) or pathlib.PureWindowsPath(name).anchor:
        return "outside"
    try:
        return _walk(pathlib.Path(os.path.realpath(root)), name)
    except (OSError, ValueError):  # a name that no file can have, a folder that may not be entered
        return "absent"


def _walk(root: pathlib.Path, name: str) -> Verdict:
    here, waiting, links = root, name.split("/")[::-1], 0
    while waiting:
        part = waiting.pop()
        if part == ".." and here == root:
            return "outside"
        step = here.parent if part == ".." else here / part
        if not step.is_symlink():
            if waiting and not step.is_dir():
                return "absent"
            here = step
            continue
        links += 1
        target = _target(root, os.readlink(step))
        if target is None or links > _MOST_LINKS:
            return "absent" if target else "outside"
        here = root if target[0] else here
        waiting.extend(target[1].split("/")[::-1])
    if not here.exists():
        return "absent"
    return "there" if stat.S_ISREG(here.stat().st_mode) else "no-file"


def _target(root: pathlib.Path, target: str) -> tuple[bool, str] | None:
    """Whether a link starts again from the root, and the way it goes; None where it leaves the package."""
    if not os.path.isabs(target):
        return False, target
    whole = pathlib.PurePath(os.path.normpath(target))
    return (True, os.path.relpath(whole, root)) if whole.is_relative_to(root) else None

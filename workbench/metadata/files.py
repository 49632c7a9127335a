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
    waiting, here, links = list(reversed(name.split("/"))), root, 0
    while waiting:
        part = waiting.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if here == root:
                return "outside"
            here = here.parent
            continue
        step = here / part
        if not step.is_symlink():
            if waiting and not step.is_dir():
                return "absent"
            here = step
            continue
        links += 1
        target = os.readlink(step)
        if links > _MOST_LINKS:
            return "absent"
        if os.path.isabs(target):
            if not _is_below(root, target):
                return "outside"
            here, target = root, os.path.relpath(os.path.normpath(target), root)
        waiting.extend(reversed(target.split("/")))
    if not here.exists():
        return "absent"
    return "there" if stat.S_ISREG(here.stat().st_mode) else "no-file"


def _is_below(root: pathlib.Path, target: str) -> bool:
    return pathlib.PurePath(os.path.normpath(target)).is_relative_to(root)

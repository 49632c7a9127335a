"""Where our files live and how they get there whole: the cache folder, atomic writes, durable renames."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from workbench.config.abandoned import lock, remove_abandoned
from workbench.errors import ArgumentError, ModelFileError, wrong_type

CACHE_VARIABLE = "EP_WORKBENCH_CACHE"
"""Environment variable that names another cache folder."""

_BLOCK = 1 << 22
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


def cache_dir() -> Path:
    """The user's cache folder (``EP_WORKBENCH_CACHE``, else the platform's); not created here."""
    if chosen := os.environ.get(CACHE_VARIABLE):
        return Path(chosen).expanduser()
    import platformdirs

    return Path(platformdirs.user_cache_dir("ep-workbench", appauthor=False))


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a folder is there; a name that no folder can have is none."""
    try:
        return Path(path).is_dir()
    except OSError:
        return False


def existing_folder(folder: object) -> Path:
    """A folder that is there, absolute.

    Raises:
        ArgumentError: it is no path.
        ModelFileError: there is no such folder.
    """
    if isinstance(folder, bytes) or not isinstance(folder, str | os.PathLike):
        raise wrong_type("folder", folder, "a path")
    if "\0" in os.fspath(folder):
        raise ArgumentError(f"{os.fspath(folder)!r} cannot be the name of a folder.")
    place = Path(os.path.abspath(Path(folder).expanduser()))
    if not is_folder(place):
        what = "is a file; give its folder" if os.path.isfile(place) else "no such folder"
        raise ModelFileError(f"{place}: {what}.")
    return place


def sha256_file(path: Path) -> str:
    """The sha256 of a file, in hex."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def is_no_space(error: OSError) -> bool:
    """Whether the error says that the disk or the quota is full."""
    return error.errno in _NO_SPACE


def reason(error: OSError) -> str:
    """The system's words for the error, without a path: "No space left on device"."""
    return error.strerror or str(error) or type(error).__name__


def sync_folder(folder: Path) -> None:
    """Make a rename inside ``folder`` durable, where the platform can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sync_file(path: Path) -> None:
    """Flush a written file to the disk."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def temporary_name(path: Path) -> Path:
    """A free, hidden name beside ``path``, on the same disk."""
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")


@contextlib.contextmanager
def temporary_sibling(path: Path) -> Iterator[Path]:
    """The path of a new empty file beside ``path``; removed on the way out unless it has been renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = temporary_name(path)
    try:
        open(temporary, "xb").close()
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def temporary_folder(path: Path) -> Iterator[Path]:
    """A new empty folder beside ``path``; removed with what it holds unless it has been renamed.

    What killed writers of the same ``path`` left there is removed first.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(path)
    temporary, handle = _locked_folder(path)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if handle is not None:
            os.close(handle)


def _locked_folder(path: Path) -> tuple[Path, int | None]:
    """A new folder that is known to be ours; one that somebody removed before it was locked is made again."""
    while True:
        temporary = temporary_name(path)
        temporary.mkdir()
        try:
            return temporary, lock(temporary)
        except (BlockingIOError, FileNotFoundError):
            continue
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise


def write_atomic(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path`` so that a reader sees the old file, the new one, or none, never a part."""
    write_all(path.parent, {path.name: data})


def write_all(folder: Path, files: Mapping[str, bytes]) -> tuple[Path, ...]:
    """Write files of a folder, each as :func:`write_atomic` does, and all or none of them.

    They are written beside their places first and take them in their order: a full disk or a missing right shows before
    the first of them has replaced anything.
    """
    with contextlib.ExitStack() as stack:
        staged = []
        for path, data in ((folder / name, data) for name, data in files.items()):
            if path.is_dir():  # the one thing that would refuse to be replaced
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
            temporary = stack.enter_context(temporary_sibling(path))
            temporary.write_bytes(data)
            sync_file(temporary)
            staged.append((temporary, path))
        for temporary, path in staged:
            os.replace(temporary, path)
    sync_folder(folder)
    return tuple(path for _, path in staged)

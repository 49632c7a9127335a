"""Requests to the disk: they help where a system knows them and cost nothing where it does not."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from workbench.weights import disk


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="fallocate is Linux's")
def test_reserved_bytes_belong_to_the_file(tmp_path: Path) -> None:
    with open(tmp_path / "file", "wb") as file:
        disk.reserve(file.fileno(), 3 << 20)
        assert os.stat(file.fileno()).st_blocks * 512 >= 3 << 20
        disk.reserve(file.fileno(), 0)


class _Refusing:
    """A C library whose calls fail with one error number."""

    def __init__(self, number: int) -> None:
        self.number = number

    def fallocate(self, *_: Any) -> int:
        import ctypes

        ctypes.set_errno(self.number)
        return -1


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_known_before_the_work(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(disk, "_libc", lambda: _Refusing(number))
    with pytest.raises(OSError) as caught:
        disk.reserve(0, 10)
    assert caught.value.errno == number


@pytest.mark.parametrize("libc", [None, _Refusing(errno.EOPNOTSUPP), object()])
def test_a_system_without_them_writes_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, libc: object
) -> None:
    monkeypatch.setattr(disk, "_libc", lambda: libc)
    with open(tmp_path / "file", "wb", buffering=0) as file:
        disk.reserve(file.fileno(), 10)
        file.write(b"words")
        disk.start_writing(file.fileno())
    assert (tmp_path / "file").read_bytes() == b"words"
    disk.start_writing(999_999)  # nothing is raised: only the last flush has to succeed

"""Saving a package of the built-in model against copying the same bytes with fsync, in one run.

    python benchmarks/saving.py [--execution-provider cpu] [--dtype float32]

Prints one JSON object. ``ratio`` is the smallest saving time over the smallest copying time of ``runs`` rounds, the
two taken in turns so that both meet the same disk. The goal is a ratio of at most 1.4.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

GOAL = 1.4


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def copy(source: Path, target: Path) -> None:
    """Copy a folder's files, each flushed to the disk, as saving does."""
    target.mkdir()
    for path in sorted(source.iterdir()):
        shutil.copyfile(path, target / path.name)
        handle = os.open(target / path.name, os.O_RDWR)
        os.fsync(handle)
        os.close(handle)


def measure(
    execution_provider: str = "cpu", dtype: str = "float32", runs: int = 5, folder: Path | None = None
) -> dict[str, object]:
    """Save and copy in turns, in a temporary folder under ``folder`` (None: where temporary files go)."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        return _measure(execution_provider, dtype, runs, Path(place))


def _measure(execution_provider: str, dtype: str, runs: int, folder: Path) -> dict[str, object]:
    from workbench import build

    package = build("smollm2-135m", execution_provider=execution_provider, dtype=dtype)
    manifest = package.save(folder / "warm", progress=False)
    saving, copying = [], []
    for run in range(runs):
        copying.append(seconds(lambda run=run: copy(folder / "warm", folder / f"copy{run}")))
        shutil.rmtree(folder / f"copy{run}")
        saving.append(seconds(lambda run=run: package.save(folder / f"save{run}", progress=False)))
        shutil.rmtree(folder / f"save{run}")
    return {
        "benchmark": "saving", "execution_provider": execution_provider, "dtype": dtype, "runs": runs,
        "bytes": manifest.size, "saving_s": round(min(saving), 3), "copying_s": round(min(copying), 3),
        "ratio": round(min(saving) / min(copying), 2), "goal": GOAL,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--execution-provider", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="a folder on the disk to measure (a temporary one otherwise)")
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.execution_provider, arguments.dtype, arguments.runs, arguments.folder)))


if __name__ == "__main__":
    main()

"""The published client as a second opinion: what its ``show`` says of documents, all of them in one process.

Run as a script it reads folders, one document each, and writes the verdicts as JSON; ``ask`` is how tests call it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

VERSION = "0.1.0.dev6"
_PLACES = ("artifact", "path", "location", "config_location")
_TOKENIZER = {
    "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
    "pre_tokenizer": None, "post_processor": None, "decoder": None,
    "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
}  # fmt: skip
_MAY_BE_ABSENT = ("IO error", "package admission rejected", "no .onnx model found")
"""Complaints about the graphs, which are empty files here: the document itself has passed."""


@dataclasses.dataclass(frozen=True)
class Opinion:
    """``stage`` is ``ok``, ``parse`` or ``semantic``; ``said`` the client's own words."""

    stage: str
    said: str


def ask(documents: dict[str, Any]) -> dict[str, Opinion]:
    """The client's opinion of each document, by name."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for index, data in enumerate(documents.values()):
            _package(root / str(index), data)
        return dict(zip(documents, _look(root, [root / str(index) for index in range(len(documents))])))


def ask_packages(packages: dict[str, Path]) -> dict[str, Opinion]:
    """The client's opinion of packages with real graphs: ``loads`` where it takes document and graphs."""
    with tempfile.TemporaryDirectory() as folder:
        for package in packages.values():
            if not (package / "tokenizer.json").exists():
                (package / "tokenizer.json").write_text(json.dumps(_TOKENIZER), encoding="utf-8")
        found = _look(Path(folder), list(packages.values()))
    return {
        name: Opinion("loads", one.said) if one.said.startswith("0 ") else one for name, one in zip(packages, found)
    }


def _look(root: Path, folders: list[Path]) -> list[Opinion]:
    """One process for all: it writes what the client says into ``root``."""
    command = [sys.executable, __file__, str(root), *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    said = json.loads((root / "said.json").read_text(encoding="utf-8"))
    return [Opinion(_stage(text), text) for text in said]


def _stage(said: str) -> str:
    if said.startswith("0 ") or any(word in said for word in _MAY_BE_ABSENT):
        return "ok"
    return "parse" if "Parse error" in said or "unsupported schema version" in said else "semantic"


def _package(folder: Path, data: Any) -> None:
    """A folder with the document, a tokenizer and an empty file for each that is named."""
    folder.mkdir()
    (folder / "inference_metadata.json").write_text(json.dumps(data), encoding="utf-8")
    (folder / "tokenizer.json").write_text(json.dumps(_TOKENIZER), encoding="utf-8")
    for name in _files(data):
        path = Path(os.path.normpath(folder / name))
        if path != folder and path.is_relative_to(folder) and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()


def _files(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        for key, value in data.items():
            if key in _PLACES and isinstance(value, str) and value:
                yield value
            else:
                yield from _files(value)
    elif isinstance(data, list):
        for item in data:
            yield from _files(item)


def _show(call: Any, folder: Path, log: Path) -> str:
    """Exit status and everything that the client prints, from below Python's own streams."""
    kept = os.dup(1), os.dup(2)
    with log.open("wb") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
        try:
            status = call(["onnx-genai", "show", str(folder)])
        finally:
            for number, fd in enumerate(kept, 1):
                os.dup2(fd, number)
                os.close(fd)
    return f"{status} {log.read_text(encoding='utf-8', errors='replace').strip()}"


def main(root: Path, folders: list[Path]) -> None:
    from onnx_genai_server import _onnx_genai_server as compiled

    said = [_show(compiled._run_cli, folder, root / "log") for folder in folders]
    (root / "said.json").write_text(json.dumps(said), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(folder) for folder in sys.argv[2:]])

"""The table of bad input that the error texts are tested with, and what its rows are made from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import workbench
from tests.cases import CASES, write_model
from tests.unit.weights import tiny_gguf
from tests.unit.weights.tiny_gguf import Tiny

Act = Callable[[Path], object]
Row = tuple[type[Exception], Act, tuple[str, ...]]
HF = dict(CASES["gqa"].hf)
ROWS: dict[str, Row] = {}
"""By kind of input: the class, what a person did in an empty folder, parts of the text in order."""


def row(name: str, kind: type[Exception], *parts: str) -> Callable[[Act], Act]:
    def add(act: Act) -> Act:
        assert name not in ROWS
        ROWS[name] = (kind, act, parts)
        return act

    return add


def quantized(folder: Path) -> Path:
    words = json.loads((folder / "config.json").read_text()) | {"quantization_config": {"quant_method": "awq"}}
    (folder / "config.json").write_text(json.dumps(words))
    return folder


def skeleton(**words: Any) -> object:
    """Build the plain config with other words; None leaves one out."""
    hf = {word: value for word, value in (HF | words).items() if value is not None}
    return workbench.build(hf, load_weights=False)


def built(path: Path, **options: Any) -> workbench.Package:
    return workbench.build(write_model(path / "model", CASES["gqa"]), **options)


def with_tensors(path: Path, change: Callable[[dict[str, np.ndarray]], object]) -> object:
    """Build a folder whose tensors were changed."""
    from safetensors.numpy import save_file

    folder, tensors = write_model(path / "model", CASES["gqa"]), CASES["gqa"].weights
    change(tensors)
    save_file(tensors, folder / "model.safetensors")
    return workbench.build(folder)


def saved(path: Path) -> Path:
    built(path).save(path / "package")
    return path / "package"


def gguf(path: Path, **words: Any) -> object:
    path.mkdir(parents=True)
    return workbench.build(tiny_gguf.write(path / "model.gguf", Tiny(**words)), load_weights=False)


def touch(path: Path, data: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path

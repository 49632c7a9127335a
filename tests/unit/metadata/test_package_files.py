"""Rules 271 to 274: files that a document names are there, inside its package, and nothing else is looked at."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.metadata.fixtures import Fixture, base, needs_shared, of_kind
from workbench.metadata import validate
from workbench.metadata.files import look_for


def _package(folder: Path, artifact: str) -> Path:
    """A folder with a document whose component names a file."""
    data = base("dec")
    data["pipeline"]["workflow"]["components"]["lm"]["implementation"]["artifact"] = artifact
    folder.mkdir(exist_ok=True)
    (folder / "inference_metadata.yaml").write_text(json.dumps(data), encoding="utf-8")
    return folder


def _codes(folder: Path) -> tuple[str, ...]:
    return validate(folder, package_root=folder).codes


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A package with a file, a folder, links that stay inside and links that do not."""
    root = tmp_path / "package"
    (root / "deep").mkdir(parents=True)
    (root / "lm.onnx").write_bytes(b"")
    (root / "deep" / "lm.onnx").write_bytes(b"")
    (tmp_path / "secret.onnx").write_bytes(b"")
    secret = str(tmp_path / "secret.onnx")
    for name, target in {
        "inside": "deep/lm.onnx", "deep/up": "../lm.onnx", "absolute": str(root / "lm.onnx"), "folder": "..",
        "outside": "../secret.onnx", "far": secret, "loop": "loop", "a": "b", "b": "a", "dangling": "nothing",
    }.items():  # fmt: skip
        os.symlink(target, root / name)
    return root


PATHS = {
    "lm.onnx": (), "./deep/../lm.onnx": (), "inside": (), "deep/up": (), "absolute": (), "deep//lm.onnx": (),
    "nothing.onnx": ("Q271",), "deep/nothing": ("Q271",), "lm.onnx/x": ("Q271",), "loop": ("Q271",), "a": ("Q271",),
    "dangling": ("Q271",), "x" * 300: ("Q271",), "a\0b": ("Q271",), "é/\udc80": ("A1",),
    "../package/lm.onnx": ("Q272",), "../secret.onnx": ("Q272",), "/etc/hostname": ("Q272",), "outside": ("Q272",),
    "far": ("Q272",), "folder/secret.onnx": ("Q272",), "deep/../../secret.onnx": ("Q272",), "C:\\lm.onnx": ("Q272",),
    "\\\\host\\share\\lm.onnx": ("Q272",), "deep": ("Q273",), ".": ("Q273",),
}  # fmt: skip


@pytest.mark.parametrize("name", [pytest.param(n, id=n[:24].encode("unicode_escape").decode()) for n in PATHS])
def test_a_path_gets_its_verdict(root: Path, name: str) -> None:
    data = base("dec")
    data["pipeline"]["workflow"]["components"]["lm"]["implementation"]["artifact"] = name
    assert validate(data, package_root=root).codes == PATHS[name]


def test_without_a_root_no_file_is_looked_for(root: Path) -> None:
    assert not validate(_package(root, "nothing.onnx"))
    assert _codes(_package(root, "nothing.onnx")) == ("Q271",)


def test_a_root_that_is_a_link_or_is_not_there(root: Path, tmp_path: Path) -> None:
    os.symlink(root, tmp_path / "link")
    assert not validate(base("dec"), package_root=tmp_path / "link")
    assert validate(base("dec"), package_root=tmp_path / "nothing").codes == ("Q271",)


def test_nothing_outside_the_package_is_touched(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touched: list[str] = []

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *rest: Any, **named: Any) -> Any:
            touched.append(os.path.normpath(os.fspath(path)))
            return function(path, *rest, **named)

        return call

    real = os.path.realpath(root)
    monkeypatch.setattr(os.path, "realpath", lambda path, **named: real)
    for name in ("stat", "lstat", "readlink", "open", "scandir"):
        monkeypatch.setattr(os, name, watched(getattr(os, name)))
    for name in PATHS:
        look_for(root, name)
    assert touched and all(path == real or path.startswith(real + os.sep) for path in touched), touched


def test_inputs_may_be_files_too(root: Path) -> None:
    data = base("dec")
    data["pipeline"]["workflow"]["inputs"]["mask"]["source"] = {"kind": "artifact", "path": "mask.bin"}
    (found,) = validate(data, package_root=root).errors
    assert (found.code, found.where) == ("Q271", "pipeline.workflow.inputs.mask.source.path")


@pytest.mark.parametrize("missing", ["a.safetensors", "adapter_config.json"])
def test_files_of_adapters_obey_the_same_rules(root: Path, missing: str) -> None:
    home = root / "adapters" / "red"
    home.mkdir(parents=True)
    for name in ("a.safetensors", "adapter_config.json"):
        (home / name).write_bytes(b"")
    assert not validate(base("lora"), package_root=root)
    (home / missing).unlink()
    assert validate(base("lora"), package_root=root).codes == ("Q274",)
    os.symlink("../../../secret.onnx", home / missing)
    assert validate(base("lora"), package_root=root).codes == ("Q274",)


@needs_shared
@pytest.mark.parametrize("fixture", [p for p in of_kind("valid") if 271 in p.values[0].rules])
def test_a_document_whose_file_is_absent(fixture: Fixture, tmp_path: Path) -> None:
    assert validate(fixture.path, package_root=tmp_path).codes == ("Q271",)

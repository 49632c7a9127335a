"""The page for newcomers: its document is valid, its code runs, its hash is a real one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.metadata.fixtures import OWN, REPO
from workbench.metadata import convert, decoder_io, semantic_identity, validate

PAGE = (REPO / "docs" / "workflow-metadata.md").read_text(encoding="utf-8")


def fences(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.M | re.S)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (document,) = fences("yaml")
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "inference_metadata.yaml").write_text(document, encoding="utf-8")
    (folder / "lm.onnx").touch()
    monkeypatch.chdir(tmp_path)
    return folder


def test_the_document_is_valid_in_both_dialects(package: Path) -> None:
    assert not validate(package, package_root=package)
    made = convert(package, "v1")
    assert not made.unsaid and not validate(made.data, dialect="v1")
    found = decoder_io(package)
    assert found is not None and found.token_input == "input_ids"


@pytest.mark.parametrize("block", [block for block in fences("python") if "package/" in block])
def test_the_code_runs(package: Path, block: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block, "page", "exec"), {})
    assert "True" in capsys.readouterr().out


def test_the_hash_on_the_page_is_the_decoders() -> None:
    assert semantic_identity(OWN / "valid" / "own-base-dec.yaml").rsplit(":", 1)[1] in PAGE


def test_every_analysis_is_on_the_page() -> None:
    from workbench import metadata

    makers = [name for name in metadata.__all__ if name[0].islower() and name not in ("opened", "dialect_of", "load")]
    assert [name for name in makers if f"`{name}" not in PAGE and f"import {name}" not in PAGE] == [
        "to_json",
        "to_yaml",
    ]

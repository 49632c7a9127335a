"""Folders whose graphs call their axes otherwise, imported: the published client and our interpreter answer alike."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.parity.described import engine_tokens
from tests.unit.describe.axes import RENAMES, rename_in_file, with_axes
from tests.unit.export.folders import change_config, change_graph, exported, package, set_in
from workbench import describe, export, import_genai_config
from workbench.interpret import interpret
from workbench.metadata import check_ports
from workbench.runtime.ort_cpu import OrtCpuSession
from workbench.runtime.tokens import TokenRunner, greedy

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("onnx_genai") is None,
    reason="onnx-genai is not installed: pip install -e '.[genai]'",
)
ROW, NEW = [68, 69, 70, 5, 9, 31, 77, 40], 12
UNUSED = 95


def expected(ep: str) -> list[int]:
    with OrtCpuSession(package(ep).model) as session:
        tokens = greedy(TokenRunner(session, package(ep).padding), ROW, NEW)
    assert UNUSED not in tokens and 2 not in tokens and len(set(tokens)) >= 6
    return tokens


def answers(folder: Path) -> tuple[list[int], list[int]]:
    """Of the client, and of the interpreter without a word against the run."""
    run = interpret(folder, {"prompt_tokens": [ROW]}, max_new_tokens=NEW)
    assert run.diagnostics == ()
    return engine_tokens(folder, ROW, NEW), list(run.tokens[0])


@pytest.mark.parametrize("ep", ["cpu", "default"])
@pytest.mark.parametrize("rename", RENAMES)
def test_an_imported_folder_answers_as_before(rename: str, ep: str, tmp_path: Path) -> None:
    exported(tmp_path / "x", ep)
    change_config(tmp_path / "x", set_in("model.eos_token_id", UNUSED))
    change_graph(tmp_path / "x", rename_in_file(RENAMES[rename]))
    found = import_genai_config(tmp_path / "x", allow_lossy=True)
    assert not found.metadata.validate("pr828") and not found.metadata.validate("v1") and not found.metadata.artifacts
    found.save()
    report = check_ports(tmp_path / "x", dialect="v1")
    assert {entry.verdict for entry in report.entries} == {"agrees"}
    (tmp_path / "x" / "genai_config.json").unlink()
    assert answers(tmp_path / "x") == (expected(ep), expected(ep))


@pytest.mark.parametrize("rename", RENAMES)
def test_every_step_spelled_out(rename: str, tmp_path: Path) -> None:
    made = with_axes(package("default"), RENAMES[rename])
    metadata = describe(made, policy="graphs")
    export(made, tmp_path / "x", runtime="onnx-genai", metadata=metadata, progress=False)
    assert answers(tmp_path / "x") == (expected("default"), expected("default"))

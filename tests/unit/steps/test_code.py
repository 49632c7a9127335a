"""The Python that a step shows: run as it stands in a process of its own, it makes the same graph and folder."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.export.folders import genai, source
from workbench.package import load
from workbench.package.manifest import read_manifest
from workbench.steps import NAMES, Choices, Pipeline

SAY = """
import hashlib, onnx_ir
print(hashlib.sha256(onnx_ir.to_proto({0}).SerializeToString(deterministic=True)).hexdigest())
"""
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "half": {"execution_provider": "webgpu", "dtype": "float16", "last_token_logits": True},
    "fixed": {"cache_length": 64, "padding": "any", "folder": "a 'quoted' name"},
}


def digest(model: Any) -> str:
    import hashlib

    import onnx_ir as ir

    return hashlib.sha256(ir.to_proto(model).SerializeToString(deterministic=True)).hexdigest()


def executed(code: str, folder: Path, repo: Path) -> list[str]:
    env = {**os.environ, "PYTHONPATH": str(repo)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines()


def make(**words: Any) -> Pipeline:
    return Pipeline(Choices().changed({"model": str(source()), "prompt": "a\"b'", "max_new_tokens": 5, **words}))


@pytest.mark.parametrize("words", VARIANTS.values(), ids=VARIANTS)
def test_the_same_graphs(words: dict[str, Any], tmp_path: Path, repo: Path) -> None:
    pipeline = make(**words).run("ep")
    both = pipeline.code("ep") + SAY.format("graph") + SAY.format("next(iter(package.generic.values()))")
    assert executed(both, tmp_path, repo)[-2:] == [
        digest(pipeline.product("ep").model), digest(pipeline.product("generic"))
    ]  # fmt: skip
    alone = executed(pipeline.code("generic") + SAY.format("graph"), tmp_path, repo)
    assert alone[-1] == digest(pipeline.product("generic"))


@pytest.mark.parametrize("words", VARIANTS.values(), ids=VARIANTS)
def test_the_same_folder(words: dict[str, Any], tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    pipeline = make(**words)
    code = pipeline.code("checked")
    pipeline.run("checked")
    said = executed(code, tmp_path / "there", repo)
    name = pipeline.choices.folder
    ours, theirs = (load(tmp_path / place / name, verify=True) for place in ("here", "there"))
    assert digest(ours.model) == digest(theirs.model) and ours.padding == theirs.padding
    records = [
        {record.name: record.sha256 for record in read_manifest(tmp_path / place / name).files}
        for place in ("here", "there")
    ]
    assert records[0] == records[1] and len(records[0]) == 6
    expected = [line for report in pipeline.state()["checked"].reports for line in repr(report).splitlines()]
    assert said == expected


@genai
def test_the_same_answer(tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pipeline = make().run()
    said = executed(pipeline.code("running"), tmp_path, repo)  # over the folder that is there: it says so itself
    assert "\n".join(said) == pipeline.state()["running"].reports[0].text


@pytest.mark.parametrize("step", ["source", "config"])
def test_the_first_steps(step: str, tmp_path: Path, repo: Path) -> None:
    pipeline = make().run(step)
    report = pipeline.state()[step].reports[0]
    expected = repr(report.source if step == "source" else report.config)
    assert executed(pipeline.code(step), tmp_path, repo) == [expected]


def test_any_text_stays_a_text() -> None:
    """Whatever a person types becomes a string in the code, never code."""
    evil = "x'); import os; os.system('echo')  # \n\"\"\""
    pipeline = make(model=evil, folder=evil, prompt=evil, execution_provider=evil, tokenizer=evil, dtype=evil)
    for step in NAMES:
        tree = ast.parse(pipeline.code(step))
        calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        assert "os.system" not in calls
        assert any(isinstance(node, ast.Constant) and node.value == evil for node in ast.walk(tree))


@pytest.mark.parametrize("model", [{"model_type": "llama"}, Path("some/where")], ids=["dict", "path"])
def test_models_that_are_no_names(model: Any) -> None:
    given = {"model_type": "llama"} if isinstance(model, dict) else "some/where"
    assert repr(given) in Pipeline(Choices(model=model)).code("source")


def test_lines_stay_short() -> None:
    words = {"cache_length": 64, "last_token_logits": True, "padding": "any", "dtype": "float16"}
    pipeline = Pipeline(Choices().changed({"model": "smollm2-135m", **words}))
    assert max(len(line) for step in NAMES for line in pipeline.code(step).splitlines()) <= 100

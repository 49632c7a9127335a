"""``workbench metadata run`` in this process: exit statuses, what is printed, what ``--json`` holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tests.unit.interpret.violations import decoder
from workbench.cli.app import app
from workbench.metadata import to_yaml

CALL = "pipeline.workflow.steps.nodes[0].body.nodes[0]"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["metadata", "run", *map(str, arguments)])


@pytest.fixture
def package(tmp_path: Path) -> Path:
    return written(tmp_path)


def written(folder: Path, **graph: str) -> Path:
    (folder / "inference_metadata.yaml").write_text(to_yaml(decoder(**graph)(folder)), encoding="utf-8")
    return folder


def answer(*arguments: object, status: int = 0) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == status, result.output
    return json.loads(result.stdout)


def test_tokens_and_the_run_in_a_line(package: Path) -> None:
    result = run(package, "--input", "rows=[[1, 2]]", "--max-new-tokens", 3)
    assert result.exit_code == 0, result.output
    assert result.stdout == "request 0: 0 0 0\nWorkflowRun(done: tokens [1, 3]; 19 records; greedy)\n"


def test_json(package: Path) -> None:
    np.save(package / "rows.npy", np.array([[1, 2], [3, 4]]))
    found = answer(package, "--input", f"prompt_tokens=@{package / 'rows.npy'}", "--max-new-tokens", 2, "--trace")
    assert (found["status"], found["tokens"], found["outputs"]) == ("done", [[0, 0]] * 2, {"tokens": [[0, 0]] * 2})
    assert found["diagnostics"] == [] and found["records"] == 14
    assert [row["iteration"] for row in found["trace"] if row["path"] == CALL and row["port"] == "ids"] == ["0", "1"]


def test_the_trace_has_a_line_for_each_record(package: Path) -> None:
    result = run(package, "--input", "rows=[[1, 2]]", "--max-new-tokens", 1, "--trace")
    assert "steps.nodes[0].body.nodes[0]" in result.stdout and "emit tokens: append 1 of 1" in result.stdout


def test_draws_repeat_by_their_seed(package: Path) -> None:
    words = (package, "--input", "rows=[[1, 2]]", "--max-new-tokens", 8, "--temperature", 1.5, "--top-k", 6)
    first, again, other = (answer(*words, "--seed", seed) for seed in (1, 1, 2))
    assert first["tokens"] == again["tokens"] != other["tokens"]
    assert first["sampling"] == "sampled, temperature 1.5, top_k 6"
    assert answer(*words, "--greedy")["sampling"] == "greedy"


def test_a_run_that_fails_is_told_at_its_step(tmp_path: Path) -> None:
    folder = written(tmp_path, present="Identity(new)")
    result = run(folder, "--input", "rows=[[1, 2]]")
    assert result.exit_code == 1
    assert f"error run.growth [{CALL}, round 1]: The cache 'kv' took 1 tokens" in result.stdout
    (found,) = answer(folder, "--input", "rows=[[1, 2]]", status=1)["diagnostics"]
    assert (found["code"], found["iteration"]) == ("run.growth", [1])


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--input", "rows"], "--input takes NAME=VALUE; found 'rows'"),
        (["--input", "rows=[[1"], "--input rows: '[[1' is no JSON"),
        (["--input", "rows=@nothing.npy"], "--input rows: '@nothing.npy' is no .npy file of numbers"),
        (["--prompt", "hello"], "The package has no tokenizer.json for a prompt"),
        (["--input", "row=[[1]]"], "inputs has 'row', and the workflow has no input of that name"),
        (["--input", "rows=[[1]]", "--input", "rows=[[2]]"], "--input rows is given twice. Give one of them."),
        (["--input", "rows=[[1]]", "--top-p", "3"], "top_p is 3.0; it must be above 0 and at most 1"),
    ],
)
def test_what_cannot_be_run(package: Path, words: list[str], text: str) -> None:
    result = run(package, *words)
    assert result.exit_code == 1 and text in result.stderr
    assert "Traceback" not in result.output


def test_a_folder_without_a_document(tmp_path: Path) -> None:
    result = run(tmp_path)
    assert result.exit_code == 1 and "holds no metadata" in result.stderr

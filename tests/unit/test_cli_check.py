"""``workbench check`` and ``workbench kernels``: what goes to stdout, and the exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import onnx_ir as ir
import pytest
from typer.testing import CliRunner, Result

from tests.unit.rules.graphs import llama, parsed
from workbench.cli.app import app

BAD = (
    """<ir_version: 10, opset_import: ["" : 24, "other" : 1]> g (float[8] x) => (float[8] y) { y = other.Thing (x) }"""
)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def model(tmp_path: Path) -> Path:
    ir.save(llama(), tmp_path / "m.onnx")
    ir.save(parsed(BAD), tmp_path / "bad.onnx")
    return tmp_path / "m.onnx"


def test_what_runs(model: Path) -> None:
    result = run("check", model, "--ep", "cpu")
    assert result.exit_code == 0, result.output
    assert "CheckReport(m.onnx on cpu in float32: runs, 73 of 73 nodes native (100.0%), no findings)" in result.stdout
    assert "read here" in result.stdout


def test_exit_statuses(model: Path) -> None:
    assert run("check", model, "--ep", "dml").exit_code == 0
    assert run("check", model, "--ep", "dml", "--strict").exit_code == 1
    assert run("check", model, "--ep", "cpu", "--strict").exit_code == 0
    assert run("check", model.with_name("bad.onnx"), "--ep", "cpu").exit_code == 1
    assert run("check", model, "--ep", "cpu", "--dtype", "bfloat16").exit_code == 1
    for wrong in (("--ep", "cpuu"), ("--ep", "cpu", "--dtype", "fp4")):
        result = run("check", model, *wrong)
        assert result.exit_code == 2 and "Unknown" in result.stderr
    missing = run("check", model.with_name("no.onnx"), "--ep", "cpu")
    assert missing.exit_code == 1 and "no such file" in missing.stderr and "Traceback" not in missing.stderr


def test_json_alone_on_stdout(model: Path) -> None:
    result = run("check", model, "--ep", "webgpu", "--json", "-")
    document = json.loads(result.stdout)
    assert result.exit_code == 1 and document["verdict"] == "refused"  # two Shapes
    assert document["format"] == "ep-workbench.check" and document["actions"]["falls back to cpu"] == 4
    assert sum(scope["native"] for scope in document["scopes"]) == document["native"] == 69
    assert "Findings" in result.stderr


def test_json_in_a_file(model: Path, tmp_path: Path) -> None:
    assert run("check", model, "--ep", "cpu", "--json", tmp_path / "c.json").exit_code == 0
    assert json.loads((tmp_path / "c.json").read_text("utf-8"))["coverage"] == 1.0
    refused = run("check", model, "--ep", "cpu", "--json", tmp_path / "no" / "c.json")
    assert refused.exit_code == 1 and "there is no folder" in refused.stderr


def test_tables_are_listed_and_refreshed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EP_WORKBENCH_CACHE", str(tmp_path))
    before = {row["execution_provider"]: row for row in json.loads(run("kernels", "list", "--json").stdout)}
    assert (before["cpu"]["live"], before["cuda"]["live"], before["cuda"]["kernels"]) == (True, False, 1565)
    assert before["dml"]["kernels"] == 0 and before["dml"]["source"].startswith("none")
    result = run("kernels", "refresh", "--json")
    after = {row["execution_provider"]: row for row in json.loads(result.stdout)}
    assert result.exit_code == 0 and Path(after["cpu"]["kept"]).is_file() and after["dml"]["kept"] == ""
    assert "dml: DmlExecutionProvider is not registered here" in result.stderr
    assert "Kernel tables" in run("kernels", "list").stdout

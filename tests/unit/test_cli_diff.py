"""``workbench diff``: what goes to stdout and to files, and its exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx_ir as ir
import pytest
from typer.testing import CliRunner, Result

from tests.unit.analysis.diff.graphs import chain
from workbench.cli.app import app


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["diff", *map(str, arguments)])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    for name, ops in (("one", ("Relu", "Neg", "Exp", "Abs")), ("two", ("Relu", "Softplus", "Abs"))):
        ir.save(chain(*ops), tmp_path / f"{name}.onnx")
    return tmp_path / "one.onnx", tmp_path / "two.onnx"


def test_the_summary_goes_to_stdout(files: tuple[Path, Path]) -> None:
    result = run(*files)
    assert result.exit_code == 0 and result.stderr.startswith("Comparing ")
    lines = result.stdout.splitlines()
    assert lines[0] == "one -> two: 2 same, 0 changed, 2 removed, 1 added (matched by structure)"
    assert "  explained: replaced x 1: Neg, Exp -> Softplus" in lines


def test_the_exit_status_tells_when_asked(files: tuple[Path, Path]) -> None:
    assert run(*files, "--exit-code").exit_code == 1
    assert run(files[0], files[0], "--exit-code").exit_code == 0


def test_json_alone_on_stdout(files: tuple[Path, Path]) -> None:
    result = run(*files, "--json", "-")
    document = json.loads(result.stdout)
    assert document["labels"] == ["one", "two"] and document["groups"][0]["rule"] == "replaced"
    assert "one -> two" in result.stderr


def test_json_and_a_page_in_files(files: tuple[Path, Path], tmp_path: Path) -> None:
    result = run(*files, "--json", tmp_path / "d.json", "--html", tmp_path / "d.html", "--structure", "--read-weights")
    assert result.exit_code == 0, result.output
    assert json.loads((tmp_path / "d.json").read_text("utf-8"))["counts"]["removed"] == 2
    assert "Softplus" in (tmp_path / "d.html").read_text("utf-8")


@pytest.mark.parametrize("option", ["--json", "--html"])
def test_a_file_that_cannot_be_written_is_refused_first(files: tuple[Path, Path], tmp_path: Path, option: str) -> None:
    result = run(*files, option, tmp_path / "no" / "d")
    assert result.exit_code == 1 and result.stdout == "" and "there is no folder" in result.stderr


def test_a_file_that_is_not_there(files: tuple[Path, Path], tmp_path: Path) -> None:
    result = run(files[0], tmp_path / "three.onnx")
    assert result.exit_code == 1 and "three.onnx: no such file" in result.stderr and "Traceback" not in result.stderr


def test_nothing_is_written_over_what_is_compared(files: tuple[Path, Path], tmp_path: Path) -> None:
    before = files[0].read_bytes()
    for option in ("--json", "--html"):
        result = run(*files, option, files[0])
        assert result.exit_code == 1 and "it is a graph that is compared" in result.stderr
    assert files[0].read_bytes() == before
    result = run(*files, "--json", tmp_path / "d", "--html", tmp_path / "d")
    assert result.exit_code == 1 and "it is what --json writes" in result.stderr and not (tmp_path / "d").exists()


def test_a_page_does_not_go_to_stdout(files: tuple[Path, Path]) -> None:
    result = run(*files, "--html", "-")
    assert result.exit_code == 1 and "--html takes the name of a file" in result.stderr and not Path("-").exists()


def test_weights_that_cannot_be_read_are_an_error_in_the_options_words(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    x = ir.Value(name="x", type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape([4]))
    w = ir.Value(name="w", const_value=ir.tensor(np.ones(4, np.float32), name="w"))
    add = ir.node("Add", [x, w])
    add.outputs[0].name = "y"
    graph = ir.Graph([x], add.outputs, nodes=[add], initializers=[w], opset_imports={"": 23}, name="g")
    ir.save(ir.Model(graph, ir_version=10), tmp_path / "m.onnx", external_data="m.data", size_threshold_bytes=0)
    (tmp_path / "m.data").unlink()
    assert run(tmp_path / "m.onnx", tmp_path / "m.onnx").exit_code == 0
    result = run(tmp_path / "m.onnx", tmp_path / "m.onnx", "--read-weights")
    assert result.exit_code == 1 and "leave out --read-weights" in result.stderr

"""Folders for onnx-genai: what is written, checked and refused."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import onnx
import pytest
import yaml

from tests.unit.export.folders import change_graph, exported, package, source
from workbench.build import build
from workbench.cli import main
from workbench.describe import describe
from workbench.errors import ArgumentError, SaveError, UnknownNameError, UnsupportedError
from workbench.export import export, lint
from workbench.metadata import validate
from workbench.package import load

METADATA, GENAI = "inference_metadata.yaml", "genai_config.json"


def words_of(folder: Path) -> dict[str, Any]:
    return yaml.safe_load((folder / METADATA).read_text("utf-8"))


def change(folder: Path, **steps: Any) -> Path:
    """Edit the loop of a document in place."""
    words = words_of(folder)
    words["pipeline"]["workflow"]["steps"][0].update(steps)
    (folder / METADATA).write_text(yaml.safe_dump(words, sort_keys=False))
    return folder


@pytest.mark.parametrize(("runtime", "files"), [("onnx-genai", {METADATA}), ("both", {METADATA, GENAI})])
@pytest.mark.parametrize("ep", ["cpu", "default"])
def test_each_client_gets_its_file(ep: str, runtime: str, files: set[str], tmp_path: Path) -> None:
    report = exported(tmp_path / "x", ep, runtime=runtime)
    assert {METADATA, GENAI} & set(os.listdir(tmp_path / "x")) == files
    assert report.lint.findings == lint(tmp_path / "x").findings == ()
    assert bool(report.config) is (GENAI in files)
    assert {"metadata.rules", "metadata.ports"} <= set(report.lint.checks)
    assert report.lint.checks == lint(tmp_path / "x").checks
    loaded = load(tmp_path / "x", verify=True)  # still a package, and it can be described again
    assert report.metadata is not None
    assert words_of(tmp_path / "x") == report.metadata.to("v1").data == describe(loaded).to("v1").data


def test_a_cache_that_is_told_where_to_write_can_be_described_again(tmp_path: Path) -> None:
    made = build(source(), execution_provider="default", dtype="float32", cache_length=32)
    export(made, tmp_path / "x", runtime="onnx-genai", progress=False)
    again = describe(load(tmp_path / "x"))
    assert again.to("v1").data == words_of(tmp_path / "x") and again.models == {}
    assert describe(load(tmp_path / "x"), policy="graphs").data == again.data


def test_the_document_stands_in_every_face(tmp_path: Path) -> None:
    report = exported(tmp_path / "x", runtime="both")
    values = json.loads(json.dumps(report.to_dict()))
    assert values["metadata"] == words_of(tmp_path / "x") and values["lint"]["ok"]
    text = report._repr_html_()
    assert "genai_config.json" in text and METADATA in text and "onnx-genai.token-policy" in text
    assert exported(tmp_path / "y").to_dict()["metadata"] is None


def test_a_dry_run_checks_the_document_and_says_what_it_could_not(tmp_path: Path) -> None:
    report = exported(tmp_path / "x", runtime="onnx-genai", dry_run=True)
    assert os.listdir(tmp_path) == [] and METADATA in {file.name for file in report.files}
    assert report.lint.checks == ("metadata.rules",) and "no graph was compared" in report.lint.skipped[0]


def test_lint_names_the_rule_and_the_place(tmp_path: Path) -> None:
    exported(tmp_path / "x", runtime="both")
    change(tmp_path / "x", continue_when="nobody")
    (found,) = lint(tmp_path / "x").errors
    (rule,) = validate(words_of(tmp_path / "x"), dialect="v1").errors
    assert (found.code, found.message) == ("metadata.rules", f"{rule.code}: {rule.message}")
    assert found.where == f"{METADATA}: {rule.where}" and "nobody" in found.message and found.hint
    (tmp_path / "x" / METADATA).write_text("a: [")
    assert lint(tmp_path / "x").codes == ("metadata.rules",)
    (tmp_path / "x" / METADATA).unlink()
    assert lint(tmp_path / "x").findings == ()  # what is left is a folder for the other client


def test_lint_holds_ports_against_the_graph(tmp_path: Path) -> None:
    exported(tmp_path / "x", runtime="onnx-genai")

    def rename(model: onnx.ModelProto) -> None:
        model.graph.output[0].name = "scores"

    change_graph(tmp_path / "x", rename)
    (found,) = lint(tmp_path / "x").errors
    assert found.code == "metadata.ports" and "'logits'" in found.message and "no such output" in found.message
    (tmp_path / "x" / "model.onnx").unlink()
    assert "metadata.rules" in lint(tmp_path / "x").codes  # the file that it names is gone


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'onnx-genai'. Known: both, onnx-genai, onnxruntime-genai"):
        exported(tmp_path / "x", runtime="onnx_genai")
    with pytest.raises(SaveError, match="tokenizer=False: onnx-genai loads no folder without tokenizer.json. Give the"):
        exported(tmp_path / "x", runtime="both", tokenizer=False)
    with pytest.raises(SaveError, match="has no tokenizer: onnx-genai loads no folder.*tokenizer=FOLDER"):
        export(dataclasses.replace(package(), source=None), tmp_path / "x", runtime="onnx-genai")
    with pytest.raises(UnsupportedError, match="search is an option of onnxruntime-genai alone.*Leave it out"):
        exported(tmp_path / "x", runtime="onnx-genai", search={"top_k": 3})
    with pytest.raises(UnsupportedError, match="window_cache is an option of onnxruntime-genai alone"):
        exported(tmp_path / "x", runtime="both", windowed=True, window_cache=True)
    with pytest.raises(UnsupportedError, match="metadata is for onnx-genai. Pass runtime='onnx-genai' or 'both'"):
        exported(tmp_path / "x", metadata=describe(package()))
    with pytest.raises(ArgumentError, match="metadata must be what describe.. gives, or None; found dict"):
        exported(tmp_path / "x", runtime="both", metadata={})
    assert os.listdir(tmp_path) == []


def test_a_description_of_ones_own(tmp_path: Path) -> None:
    made = describe(package(), policy="graphs")
    report = exported(tmp_path / "x", runtime="both", metadata=made)
    assert words_of(tmp_path / "x") == made.to("v1").data and report.lint.findings == ()
    assert set(made.artifacts) <= set(os.listdir(tmp_path / "x")) and len(made.artifacts) == 5


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["export", str(source()), "-o", str(tmp_path / "x"), "--runtime"]
    assert main([*arguments, "both", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["metadata"] == words_of(tmp_path / "x")
    assert main([*arguments, "everybody"]) == 2
    assert "Unknown runtime 'everybody'" in capsys.readouterr().err


def test_an_old_folder_is_replaced_whole(tmp_path: Path) -> None:
    exported(tmp_path / "x", runtime="both")
    report = exported(tmp_path / "x", runtime="onnx-genai", overwrite=True)
    assert set(os.listdir(tmp_path / "x")) == {file.name for file in report.files} | {"manifest.json"}
    assert GENAI not in os.listdir(tmp_path / "x")
    assert package().config == load(tmp_path / "x").config

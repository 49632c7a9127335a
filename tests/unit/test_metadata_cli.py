"""``workbench metadata`` in this process: exit statuses, what is printed, what ``--json`` holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.unit.export.folders import change_config, change_graph, exported, set_in
from tests.unit.importing.folders import leave_sizes_open
from tests.unit.metadata.edits import put
from tests.unit.metadata.fixtures import OWN, base
from tests.unit.metadata.test_ports import graph
from workbench.cli.app import app
from workbench.cli.metadata import SECTIONS
from workbench.metadata import load, semantic_identity, to_yaml, validate

DEC = OWN / "valid" / "own-base-dec.yaml"
SPEC = OWN / "valid" / "own-base-spec.yaml"
BROKEN = OWN / "invalid" / "own-r102-branch.yaml"
IDENTITY = semantic_identity(DEC)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["metadata", *map(str, arguments)])


def answer(*arguments: object, status: int = 0) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == status, result.output
    return json.loads(result.stdout)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    graph(tmp_path / "lm.onnx")
    (tmp_path / "tokenizer.json").touch()
    (tmp_path / "inference_metadata.yaml").write_text(to_yaml(base("dec")), encoding="utf-8")
    return tmp_path


# --- validate -------------------------------------------------------------------------------------------
def test_a_valid_document() -> None:
    result = run("validate", DEC)
    assert (result.exit_code, result.stdout) == (0, f"{DEC} (pr828): valid\n")
    assert answer("validate", DEC) == {
        "source": str(DEC), "dialect": "pr828", "ok": True, "errors": 0, "warnings": 0, "diagnostics": [],
        "ports": None,
    }  # fmt: skip


def test_a_broken_document_names_file_line_and_rule() -> None:
    result = run("validate", BROKEN)
    assert result.exit_code == 1
    line = answer("validate", BROKEN, status=1)["diagnostics"][0]["line"]
    assert result.stdout.startswith(f"{BROKEN}:{line}: error H102: ") and "hint:" in result.stdout
    assert result.stdout.endswith("(pr828): 1 error\n")
    (found,) = answer("validate", BROKEN, status=1)["diagnostics"]
    assert (found["code"], found["rule"], found["stage"], found["severity"]) == ("H102", 102, "semantic", "error")


def test_a_package_is_looked_at_with_its_files(package: Path) -> None:
    assert run("validate", package).exit_code == 0
    (package / "lm.onnx").unlink()
    assert [one["rule"] for one in answer("validate", package, status=1)["diagnostics"]] == [271]
    assert run("validate", package, "--no-files").exit_code == 0
    assert run("validate", package / "inference_metadata.yaml").exit_code == 0
    assert run("validate", package / "inference_metadata.yaml", "--package-root", package).exit_code == 1


def test_ports_can_be_held_against_graphs(package: Path) -> None:
    assert answer("validate", package, "--ports")["ports"]["ok"]
    data = base("dec")
    put("comp.lm.ports.inputs.mask.dtype", "int32")(data)
    put("in.mask.contract.dtype", "int32")(data)
    (package / "inference_metadata.yaml").write_text(to_yaml(data), encoding="utf-8")
    found = answer("validate", package, "--ports", status=1)
    assert found["ok"] and [r["port"] for r in found["ports"]["rows"] if r["verdict"] == "differs"] == ["mask"]
    assert "dtype int32, the graph has int64" in run("validate", package, "--ports").stdout


def test_warnings_fail_only_when_asked(tmp_path: Path) -> None:
    data = base("dec")
    data["pipeline"]["workflow"]["inputs"]["prompt"]["source"]["extra"] = 1
    path = tmp_path / "w.yaml"
    path.write_text(to_yaml(data), encoding="utf-8")
    assert run("validate", path).exit_code == 0 and "valid, 1 warning\n" in run("validate", path).stdout
    assert run("validate", path, "--strict").exit_code == 1


@pytest.mark.parametrize("verb", ["validate", "show", "identity"])
def test_what_is_not_there(tmp_path: Path, verb: str) -> None:
    result = run(verb, tmp_path / "none.yaml")
    assert result.exit_code == 1 and "There is no file" in result.output and "Traceback" not in result.output
    assert run(verb, tmp_path).exit_code == 1


def test_an_unknown_dialect_is_wrong_usage() -> None:
    result = run("validate", DEC, "--dialect", "v2")
    assert result.exit_code == 2 and "Unknown dialect 'v2'" in result.stderr


# --- show -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("verb", ["validate", "show"])
def test_a_root_that_is_no_folder_is_wrong_usage(verb: str, tmp_path: Path) -> None:
    for root in (tmp_path / "absent", DEC):
        result = run(verb, DEC, "--package-root", root)
        assert result.exit_code == 2 and "package-root" in result.output


@pytest.mark.parametrize("verb", ["validate", "show", "diff"])
def test_a_terminal_is_not_told_what_to_do(verb: str, tmp_path: Path) -> None:
    data = base("dec")
    step = data["pipeline"]["workflow"]["steps"][0]["steps"][0]
    data["pipeline"]["workflow"]["inputs"]["\x1b[2J"] = data["pipeline"]["workflow"]["inputs"]["mask"]
    step["inputs"] |= {"mask": "\x1b[2J", "\x1b[3J": "mask"}
    data["required_capabilities"] = ["\x1b[4J"]
    path = tmp_path / "a.yaml"
    path.write_text(to_yaml(data), encoding="utf-8")
    result = run(verb, path, *([DEC] if verb == "diff" else []))
    assert "\x1b" not in result.output and "\\x1b[" in result.output


def test_show_has_every_section() -> None:
    found = answer("show", DEC)
    assert set(found) == {"source", "dialect", "identity", *SECTIONS[:-1]}
    assert found["identity"] == IDENTITY
    assert found["decoder"]["rows"][0] == {"what": "token_input", "port": "ids"}
    text = run("show", DEC).stdout
    assert "ValueTable(24 values" in text and "component:lm=onnx:lm.onnx" in text and IDENTITY in text


def test_show_some_sections(package: Path) -> None:
    assert set(answer("show", package, "--section", "cache", "--section", "ports")) == {
        "source", "dialect", "identity", "cache", "ports",
    }  # fmt: skip
    assert "PortReport(7 agrees)" in run("show", package, "--section", "ports").stdout
    result = run("show", DEC, "--section", "wrong")
    assert result.exit_code == 2 and "'wrong' is none of values, state" in result.output


def test_show_says_where_there_is_no_decoder() -> None:
    result = run("show", OWN / "valid" / "own-base-branch.yaml", "--section", "decoder")
    assert result.exit_code == 0 and "decoder: none" in result.stdout


# --- convert, diff, identity ----------------------------------------------------------------------------
def test_there_and_back(tmp_path: Path) -> None:
    there, back = tmp_path / "v1.yaml", tmp_path / "back.json"
    result = run("convert", SPEC, "--to", "v1", "-o", there)
    assert (result.exit_code, result.stdout) == (0, "") and "unsaid [speculative]" in result.stderr
    assert "(v1): valid" in run("validate", there).stdout
    assert run("convert", there, "--to", "pr828", "-o", back).exit_code == 0
    assert load(back).data == load(SPEC).data
    assert run("diff", there, SPEC).exit_code == 0
    assert run("identity", there).stdout == run("identity", SPEC).stdout


def test_convert_writes_the_document_to_stdout() -> None:
    result = run("convert", DEC, "--to", "v1", "--plain", "--schema-version", "v1.8")
    data = load(result.stdout).data
    assert data["schema_version"] == "v1.8" and "ep_workbench_remainder" not in data["model"]
    found = answer("convert", DEC, "--to", "v1")
    assert found["document"]["schema_version"] == found["schema_version"] == "v1.2" and found["unsaid"] == 0


def test_convert_fails_where_something_is_lost_only_when_asked() -> None:
    assert run("convert", SPEC, "--to", "v1").exit_code == 0
    assert run("convert", SPEC, "--to", "v1", "--strict").exit_code == 1
    assert run("convert", DEC, "--to", "v1", "--strict").exit_code == 0


def test_convert_is_told_wrong_words(tmp_path: Path) -> None:
    assert run("convert", DEC, "--to", "v2").exit_code == 2
    assert run("convert", DEC, "--to", "v1", "--schema-version", "v3").exit_code == 2
    result = run("convert", DEC, "--to", "v1", "-o", tmp_path / "no" / "x.yaml")
    assert result.exit_code == 1 and "there is no folder" in result.stderr


def test_diff(tmp_path: Path) -> None:
    data = base("dec")
    put("in.limit.default", 99)(data)
    path = tmp_path / "other.yaml"
    path.write_text(to_yaml(data), encoding="utf-8")
    result = run("diff", DEC, path)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "DocumentDiff(inputs 1; identity differs)", "  changed pipeline.workflow.inputs.limit.default: 16 -> 99",
    ]  # fmt: skip
    found = answer("diff", DEC, path, status=1)
    assert not found["equal"] and len(found["changes"]) == 1 and found["identities"][0] == IDENTITY


def test_identity() -> None:
    assert run("identity", DEC).stdout == f"{IDENTITY}\n"
    assert run("identity", DEC, "--expect", IDENTITY).exit_code == 0
    assert run("identity", DEC, "--expect", IDENTITY.rsplit(":", 1)[1]).exit_code == 0
    assert run("identity", SPEC, "--expect", IDENTITY).exit_code == 1
    assert answer("identity", SPEC, "--expect", IDENTITY, status=1)["expected"] is False


# --- import ---------------------------------------------------------------------------------------------
def test_import_says_what_it_would_lose(tmp_path: Path) -> None:
    folder = change_config(exported(tmp_path / "x").folder, set_in("model.decoder.invented", {"a": 1}))
    result = run("import", folder)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "  lost: model.decoder.invented.a = 1 unknown: no reader" in result.stderr
    assert "would lose 3 values" in result.stderr and "Give --allow-lossy to go on" in result.stderr


def test_import_to_stdout_to_a_file_and_as_json(tmp_path: Path) -> None:
    folder = exported(tmp_path / "x").folder
    result = run("import", folder, "--allow-lossy")
    assert result.exit_code == 0 and validate(result.stdout, dialect="v1").ok
    assert "GenaiImport('x' as decoder: 32 values imported, 2 lost)" in result.stderr
    there = tmp_path / "document.json"
    assert run("import", folder, "--allow-lossy", "--output", there).stdout == ""
    found = answer("import", folder, "--allow-lossy")
    assert json.loads(there.read_text()) == load(result.stdout).data == found["document"]
    assert [loss["path"] for loss in found["losses"]] == [
        "model.decoder.hidden_size", "model.decoder.session_options.log_id",
    ]  # fmt: skip
    assert len(found["imported"]) == 32 and found["graphs"] == []


def test_import_into_the_folder(tmp_path: Path) -> None:
    folder = change_graph(exported(tmp_path / "x").folder, leave_sizes_open)
    shown = run("import", folder, "--allow-lossy")
    assert "decoder.onnx is not written; --save writes" in shown.stderr and not (folder / "decoder.onnx").exists()
    saved = run("import", folder, "--allow-lossy", "--save")
    assert f"Wrote {folder / 'decoder.onnx'}" in saved.stderr
    assert run("validate", folder, "--ports", "--strict").exit_code == 0
    again = run("import", folder, "--allow-lossy", "--save")
    assert again.exit_code == 1 and "holds inference_metadata.yaml already. Give --overwrite." in again.stderr
    assert run("import", folder, "--allow-lossy", "--save", "--overwrite").exit_code == 0


def test_import_is_told_wrong_words(tmp_path: Path) -> None:
    assert run("import", tmp_path, "--save", "--output", tmp_path / "x.yaml").exit_code == 2
    result = run("import", tmp_path / "none")
    assert result.exit_code == 1 and "no such folder" in result.stderr


def test_help_lists_every_verb_with_its_options() -> None:
    text = run("--help").stdout
    for verb in ("validate", "show", "convert", "diff", "identity", "import"):
        assert f"metadata {verb} " in text
        own = CliRunner().invoke(app, ["metadata", verb, "--help"], env={"COLUMNS": "200"}).stdout
        (line,) = [line for line in text.splitlines() if line.strip().startswith(f"metadata {verb} ")]
        for option in [word.strip("[]") for word in line.split() if word.strip("[").startswith("--")]:
            assert option in own, (verb, option)

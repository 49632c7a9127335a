"""The command line in this process: verbs, exit statuses, what goes to stdout and what to stderr."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tests.cases import CASES, write_model
from workbench import Comparison, ParityReport, load
from workbench.cli import shell
from workbench.cli.app import app
from workbench.cli.document import to_json
from workbench.config.builtin import builtin_names
from workbench.ep import execution_providers

CASE = CASES["mqa"]
LAYERS = CASE.hf["num_hidden_layers"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny-mqa", CASE)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EP_WORKBENCH_CACHE", str(tmp_path / "cache"))


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def failed(result: Result, status: int) -> str:
    """The text of an error: nothing on stdout, nothing from the depths."""
    assert (result.exit_code, result.stdout) == (status, ""), result.output
    assert "Traceback" not in result.stderr
    return result.stderr


# --- build ----------------------------------------------------------------------------------------------
def test_build_saves_a_package(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    result = run("build", folder, "--ep", "webgpu", "--dtype", "float16", "-o", target)
    assert result.exit_code == 0, result.output
    package = load(target, verify=True)
    assert (package.execution_provider, package.report.dtype, package.padding) == ("webgpu", "float16", "right")
    assert result.stderr.splitlines() == [f"Building {folder} for webgpu ...", f"Saving to {target} ..."]
    files = sum(1 for _ in target.iterdir())
    assert f"{target}: {files} files" in result.stdout
    assert f"{package.report.nodes_before} -> {package.report.nodes_after} nodes" in result.stdout


def test_build_passes_padding_and_overwrites_when_told(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "out"
    assert run("build", folder, "-o", target).exit_code == 0
    again = failed(run("build", folder, "-o", target, "--padding", "any"), 1)
    assert again.endswith(f"Error: {target} holds a package already. Give --overwrite to replace it.\n")
    assert load(target).padding == "right"
    assert run("build", folder, "-o", target, "--padding", "any", "--overwrite").exit_code == 0
    assert load(target).padding == "any"


def test_build_without_weights_shows_the_plan(folder: Path) -> None:
    result = run("build", folder / "config.json", "--no-weights", "--ep", "dml")
    assert result.exit_code == 0, result.output
    assert "dml float16" in result.stdout
    row = next(line.split() for line in result.stdout.splitlines() if "lower/rotary_to_ms" in line)
    assert row[1:4] == [str(2 * LAYERS), str(2 * LAYERS), "0"]  # candidates, applied, missed


def test_a_skeleton_is_not_saved(folder: Path, tmp_path: Path) -> None:
    text = failed(run("build", folder, "--no-weights", "-o", tmp_path / "out"), 2)
    assert "a graph without weights is a skeleton and cannot be saved" in text
    assert not (tmp_path / "out").exists()
    assert "say where to: -o DIR" in failed(run("build", folder), 2)


# --- compare --------------------------------------------------------------------------------------------
def test_compare_shows_tables(folder: Path) -> None:
    result = run("compare", folder, "--ep", "cpu", "--ep", "dml")
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines() == [
        f"Building {folder} ...", "Running cpu, dml against the generic graph ...",
    ]  # fmt: skip
    lines = result.stdout.splitlines()
    gqa = next(line.split() for line in lines if line.split()[:1] == ["com.microsoft.GroupQueryAttention"])
    assert gqa[1:] == ["-", str(LAYERS), str(LAYERS)]
    assert any(line.split() == ["fuse/gqa", f"{LAYERS}/{LAYERS}", f"{LAYERS}/{LAYERS}"] for line in lines)
    assert lines[-1] == "Parity: ok"


def test_compare_takes_all_but_the_portable_form_by_default(folder: Path) -> None:
    result = run("compare", folder, "--json", "-", "--no-weights")
    assert list(json.loads(result.stdout)["execution_providers"]) == [
        "cpu", "cuda", "dml", "webgpu", "trt-rtx", "onnx-standard",
    ]  # fmt: skip


def test_json_is_alone_on_stdout(folder: Path) -> None:
    result = run("compare", folder, "--ep", "webgpu", "--json", "-")
    document = json.loads(result.stdout)
    assert "Parity: ok" in result.stderr
    assert list(document) == [
        "format", "format_version", "model", "versions", "generic", "execution_providers", "ops", "fusions", "misses",
        "parity",
    ]  # fmt: skip
    assert (document["model"]["name"], document["model"]["model_type"]) == ("tiny-mqa", "llama")
    assert document["model"]["config"]["num_key_value_heads"] == CASE.hf["num_key_value_heads"]
    webgpu = document["execution_providers"]["webgpu"]
    assert (webgpu["dtype"], webgpu["padding"], webgpu["dropped_inputs"]) == ("float16", "right", ["position_ids"])
    assert {step["rule"] for step in webgpu["planned"]} >= {"fuse/gqa (without softcap)", "lower/eliminate_shape"}
    counts = {(op["execution_provider"], op["op_type"]): op["count"] for op in document["ops"]}
    assert counts["webgpu", "GroupQueryAttention"] == counts["generic", "Attention"] == LAYERS
    assert ("webgpu", "Shape") not in counts
    fused = next(row for row in document["fusions"] if row["rule"] == "fuse/skip_rms_norm")
    assert (fused["candidates"], fused["applied"], fused["fact"]) == (2 * LAYERS, 2 * LAYERS, 0)
    assert document["misses"] == []


def test_json_of_parity(folder: Path) -> None:
    parity = json.loads(run("compare", folder, "--ep", "cpu", "--json", "-").stdout)["parity"]
    assert list(parity) == ["reference", "seed", "prompts", "session_options", "rows", "summary", "verdict"]
    assert (parity["verdict"], parity["reference"]) == ("ok", "generic float32 on ort-cpu")
    assert {row["label"] for row in parity["rows"]} == {"ep-kernels"}
    assert all(row["max_abs"] <= row["tolerance"] for row in parity["rows"])
    assert [row["case"] for row in parity["summary"]] == ["prefill", "right-padded", "decode"]


def test_json_to_a_file_leaves_stdout_to_tables(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    result = run("compare", folder, "--ep", "cpu", "--json", path)
    assert json.loads(path.read_text("utf-8"))["parity"]["verdict"] == "ok"
    assert result.stdout.endswith("Parity: ok\n")
    assert f"Wrote {path}" in result.stderr


def test_html_is_one_page(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    assert run("compare", folder, "--ep", "cpu", "--html", path).exit_code == 0
    page = path.read_text("utf-8")
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert "GroupQueryAttention" in page


def test_without_weights_nothing_runs(folder: Path) -> None:
    result = run("compare", folder / "config.json", "--ep", "cpu", "--no-weights", "--json", "-")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["parity"] is None
    assert "Parity: not run, there are no weights." in result.stderr
    assert "running a prompt needs weights" in failed(run("compare", folder, "--no-weights", "--prompt", "x"), 2)


def test_a_prompt_needs_a_tokenizer(folder: Path) -> None:
    text = failed(run("compare", folder, "--ep", "cpu", "--prompt", "hello"), 1)
    assert "has no tokenizer (tokenizer.json)" in text


def test_a_report_that_cannot_be_written_is_refused_first(folder: Path, tmp_path: Path) -> None:
    for option in ("--json", "--html"):
        text = failed(run("compare", folder, option, tmp_path / "no" / "such" / "file"), 1)
        assert f"there is no folder {tmp_path / 'no' / 'such'}. Make it first." in text
        assert "Building" not in text
        assert "is a folder; give the name of a file." in failed(run("compare", folder, option, tmp_path), 1)


@pytest.mark.parametrize(
    ("verdict", "max_abs", "status"), [("differs", math.nan, 1), ("ill-conditioned", 2e-3, 0)], ids=["differs", "ill"]
)
def test_exit_status_of_a_parity(
    verdict: str, max_abs: float, status: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Comparison.parity

    def worse(self: Comparison, prompts: Any = None) -> ParityReport:
        report = real(self, prompts)
        row = dataclasses.replace(report.rows[0], max_abs=max_abs, kl=math.nan, floor=1e-3, verdict=verdict)
        return dataclasses.replace(report, rows=(row, *report.rows[1:]))

    monkeypatch.setattr(Comparison, "parity", worse)
    result = run("compare", folder, "--ep", "cpu", "--json", "-")
    assert result.exit_code == status
    parity = json.loads(result.stdout)["parity"]
    assert (parity["verdict"], parity["rows"][0]["max_abs"]) == (verdict, None if math.isnan(max_abs) else max_abs)


# --- names and usage ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["compare", "smolm2-135m"], "Unknown model 'smolm2-135m'. Did you mean 'smollm2-135m'? Known: "),
        (["compare", "M", "--ep", "webgpuu"], "Unknown execution provider 'webgpuu'. Did you mean 'webgpu'? Known: "),
        (["compare", "M", "--dtype", "float61"], "Unknown dtype 'float61'. Did you mean 'float16'? Known: "),
        (["build", "smolm2-135m", "-o", "x"], "Unknown model 'smolm2-135m'. Did you mean 'smollm2-135m'? Known: "),
        (["build", "M", "-o", "x", "--ep", "cpuu"], "Unknown execution provider 'cpuu'. Did you mean 'cpu'? Known: "),
        (["build", "M", "-o", "x", "--dtype", "fp32"], "Unknown dtype 'fp32'."),
        (["build", "M", "-o", "x", "--padding", "rigth"], "Unknown padding 'rigth'. Did you mean 'right'? Known: "),
    ],
)
def test_an_unknown_name_gets_the_close_match_and_2(arguments: list[str], text: str, folder: Path) -> None:
    words = [str(folder) if word == "M" else word for word in arguments]
    assert f"Error: {text}" in failed(run(*words), 2)


def test_unknown_names_list_what_is_known(folder: Path) -> None:
    text = failed(run("compare", folder, "--ep", "nothing-like-it"), 2)
    assert all(name in text for name in execution_providers())
    assert all(name in failed(run("compare", "qqqqq"), 2) for name in builtin_names())


def test_wrong_usage_ends_with_2() -> None:
    assert "No such command" in failed(run("frobnicate"), 2)
    assert "No such option" in failed(run("compare", "x", "--frobnicate"), 2)
    assert "Missing argument" in failed(run("compare"), 2)


# --- errors ---------------------------------------------------------------------------------------------
def test_an_error_is_its_text_alone(folder: Path) -> None:
    text = failed(run("compare", folder, "--ep", "cpu", "--dtype", "bfloat16"), 1)
    assert text.splitlines()[-1].startswith("Error: Execution provider 'cpu' cannot compute in bfloat16: ")


def test_errors_speak_of_options(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    text = failed(run("compare", tmp_path), 1)
    assert "Give --no-weights for a skeleton" in text
    assert "load_weights" not in text


@pytest.mark.parametrize("spoil", ["truncated", "missing", "odd"])
def test_damaged_weights_are_one_sentence(spoil: str, folder: Path, tmp_path: Path) -> None:
    model = write_model(tmp_path / "model", CASE)
    weights = model / "model.safetensors"
    if spoil == "truncated":
        weights.write_bytes(weights.read_bytes()[:-1000])
    elif spoil == "missing":
        weights.unlink()
    else:  # the config of another model
        config = json.loads((model / "config.json").read_text())
        (model / "config.json").write_text(json.dumps({**config, "hidden_size": 32}))
    text = failed(run("build", model, "-o", tmp_path / "out"), 1)
    assert text.splitlines()[-1].startswith("Error: ")
    assert not (tmp_path / "out").exists()


def test_traceback_when_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("compare", folder, "--ep", "cpu", "--dtype", "bfloat16")
    asked = run(*words, "--traceback")
    assert (asked.exit_code, "Traceback (most recent call last)" in asked.stderr) == (1, True)
    monkeypatch.setenv("WORKBENCH_TRACEBACK", "1")
    assert "UnsupportedError: Execution provider 'cpu'" in run(*words).stderr


def test_interrupted_is_one_line_and_130(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["workbench.compare"], "compare", interrupt)
    assert failed(run("compare", folder), 130).splitlines() == [f"Building {folder} ...", "Interrupted."]


# --- doctor ---------------------------------------------------------------------------------------------
def test_doctor_as_json(tmp_path: Path) -> None:
    health = json.loads(run("doctor", "--json").stdout)
    assert list(health) == [
        "python", "platform", "packages", "optional", "onnxruntime", "execution_providers", "cache", "builtin_models",
        "netron", "problems",
    ]  # fmt: skip
    assert {"ep-workbench", "onnx", "onnxruntime", "onnxscript", "netron"} <= set(health["packages"])
    assert "torch" in health["optional"]
    assert "pytest" not in {*health["packages"], *health["optional"]}
    assert "CPUExecutionProvider" in health["onnxruntime"]["providers"]
    kernels = {ep["name"]: ep["local_kernels"] for ep in health["execution_providers"]}
    assert kernels == {name: name == "cpu" for name in execution_providers()}
    assert health["cache"] == str(tmp_path / "cache")


def test_doctor_says_whether_weights_are_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.config import builtin

    monkeypatch.setattr(builtin, "_installed", lambda member: None)
    assert json.loads(run("doctor", "--json").stdout)["builtin_models"] == [{"name": "smollm2-135m", "path": None}]
    assert "smollm2-135m: not here yet, fetched when first used" in run("doctor").stdout
    cached = builtin.builtin("smollm2-135m").cached
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"x")
    assert json.loads(run("doctor", "--json").stdout)["builtin_models"][0]["path"] == str(cached)


def test_doctor_finds_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.cli import doctor

    real = doctor._version
    monkeypatch.setattr(doctor, "_version", lambda name: None if name == "onnxscript" else real(name))
    monkeypatch.setattr("workbench.widgets.netron.age_notice", lambda: "The installed Netron is old.")
    result = run("doctor")
    assert result.exit_code == 1
    assert "Problem: onnxscript is not installed: pip install ep-workbench" in result.stdout
    assert "Problem: The installed Netron is old." in result.stdout


def test_doctor_for_people() -> None:
    result = run("doctor")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.endswith("No problems found.\n")


# --- parts ----------------------------------------------------------------------------------------------
def test_json_holds_nothing_that_is_not_json() -> None:
    values = {
        "nan": math.nan, "inf": -math.inf, "half": np.float16(1.5), "count": np.int64(3), "flag": np.bool_(True),
        "text": "é<&", "none": None, "list": (1, [np.float32("nan")]),
    }  # fmt: skip
    text = to_json(values)
    assert json.loads(text, parse_constant=lambda word: pytest.fail(word)) == {
        "nan": None, "inf": None, "half": 1.5, "count": 3, "flag": True, "text": "é<&", "none": None,
        "list": [1, [None]],
    }  # fmt: skip
    assert "é" in text


def test_tables_show_cells_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Names from a file are no markup, and a reason is not cut where no terminal limits the width."""
    from workbench.cli.tables import show

    show(shell.console(), "[red]t[/red]", ["a", "[b]"], [["[bold]x[/bold]", ":smile:"], ["y" * 100, 1]])
    text = capsys.readouterr().out
    assert all(word in text for word in ("[red]t[/red]", "[b]", "[bold]x[/bold]", ":smile:", "y" * 100))


def test_python_words_become_options() -> None:
    text = "Pass overwrite=True to replace it. built with padding='right', or build with padding='any'"
    assert shell.in_our_words(text) == (
        "Give --overwrite to replace it. built with --padding right, or build with --padding any"
    )


def test_what_goes_wrong_after_a_signal_is_its_doing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing a binary module turns Ctrl-C into an ImportError; a bug without any signal stays a bug."""

    def broken(*_: object, **__: object) -> None:
        raise ImportError("initialization failed")

    monkeypatch.setattr(sys.modules["workbench.compare"], "compare", broken)
    assert isinstance(run("compare", folder).exception, ImportError)
    monkeypatch.setattr(shell, "stopped_by", lambda: 2)
    assert failed(run("compare", folder), 130).endswith("Interrupted.\n")


def test_the_parity_table_shows_exact_numbers_and_says_what_limits_mean(folder: Path) -> None:
    result = run("compare", folder, "--ep", "cpu", "--ep", "dml", "--json", "-")
    parity = json.loads(result.stdout)["parity"]
    lines = [line.split() for line in result.stderr.splitlines()]
    for group in parity["summary"]:
        row = next(line for line in lines if line[:1] == [group["execution_provider"]] and line[3:4] == [group["case"]])
        floor = f"{group['floor']:.1e}" if group["floor"] else "0"
        assert row[4:7] == [f"{group['max_abs']:.1e}", floor, f"{group['tolerance']:.1e}"]
        assert row[-1] == "ok"
    limits = [line for line in result.stderr.splitlines() if line.startswith("limit in ")]
    assert [line.split(":")[0] for line in limits] == ["limit in float32", "limit in float16"]


def test_what_did_not_run_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    from tests.unit.analysis.results import OPTIONS, TOLERANCE, VERSIONS, subject
    from workbench.analysis.parity import PREFILL, not_run
    from workbench.cli.tables import _parity

    row = not_run(subject("dml", "float16"), PREFILL, "no kernel on this machine: Thing", TOLERANCE)
    _parity(shell.console(), ParityReport((row,), "generic", 0, VERSIONS, OPTIONS))
    lines = capsys.readouterr().out.splitlines()
    assert next(line.split() for line in lines if line.split()[:1] == ["dml"])[4:] == ["-"] * 4 + ["not", "run"]
    assert lines[-2:] == ["dml prefill: no kernel on this machine: Thing", "Parity: not run"]

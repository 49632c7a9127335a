"""The verbs export, lint and run: options, exit statuses, what goes to stdout."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.unit.export.folders import change_config, drop_ends, exported, genai, set_in, source, write_tokenizer
from workbench.cli import main
from workbench.export import lint
from workbench.package import load

Capture = pytest.CaptureFixture[str]


def test_export_writes_a_folder(tmp_path: Path, capsys: Capture) -> None:
    place = str(tmp_path / "x")
    assert main(["export", str(source()), "--ep", "webgpu", "--dtype", "float16", "-o", place]) == 0
    out, err = capsys.readouterr()
    assert "wrote 7 files" in out and "genai_config.json" in out and "needs the provider webgpu" in err
    assert load(place, verify=True).execution_provider == "webgpu" and lint(place).findings == ()
    assert main(["export", str(source()), "-o", place]) == 1
    assert "Give --overwrite to replace it" in capsys.readouterr().err
    assert main(["export", str(source()), "-o", place, "--overwrite"]) == 0
    assert load(place).execution_provider == "cpu"


def test_export_dry_and_as_json(tmp_path: Path, capsys: Capture) -> None:
    assert main(["export", str(source()), "-o", str(tmp_path / "x"), "--dry-run", "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["dry_run"] and values["config"]["model"]["type"] == "llama" and values["lint"]["ok"]
    assert os.listdir(tmp_path) == []


def test_export_refuses(tmp_path: Path, capsys: Capture) -> None:
    place = str(tmp_path / "x")
    assert main(["export", str(source()), "-o", place, "--runtime", "llama.cpp"]) == 2
    assert "Building" not in capsys.readouterr().err
    assert main(["export", str(source()), "-o", place, "--ep", "cud"]) == 2
    assert main(["export", str(source())]) == 2
    assert main(["export", str(source()), "-o", place, "--tokenizer", str(tmp_path)]) == 1
    assert "holds no tokenizer.json" in capsys.readouterr().err and os.listdir(tmp_path) == []


def test_lint_says_and_exits(tmp_path: Path, capsys: Capture) -> None:
    exported(tmp_path / "x")
    assert main(["lint", str(tmp_path / "x")]) == 0
    assert "nothing found" in capsys.readouterr().out
    change_config(tmp_path / "x", set_in("model.vocab_size", 97))
    assert main(["lint", str(tmp_path / "x")]) == 1
    assert "genai.vocab-logits error: The config says vocab_size 97" in capsys.readouterr().out
    assert main(["lint", str(tmp_path / "x"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["code"] == "genai.vocab-logits"
    assert main(["lint", str(tmp_path / "nowhere")]) == 1
    change_config(tmp_path / "x", set_in("model.vocab_size", 96))
    change_config(tmp_path / "x", set_in("model.decoder.num_hidden_layers", 9))
    assert main(["lint", str(tmp_path / "x")]) == 0  # a warning alone


@genai
def test_run_answers(tmp_path: Path, capsys: Capture) -> None:
    exported(tmp_path / "x", "cuda", "float16")
    change_config(tmp_path / "x", drop_ends)
    arguments = ["run", str(tmp_path / "x"), "--prompt", "abc", "--max-new-tokens", "5", "--greedy"]
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert len(out) == 6 and out.endswith("\n") and "5 tokens (length)" in err and "cuda is not here" in err
    assert main([*arguments, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["text"] == out[:-1] and len(values["tokens"]) == 5 and values["finish"] == "length"
    assert values["executor"] == "onnxruntime-genai" and values["peak_bytes"] > 1e7
    assert main(["run", str(tmp_path / "x"), "--prompt", " "]) == 1
    assert "--prompt is empty" in capsys.readouterr().err
    assert main(["run", str(tmp_path), "--prompt", "a"]) == 1


@genai
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_with_what_there_is(tmp_path: Path, repo: Path) -> None:
    """A model that does not stop, in a long context: what came before the signal stays."""
    from tests.unit.export.folders import write_source
    from workbench.build import build
    from workbench.export import export
    from workbench.runtime.genai import GenaiClient

    long = write_source(tmp_path / "source", max_position_embeddings=100_000)
    export(build(long), tmp_path / "x", progress=False)
    for end in range(95, 0, -1):  # a token that it does not come to
        client = GenaiClient(change_config(tmp_path / "x", set_in("model.eos_token_id", [end])))
        if sum(1 for _ in client.tokens(client.encode("abc"), 2000, {"do_sample": False})) == 2000:
            break
    command = [sys.executable, "-m", "workbench", "run", str(tmp_path / "x"), "-p", "abc", "-n", "90000", "--greedy"]
    process = subprocess.Popen(command, cwd=repo, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and len(process.stdout.read(20)) == 20
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "(interrupted)" in err and "Interrupted." in err and "Traceback" not in err and out.endswith("\n")


@genai
def test_ctrl_c_while_a_piece_is_written(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.cli import export as verbs

    exported(tmp_path / "x")
    written: list[str] = []

    def emit(text: str) -> None:
        written.append(text)
        if len(written) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(verbs, "emit", emit)
    main(["run", str(tmp_path / "x"), "-p", "abc", "-n", "9", "--greedy", "--raw"])
    err = capsys.readouterr().err
    assert "3 tokens (interrupted)" in err and "Traceback" not in err and written[-1] == "\n"


@genai
def test_run_without_a_tokenizer(tmp_path: Path, capsys: Capture) -> None:
    exported(tmp_path / "x", tokenizer=False)
    assert main(["run", str(tmp_path / "x"), "-p", "abc"]) == 1
    assert "has no tokenizer that the client can read" in capsys.readouterr().err
    write_tokenizer(tmp_path / "x")
    assert main(["run", str(tmp_path / "x"), "-p", "abc", "-n", "2"]) == 0

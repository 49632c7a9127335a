"""Folders of three builders, imported and run: the published client answers as Hugging Face does."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.families import hf_config, hf_model
from tests.parity.test_client import hf_greedy
from tests.unit.export.folders import change_config, set_in, write_tokenizer
from tests.unit.importing.folders import rename_ports
from workbench.build import build
from workbench.export import export
from workbench.importing import GenaiImport, import_genai_config
from workbench.metadata import check_ports

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(
        importlib.util.find_spec("onnx_genai") is None,
        reason="onnx-genai is not installed: pip install onnx-genai==0.1.0.dev6",
    ),
]
NEW = 32
BYTES = "".join(map(chr, range(33, 127)))
"""Tokens of the tiny tokenizer from 3 on, as far as they are printable."""
PROMPT = "ThequickbrownfoxjumpsoverthelazydogThequickbrownfox"
"""A token a letter; longer than the windows of the exercises."""
IDS = [BYTES.index(letter) + 3 for letter in PROMPT]
RUN = """
import json, sys, onnx_genai
engine = onnx_genai.Engine.from_dir(sys.argv[1])
made = engine.generate(sys.argv[2], max_tokens=int(sys.argv[3]))
print(json.dumps([list(engine.tokenize(sys.argv[2])), list(made.token_ids)]))
"""


def model_in(folder: Path, model_type: str, kind: Any) -> Any:
    """A tiny model of Hugging Face as a folder. No width of it equals the vocabulary: the builder of ORT GenAI 0.18
    takes any layer as wide as that for the head."""
    words = {} if model_type == "phi" else {"intermediate_size": 112}
    model = hf_model(hf_config(model_type, kind, **words))
    model.save_pretrained(folder)
    write_tokenizer(folder, model.config.vocab_size)
    return model


def by_genai(source: Path, folder: Path) -> None:
    builder = pytest.importorskip(
        "onnxruntime_genai.models.builder", reason="onnxruntime-genai is not installed: pip install -e '.[peers]'"
    )
    given = (None, str(source), str(folder), "fp32", "cpu", str(folder.parent / "cache"))
    builder.create_model(*given, **builder.parse_extra_options(*given, []))


def by_mobius(ep: str) -> Any:
    def make(source: Path, folder: Path) -> None:
        mobius = pytest.importorskip("mobius", reason="mobius-onnx is not installed: pip install -e '.[peers]'")
        from mobius.integrations.ort_genai import export_package

        package = mobius.build(str(source), execution_provider=ep, dtype="f32")
        options = {"ep": ep, "local_config_dir": str(source), "progress_bar": False}
        export_package(package, str(folder), context_length=128, **options)

    return make


def by_us(ep: str, **variant: Any) -> Any:
    def make(source: Path, folder: Path) -> None:
        export(build(source, execution_provider=ep, dtype="float32", **variant), folder, progress=False)

    return make


def renamed(source: Path, folder: Path) -> None:
    by_us("default")(source, folder)
    rename_ports(folder)


def run(folder: Path, new: int = NEW) -> tuple[list[int], list[int]]:
    """Tokens of the prompt and the client's greedy answer; the config is gone, the document alone says how."""
    (folder / "genai_config.json").unlink()
    command = [sys.executable, "-c", RUN, str(folder), PROMPT, str(new)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    ids, made = json.loads(done.stdout.splitlines()[-1])
    return ids, made


def imported(folder: Path) -> GenaiImport:
    """A folder imported and saved: valid in both dialects, its ports those of the graph."""
    found = import_genai_config(folder, allow_lossy=True)
    assert not found.metadata.validate("pr828") and not found.metadata.validate("v1")
    found.save()
    report = check_ports(folder, dialect="v1")
    assert report.ok and {entry.verdict for entry in report.entries} == {"agrees"}, report.rows()
    return found


SLIDING = {f"model.decoder.sliding_window.{word}" for word in ("slide_key_value_cache", "slide_inputs", "cache_slack")}
LOST = {"model.decoder.session_options.log_id", "model.decoder.hidden_size"}


@pytest.mark.parametrize(
    ("make", "model_type", "kind", "lost"),
    [
        pytest.param(by_genai, "llama", "exercise", LOST, id="genai-llama"),
        pytest.param(by_genai, "qwen3", "exercise", LOST | SLIDING, id="genai-qwen3-windows"),
        pytest.param(by_mobius("default"), "llama", "default", LOST, id="mobius-default-llama"),
        pytest.param(by_mobius("cpu"), "mistral", "exercise", LOST, id="mobius-cpu-mistral-windows"),
        pytest.param(by_us("cpu"), "qwen3", "exercise", LOST, id="ours-cpu-qwen3-windows"),
        pytest.param(renamed, "llama", "exercise", LOST, id="ours-default-llama-other-names"),
        pytest.param(by_us("default", cache_length=96), "llama", "exercise", LOST, id="ours-default-llama-fixed-cache"),
    ],
)
def test_greedy_tokens_equal_hugging_face(
    make: Any, model_type: str, kind: Any, lost: set[str], tmp_path: Path
) -> None:
    """Families that each builder gets right (see the client's tests for what they get wrong)."""
    model = model_in(tmp_path / "hf", model_type, kind)
    make(tmp_path / "hf", tmp_path / "x")
    expected = hf_greedy(model, IDS)[:NEW]
    unused = next(token for token in reversed(range(96)) if token not in expected)
    change_config(tmp_path / "x", set_in("model.eos_token_id", unused))
    assert {loss.path for loss in imported(tmp_path / "x").losses} == lost
    assert run(tmp_path / "x") == (IDS, expected)


def test_every_end_of_a_list_ends_an_answer(tmp_path: Path) -> None:
    model = model_in(tmp_path / "hf", "llama", "exercise")
    by_us("cpu")(tmp_path / "hf", tmp_path / "x")
    expected = hf_greedy(model, IDS)[:NEW]
    unused = next(token for token in reversed(range(96)) if token not in expected)
    change_config(tmp_path / "x", set_in("model.eos_token_id", [unused, expected[9]]))
    imported(tmp_path / "x")
    assert run(tmp_path / "x") == (IDS, expected[: expected.index(expected[9]) + 1])

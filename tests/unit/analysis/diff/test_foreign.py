"""Graphs of other builders: matched or explained, without anything of ours in them."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases import CASES, write_model
from workbench.analysis.diff import GraphDiff, diff

SHARE = 0.95


def share(found: GraphDiff) -> float:
    """Of all nodes of both graphs: those that are matched, or whose going or coming has an explanation."""
    return 1 - len(found.unexplained) / len(found.entries)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tokenizers import Tokenizer, models

    case = CASES["gqa"]
    words = {**case.hf, "architectures": ["LlamaForCausalLM"], "torch_dtype": "float32"}
    folder = write_model(tmp_path_factory.mktemp("foreign") / "llama", dataclasses.replace(case, hf=words))
    vocabulary = {f"w{i}": i for i in range(case.hf["vocab_size"])}
    Tokenizer(models.WordLevel(vocabulary, unk_token="w0")).save(str(folder / "tokenizer.json"))
    tokenizer = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "w1", "eos_token": "w2"}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    return folder


@pytest.mark.torch
@pytest.mark.parametrize("execution_provider", ["cuda", "dml", "webgpu"])
def test_mobius_default_against_a_provider(llama: Path, tmp_path: Path, execution_provider: str) -> None:
    mobius = pytest.importorskip("mobius", reason="mobius-onnx is not installed (extra peers)")
    words = json.loads((llama / "config.json").read_text()) | {"torch_dtype": "float16"}
    (tmp_path / "config.json").write_text(json.dumps(words))  # in float32 it fuses nothing
    made = {
        name: mobius.build(str(tmp_path), load_weights=False, execution_provider=name)["model"]
        for name in ("default", execution_provider)
    }
    found = diff(made["default"], made[execution_provider])
    assert found.method == "structure" and found.counts["same"] > 30
    assert share(found) >= SHARE, found.summary()
    assert {group.rule for group in found.groups} & {"PackQKVForGQA", "GQASeparateRoPE RotaryAttentionToGQA"}
    assert found.runs[-1].indices == (1, 2)


@pytest.mark.slow
@pytest.mark.torch
def test_ort_genai_cpu_against_dml(llama: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime_genai.models.builder", reason="onnxruntime-genai is not installed (extra peers)")
    for name, precision in (("cpu", "fp32"), ("dml", "fp16")):
        command = [sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", llama, "-o", tmp_path / name,
                   "-p", precision, "-e", name, "-c", tmp_path / "cache"]  # fmt: skip
        environment = os.environ | {"HF_HUB_OFFLINE": "1"}
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment, timeout=600)
        assert done.returncode == 0, done.stderr[-2000:]
    found = diff(tmp_path / "cpu", tmp_path / "dml")
    assert found.labels == ("cpu", "dml") and found.counts["same"] > 30
    assert share(found) >= SHARE, found.summary()
    assert str(found.changes[0]) == "dtype of all values: float32 -> float16"
    lines = list(found.summary().lines)
    assert any("GroupQueryAttention attribute do_rotary x 3: 1 -> 0" in line for line in lines)

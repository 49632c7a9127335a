"""The real model through ONNX Runtime GenAI: right answers, and the logits of our own runs and of Hugging Face."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests import make_goldens
from tests.make_goldens import SMOLLM2, SMOLLM2_DECODE, SMOLLM2_ROW, SMOLLM2_STEP
from tests.parity.real import skipped_without_weights
from tests.unit.export.folders import genai
from workbench import build
from workbench.export import export, lint
from workbench.runtime.chat import chat
from workbench.runtime.client_parity import client_parity
from workbench.runtime.genai import GenaiClient, client_logits

pytestmark = [pytest.mark.weights, genai]
OURS, HUGGING_FACE = 1e-4, 3e-4
"""What float32 logits of up to 30 may differ by."""
QUESTION, COLOURS = "What is the capital of France?", "Name three colors."
LONG = " ".join(["Paris is the capital and largest city of France, on the river Seine."] * 12) + f" {QUESTION}"
GREEDY = {"do_sample": False}


def exported(folder: Path, ep: str, dtype: str) -> Path:
    with skipped_without_weights():
        package = build(SMOLLM2, execution_provider=ep, dtype=dtype)
    report = export(package, folder / ep, progress=False)
    assert report.lint.findings == lint(folder / ep).findings == ()
    return folder / ep


@pytest.fixture(scope="module")
def cpu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported(tmp_path_factory.mktemp("smollm2"), "cpu", "float32")


def test_logits_through_the_client(cpu: Path) -> None:
    found = client_logits(cpu, SMOLLM2_ROW, decode=SMOLLM2_DECODE)
    golden = make_goldens.smollm2_golden()
    expected = np.concatenate([golden["prefill"], golden["decode"]])
    assert found.shape == (len(SMOLLM2_ROW) + len(SMOLLM2_DECODE), 49152)
    assert np.abs(found[:, ::SMOLLM2_STEP] - expected).max() <= HUGGING_FACE
    report = client_parity(cpu, SMOLLM2_ROW)
    assert report.verdict == "ok" and max(row.max_abs for row in report.rows) <= OURS


def test_the_capital(cpu: Path) -> None:
    result = chat(cpu, QUESTION, max_new_tokens=16, search=GREEDY)
    assert "Paris" in result.text and result.finish == "stop" and result.prompt_tokens == 37


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ep", "dtype"),
    [("cpu", "float32"), ("cuda", "float16"), ("dml", "float16"), ("webgpu", "float16"), ("trt-rtx", "float16")],
)
def test_three_prompts_on_every_providers_graph(ep: str, dtype: str, tmp_path: Path) -> None:
    folder = exported(tmp_path, ep, dtype)
    client = GenaiClient(folder)
    assert client.notes == () if ep == "cpu" else "providers cleared" in client.notes[0]
    capital, colours, long = (
        chat(client, text, max_new_tokens=40, search=GREEDY) for text in (QUESTION, COLOURS, LONG)
    )
    assert "Paris" in capital.text and "Paris" in long.text and long.prompt_tokens >= 200
    assert sum(word in colours.text.lower() for word in ("red", "blue", "green", "yellow", "orange")) >= 3
    assert {answer.finish for answer in (capital, colours, long)} == {"stop"}
    assert client_parity(folder, SMOLLM2_ROW).verdict == "ok"


@pytest.mark.slow
@pytest.mark.torch
def test_all_logits_equal_hugging_face(cpu: Path) -> None:
    """All 49,152 logits of every position."""
    expected = make_goldens.smollm2_logits()
    found = client_logits(cpu, SMOLLM2_ROW, decode=SMOLLM2_DECODE)
    worst = np.abs(found - np.concatenate([expected["prefill"], expected["decode"]])).max()
    print(f"\nclient against Hugging Face: {worst:.1e}")
    assert worst <= HUGGING_FACE

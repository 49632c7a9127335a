"""Described packages in our own interpreter: greedy tokens equal Hugging Face's, beyond every window."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.families import hf_logits
from tests.make_goldens import SMOLLM2
from tests.parity.described import FAMILIES, NEW, ROW, SMOLLM2_TOKENS, made
from tests.parity.real import skipped_without_weights
from tests.parity.tiny import saved
from workbench import build, export
from workbench.interpret import WorkflowRun, interpret

pytestmark = pytest.mark.torch
CALL = "pipeline.workflow.steps.nodes[0].body.nodes[0]"
FIVE = ("llama", "mistral", "gemma2", "qwen3", "gpt2")
LOGITS = 1e-4
ROOM = 80
"""Slots: for the prompt of 40 tokens and more than NEW others."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("interpreted")


def interpreted(source: object, ep: str, folder: Path, row: list[int]) -> WorkflowRun:
    package = build(source, execution_provider=ep, dtype="float32")
    export(package, folder, runtime="onnx-genai", progress=False)
    return interpret(folder, {"prompt_tokens": [row]}, max_new_tokens=NEW, eos_token_ids=())


@pytest.mark.parametrize("ep", ["cpu", "default"])
@pytest.mark.parametrize("family", FIVE)
def test_greedy_tokens_equal_hugging_face(family: str, ep: str, place: Path) -> None:
    source, row, expected = made(family, place)
    run = interpreted(source, ep, place / f"{family}-{ep}", row)
    assert run.ok and run.diagnostics == ()
    assert list(run.tokens[0]) == expected
    assert len(run.trace.at(CALL)) == NEW


def test_logits_of_every_step_are_hugging_faces(place: Path) -> None:
    source, row, expected = made("llama", place)
    seed, words = FAMILIES["llama"]
    model = saved("llama", "exercise", place / "again", seed=seed, **words)
    run = interpreted(source, "default", place / "llama-logits", row)
    ours = np.concatenate([value.array[0] for value in run.trace.value("step.logits")])
    (theirs,) = hf_logits(model, [[*row, *expected[:-1]]])
    assert np.abs(ours - theirs).max() <= LOGITS


@pytest.mark.parametrize(
    ("ep", "end"), [("default", "done"), ("cpu", "failed")]
)  # scatter with policy graphs, which end rows at the last slot; the runtime's loop on buffers, which do not
def test_a_cache_of_fixed_length(ep: str, end: str, place: Path) -> None:
    source, row, expected = made("llama", place)
    folder = place / f"static-{ep}"
    package = build(source, execution_provider=ep, dtype="float32", cache_length=ROOM)
    report = export(package, folder, runtime="onnx-genai", progress=False)
    assert report.metadata is not None and report.metadata.kind == "static_cache"
    run = interpret(folder, {"prompt_tokens": [row]}, max_new_tokens=NEW, eos_token_ids=())
    assert run.ok and list(run.tokens[0]) == expected
    longer = interpret(folder, {"prompt_tokens": [row]}, max_new_tokens=2 * NEW, eos_token_ids=())
    assert longer.status == end and list(longer.tokens[0])[:NEW] == expected
    if end == "failed":
        (found,) = longer.diagnostics
        assert (found.code, found.step) == ("run.beyond-max", CALL)
        assert f"has room for {ROOM} entries on axis 2, and {ROOM + 1} came back" in found.message


@pytest.mark.weights
@pytest.mark.parametrize("ep", ["cpu", "default"])
def test_smollm2(ep: str, place: Path) -> None:
    with skipped_without_weights():
        run = interpreted(SMOLLM2, ep, place / f"smollm2-{ep}", ROW)
    assert list(run.tokens[0]) == SMOLLM2_TOKENS

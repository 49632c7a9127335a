"""The workflow of every kind, run: each step gets what it needs, and what comes out has the promised shape."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.make_metadata_goldens import examples
from tests.metadata_packages import HIDDEN, write_package
from workbench.interpret import interpret

IDS, ROUNDS, WIDTH, KEPT = np.array([[5, 6, 7], [8, 9, 4]]), 3, 4, 2
Feeds = dict[str, Any]


def _verifier(feeds: Feeds) -> Feeds:
    """Of every proposal the first token is kept, and one of the target's own: two a round."""
    rows, proposed = feeds["proposal"].shape
    assert feeds["logits"].shape[1] > proposed, "scores for the token before the proposal and for all of it"
    return {
        "tokens": np.full((rows, WIDTH + 1), 4), "token": np.full((rows, 1), 4), "active": np.ones(rows, bool),
        "done": np.zeros(rows, bool), "accepted_len": np.full(rows, KEPT),
    }  # fmt: skip


def _pixels(feeds: Feeds) -> Feeds:
    return {"pixel_values": np.zeros((1, 3, 8, 8), np.float32)}


def _samples(feeds: Feeds) -> Feeds:
    return {"input_values": np.zeros((2, 16), np.float32)}


TEXT: Feeds = {"prompt_tokens": IDS}
SOUND: Feeds = {"media": np.zeros(9, np.uint8), "attention_mask": np.ones((2, 16), np.int64)}
SELECTION: Feeds = {
    "adapter_segments": np.array([[0, 1], [1, -1]]), "adapter_counts": np.array([2, 1]),
    "adapter_scales": np.array([[1, 1], [1, 0]], np.float32),
}  # fmt: skip
CHAIN: Feeds = {"proposer.fused_hidden": np.zeros((2, 3, HIDDEN), np.float32)}
Case = tuple[Feeds, dict[str, Callable[[Feeds], Feeds]], dict[str, tuple[int, ...]]]
TOKENS: dict[str, tuple[int, ...]] = {"tokens": (2, ROUNDS)}
JUDGED: dict[str, tuple[int, ...]] = {"tokens": (2, KEPT * ROUNDS)}
CASES: dict[str, Case] = {
    "decoder": (TEXT, {}, TOKENS),
    "static_cache": (TEXT, {}, TOKENS),
    "windows": (TEXT, {}, TOKENS),
    "hybrid": (TEXT, {}, TOKENS),
    "lora": (TEXT | SELECTION, {}, TOKENS),
    "encoder-decoder": (TEXT | {"attention_mask": np.ones_like(IDS)}, {}, TOKENS),
    "vision-language": (TEXT, {}, TOKENS),
    "vision-language with a picture": (TEXT | {"media": SOUND["media"]}, {"image_preprocess": _pixels}, TOKENS),
    "speculative": (TEXT, {"verifier": _verifier}, JUDGED),
    "speculative-chained": (TEXT | CHAIN, {"verifier": _verifier}, JUDGED),
    "embedding": (TEXT, {}, {"embeddings": (2, 3, 64)}),
    "ctc": (SOUND, {"audio_preprocess": _samples}, {"logits": (2, 4, 5), "frame_lengths": (2,)}),
}


@pytest.mark.parametrize("name", CASES)
def test_it_runs(name: str, tmp_path: Path) -> None:
    inputs, executors, shapes = CASES[name]
    example = examples()[name.split(" ")[0]]
    folder = write_package(tmp_path, example.package, example.metadata, None)
    bound = {"max_new_tokens": ROUNDS} if "tokens" in shapes else {}
    run = interpret(folder, inputs, executors=executors, eos_token_ids=(), **bound)
    assert [str(one) for one in run.diagnostics if one.severity == "error"] == []
    assert {output: array.shape for output, array in run.outputs.items()} == shapes

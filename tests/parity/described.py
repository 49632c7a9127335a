"""Models for the clients of described packages: drawn so that greedy tokens tell, and a real one's expected tokens."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np

from tests.families import hf_logits, some_rows
from tests.parity.tiny import hf_greedy, saved

NEW = 32
MARGIN = 0.02
"""How far the best logit is ahead of the second at every step: two thousand times what the graphs are off by."""
DIFFERENT = 9
UNTIED = {"tie_word_embeddings": False}
"""Tied embeddings of drawn weights repeat their last token for ever."""
# Family: seed of the weights and words of the config, for which both of the above hold (a test asks again).
FAMILIES: dict[str, tuple[int, dict[str, Any]]] = {
    "llama": (1, {}), "mistral": (9, {}), "gemma2": (4, UNTIED), "gemma3_text": (6, UNTIED), "qwen3": (10, UNTIED),
    "gpt2": (6, UNTIED), "bloom": (7, UNTIED),
}  # fmt: skip
MIXED = {"sliding_attention", "full_attention"}
SLIDING = {"mistral": {"sliding_attention"}, **dict.fromkeys(("gemma2", "gemma3_text", "qwen3"), MIXED)}


def engine_tokens(folder: Path, row: list[int], new: int = NEW) -> list[int]:
    """Greedy tokens of the engine, which takes text."""
    import onnx_genai
    from tokenizers import Tokenizer

    engine = onnx_genai.Engine.from_dir(str(folder))
    text = Tokenizer.from_file(str(folder / "tokenizer.json")).decode(row)
    assert engine.tokenize(text) == row
    return list(engine.generate(text, max_tokens=new, temperature=0.0).token_ids)


def margin(model: Any, row: list[int], tokens: list[int]) -> float:
    """The least distance between the best and the second logit on the way."""
    (logits,) = hf_logits(model, [row + tokens])
    best = np.sort(logits[len(row) - 1 : -1], axis=-1)
    return float((best[:, -1] - best[:, -2]).min())


@functools.cache
def made(family: str, place: Path) -> tuple[Path, list[int], list[int]]:
    """A tiny model's folder, a prompt longer than its window, and Hugging Face's tokens after it."""
    seed, words = FAMILIES[family]
    model = saved(family, "exercise", place / family, seed=seed, **words)
    (row,) = some_rows((40,))
    tokens = hf_greedy(model, row)[:NEW]
    window = getattr(model.config, "sliding_window", None)
    assert (window or 0) < len(row) and bool(window) is (family in SLIDING)
    assert 2 not in tokens and len(set(tokens)) >= DIFFERENT and margin(model, row, tokens) >= MARGIN
    return place / family, row, tokens


# --- the real model -----------------------------------------------------------------------------------------------
PROMPT = "Paris is the capital and largest city of France, on the river Seine. London is the capital of"
ROW = [38634, 314, 260, 3575, 284, 3995, 2240, 282, 4649, 28, 335, 260, 4626, 1268, 462, 30, 4528, 314, 260, 3575, 282]
SMOLLM2_TOKENS = [
    260, 4664, 284, 314, 260, 3995, 2240, 281, 1910, 30, 7042, 314, 597, 260, 3575, 282, 4649, 284, 314, 253, 1739,
    3113, 3712, 327, 2517, 28, 7317, 28, 984, 28, 43948, 28,
]  # fmt: skip
"""Hugging Face's greedy tokens after the prompt (transformers 5.24, float32); a slow test makes them again."""

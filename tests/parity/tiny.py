"""Hugging Face's tiny models as folders, their greedy tokens, and what another builder makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.families import Kind, hf_config, hf_model
from tests.unit.export.folders import write_tokenizer

NEW = 40
"""Tokens that :func:`hf_greedy` gives: more than any window and any original RoPE length of the exercises."""


def saved(model_type: str, kind: Kind, folder: Path, *, seed: int = 0, **words: Any) -> Any:
    """Hugging Face's tiny model as a folder with a tokenizer, and the model."""
    config = hf_config(model_type, kind, **words)
    model = hf_model(config, seed)
    model.save_pretrained(folder)
    write_tokenizer(folder, config.vocab_size)
    return model


def hf_greedy(model: Any, row: list[int]) -> list[int]:
    """``NEW`` tokens of Hugging Face's own generate, which nothing ends."""
    import torch

    model.generation_config.eos_token_id = None
    found = model.generate(torch.tensor([row]), max_new_tokens=NEW, do_sample=False, pad_token_id=0)
    return list(map(int, found[0, len(row) :]))


def built_by_genai(model_type: str, kind: Kind, folder: Path, ep: str, precision: str, **words: Any) -> Path:
    """What ORT GenAI's own builder makes of a tiny model."""
    from onnxruntime_genai.models.builder import create_model, parse_extra_options

    saved(model_type, kind, folder / "hf", **words)
    given = (None, str(folder / "hf"), str(folder / "x"), precision, ep, str(folder / "cache"))
    create_model(*given, **parse_extra_options(*given, []))
    return folder / "x"

"""``generation_config.json``: how a model is meant to be sampled, and where its texts end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.config.model_config import ModelConfig
from workbench.errors import SaveError

_LARGEST = 4_000_000  # bytes


def generation_words(folder: Path | None) -> Mapping[str, Any]:
    """``generation_config.json`` of a folder; nothing where there is none.

    Raises:
        SaveError: it is there and cannot be read.
    """
    path = folder / "generation_config.json" if folder is not None else None
    if path is None or not path.is_file():
        return {}
    try:
        if path.stat().st_size > _LARGEST:
            raise ValueError("it is too large")
        words = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise SaveError(f"{path} cannot be read: {error}. Correct it, or remove it.") from None
    if not isinstance(words, dict):
        raise SaveError(f"{path} holds a JSON {type(words).__name__}, not named values. Correct it, or remove it.")
    return words


def special_tokens(config: ModelConfig, generation: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """``bos_token_id``, ``pad_token_id`` and the list ``eos_token_id``, as far as they are known, and what was left
    out. All ends of a text: a chat model stops at the end of a turn, which ``config.json`` often leaves out."""
    ends = _ids(generation.get("eos_token_id")) or _ids(config.eos_token_id)
    known = [token for token in ends if 0 <= token < config.vocab_size]
    notes = []
    if known != ends:
        notes.append(f"eos_token_id {sorted(set(ends) - set(known))} left out: no tokens of {config.vocab_size}.")
    found: dict[str, Any] = {}
    for name in ("bos_token_id", "pad_token_id"):
        token = generation.get(name, getattr(config, name))
        if isinstance(token, int) and 0 <= token < config.vocab_size:
            found[name] = token
    if known:
        found["eos_token_id"] = known
    return found, notes


def _ids(found: Any) -> list[int]:
    given = found if isinstance(found, list | tuple) else [found]
    return list(dict.fromkeys(token for token in given if isinstance(token, int) and not isinstance(token, bool)))


__all__ = ["generation_words", "special_tokens"]

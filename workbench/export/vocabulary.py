"""How many tokens a ``tokenizer.json`` has: read as data, without making a tokenizer of it."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LARGEST = 256_000_000  # bytes; the largest in use (Gemma's) has 33 million


class UnreadableTokenizer(ValueError):
    """A ``tokenizer.json`` of which the vocabulary cannot be told; the text goes on after the file's name."""


def vocabulary(path: Path) -> int | None:
    """One more than the largest id of any token; None for kinds of tokenizer that are not known here.

    Raises:
        UnreadableTokenizer: no valid JSON, too large, or not a tokenizer.
    """
    try:
        status = path.stat()
        if status.st_size > LARGEST:
            raise UnreadableTokenizer("is too large")
        return _vocabulary(path, status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise UnreadableTokenizer(f"cannot be read: {error.strerror}") from None


@functools.lru_cache(maxsize=4)
def _vocabulary(path: Path, size: int, changed: int) -> int | None:
    """Read once for several exports of a model: a tokenizer is megabytes of JSON."""
    try:
        words = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise UnreadableTokenizer(f"is not valid JSON: {str(error)[:100] or 'nested too deeply'}") from None
    if not isinstance(words, dict) or not isinstance(words.get("model"), dict):
        raise UnreadableTokenizer("is not a tokenizer: it has no model")
    return max(_ids(words), default=-1) + 1 or None


def _ids(words: dict[str, Any]) -> Iterator[int]:
    held = words["model"].get("vocab")
    if isinstance(held, dict):
        yield from (number for number in held.values() if isinstance(number, int))
    elif isinstance(held, list):
        yield len(held) - 1
    added = words.get("added_tokens")
    for token in added if isinstance(added, list) else ():
        if isinstance(token, dict) and isinstance(token.get("id"), int):
            yield token["id"]

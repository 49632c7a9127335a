"""Values of a document as people write them, ``{dtype: int64, shape: [batch, 2]}``: quotes only where they matter."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable

_HUGE = 1024  # bits of a whole number that is written out
_DEEPEST = 20
_MOST_LINES, _ROOM = 40, 400  # of a value that is shown whole
_BARE = re.compile(r"[^\W\d][\w ./@+*$()<>=|-]*(?<! )\Z")  # no sign of YAML at the begin, none that ends a word
_OTHER = frozenset({"true", "false", "null", "yes", "no", "on", "off", "nan", "inf", ".nan", ".inf", "-.inf"})
"""Words that are no texts where nothing is around them."""


def plain(value: object, room: int = 120) -> str:
    """A value on one line, its begin where it is long: only the begin is looked at. Of a mapping what is set.

    A text that could be taken for something else, for a number or for two words of a list, is in quotes.
    """
    text = value[: room + 1] if isinstance(value, str) and _stands_alone(value[: room + 1]) else _flow(value, room + 1)
    return text if len(text) <= room else f"{text[:room].rstrip(' ,')}…"


def whole(value: object) -> str:
    """A value on as many lines as it has entries; of a very large one the begin."""
    if isinstance(value, dict):
        found = [(f"{_flow(key, _ROOM)}: ", entry) for key, entry in value.items() if _is_set(entry)]
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        found = [("- ", item) for item in value]
    else:
        return plain(value, 5 * _ROOM)
    lines = [f"{head}{plain(entry, _ROOM)}" for head, entry in found[:_MOST_LINES]]
    more = [f"… ({len(found) - _MOST_LINES} more)"] if len(found) > _MOST_LINES else []
    return "\n".join([*lines, *more]) or plain(value)


def _is_set(value: object) -> bool:
    return value is not None and value != {} and value != []


def _stands_alone(text: str) -> bool:
    """Whether a text that is all of a value can be read as nothing else. Signs of lists do no harm there."""
    return (
        text.isprintable()
        and text == text.strip()
        and bool(text)
        and text[0] not in "[{\"'&*!|>%@`#"
        and not _other(text)
    )


def _other(text: str) -> bool:
    """Whether a text looks like a number, a truth value or nothing."""
    if text.lower() in _OTHER or text == "~":
        return True
    for number in (float, lambda word: int(word, 0)):
        try:
            number(text)
            return True
        except ValueError:
            continue
    return False


def _flow(value: object, room: int, depth: int = 0) -> str:
    """What YAML writes on one line, or at least the first ``room`` characters of it."""
    if isinstance(value, str):
        begin = value[: room + 1]
        return begin if _BARE.match(begin) and not _other(begin) else json.dumps(begin, ensure_ascii=False)
    if isinstance(value, int) and value.bit_length() > _HUGE:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{'-' * (value < 0)}.{'nan' if math.isnan(value) else 'inf'}"
    if depth > _DEEPEST and isinstance(value, dict | list):
        return "…"
    if isinstance(value, dict):
        pairs = ((f"{_flow(key, room)}: ", entry) for key, entry in value.items() if _is_set(entry))
        return _joined(pairs, "{}", room, depth)
    if isinstance(value, list):
        return _joined((("", item) for item in value), "[]", room, depth)
    return json.dumps(value, ensure_ascii=False, default=str)


def _joined(items: Iterable[tuple[str, object]], ends: str, room: int, depth: int) -> str:
    text = ends[0]
    for index, (head, value) in enumerate(items):
        text += (", " if index else "") + head + _flow(value, room - len(text), depth + 1)
        if len(text) > room:
            return text
    return text + ends[1]

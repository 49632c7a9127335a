"""Names in messages: a document may have very long ones, and very many of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable

_LONGEST = 80
_MOST = 8
_HUGE = 1024  # bits of a whole number that is written out


def q(value: object) -> str:
    """A name in quotes, the begin of it where it is very long; of anything else what Python calls it."""
    if not isinstance(value, str):
        return brief(value)
    return repr(value) if len(value) <= _LONGEST else f"{value[:_LONGEST]!r}..."


def cut(word: str, longest: int = _LONGEST) -> str:
    """A word as it is, the begin of it where it is very long; what cannot be printed is escaped."""
    shown = word if len(word) <= longest else f"{word[:longest]}..."
    return shown if shown.isprintable() else repr(shown)[1:-1]


def few(names: Collection[object]) -> str:
    """Some names in a row, and how many there are where that is not all."""
    shown = ", ".join(cut(name) if isinstance(name, str) else brief(name) for name in itertools.islice(names, _MOST))
    return (shown or "none") if len(names) <= _MOST else f"{shown} and {len(names) - _MOST} more"


def brief(value: object, room: int = 60) -> str:
    """Any value of a document on one line, its begin where it is long; only the begin is looked at."""
    text = " ".join(_begin(value, room + 1).split())
    return text if len(text) <= room else f"{text[:room]}..."


def _begin(value: object, room: int) -> str:
    """What ``repr`` writes, or at least the first ``room`` characters of it."""
    if isinstance(value, str | bytes):
        return repr(value[: room + 1])
    if isinstance(value, int) and value.bit_length() > _HUGE:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, dict):
        return _row(value, "{}", room, lambda key, left: f"{_begin(key, left)}: {_begin(value[key], left)}")
    if isinstance(value, list):
        return _row(value, "[]", room, _begin)
    try:
        return repr(value)
    except Exception:  # an object that is not of a document may do as it likes
        return f"a {type(value).__name__}"


def _row(items: Iterable[object], ends: str, room: int, show: Callable[[object, int], str]) -> str:
    text = ends[0]
    for index, item in enumerate(items):
        text += (", " if index else "") + show(item, room - len(text))
        if len(text) > room:
            return text
    return text + ends[1]

"""JSON to plain data: duplicate keys found, no numbers that JSON does not have."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any

from workbench.metadata.reading.limits import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_NAME,
    MAX_NODES,
    MOST_PLACES,
    Fault,
    long_key,
    repeated_key,
    stop,
    too_deep,
    too_many,
)
from workbench.metadata.reading.plain import copy_plain

# A text that does not end takes all that is left: to begin again at each quote in it would never be done. Nothing is
# tried twice (`++`), which also keeps long texts from filling the memory with places to come back to.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}\[\]:,]|[^\s{}\[\]:,"]++', re.DOTALL)
_MAY_BE_LONE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
Mark = tuple[str, int, str | None]


def read_json(text: str) -> tuple[Any, list[Fault]]:
    """Data of a text, and faults that did not stop the reading."""
    _check_bounds(text)
    repeats = False

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal repeats
        found = dict(items)
        for key in found:
            if len(key) > MAX_NAME:
                raise long_key(key, (), _line_of(text, key))
        repeats = repeats or len(found) < len(items)
        return found

    try:
        data = json.loads(text, object_pairs_hook=pairs, parse_constant=_no_constant, parse_int=_integer)
    except json.JSONDecodeError as error:
        raise stop(f"The text is no JSON: {error.msg}.", "Correct the text.", (), error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise stop(f"The text is no JSON: {str(error)[:120].rstrip('.')}.", "Correct the text.") from None
    if _MAY_BE_LONE.search(text):
        data, _ = copy_plain(data)
    return data, list(_repeated(text)) if repeats else []


@dataclasses.dataclass(slots=True)
class _Frame:
    """An open mapping or list: ``at`` is the key whose value comes (None before a key), or the last index."""

    seen: set[str] | None
    at: Any


def _repeated(text: str) -> Iterator[Fault]:
    """Keys that stand twice."""
    stack: list[_Frame] = []
    count = 0
    for kind, line, word in json_marks(text):
        top = stack[-1] if stack else None
        if top and kind != "end" and top.seen is None:
            top.at += 1
        elif top and kind == "scalar" and top.seen is not None and top.at is None:
            if word in top.seen:
                around = tuple(frame.at for frame in stack[:-1]) if count <= MOST_PLACES else ()
                count += 1
                yield repeated_key(str(word), (*around, str(word)), line)
            top.seen.add(str(word))
            top.at = word
            continue
        if kind in ("{", "["):
            stack.append(_Frame(set(), None) if kind == "{" else _Frame(None, -1))
            continue
        if kind == "end":
            stack.pop()
        if stack and stack[-1].seen is not None:  # a value has ended
            stack[-1].at = None


def _integer(word: str) -> int:
    if len(word) > MAX_DIGITS:
        raise ValueError(f"a number has more than {MAX_DIGITS} digits")
    return int(word)


def _line_of(text: str, key: str) -> int | None:
    place = text.find(f'"{key}"')
    return text.count("\n", 0, place) + 1 if place >= 0 else None


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


def _check_bounds(text: str) -> None:
    """Depth and number of values, before the parser recurses."""
    depth = nodes = 0
    for token in _TOKEN.finditer(text):
        first = text[token.start()]
        if first in "{[":
            depth += 1
        elif first in "}]":
            depth -= 1
        if first not in ":,}]":
            nodes += 1
        if depth > MAX_DEPTH:
            raise too_deep((), text.count("\n", 0, token.start()) + 1)
        if nodes > MAX_NODES:
            raise too_many()


def json_marks(text: str) -> Iterator[Mark]:
    """Tokens of a text that is known to be JSON: kind (one of ``{ [ end scalar``), line, text of a string."""
    line, at = 1, 0
    for token in _TOKEN.finditer(text):
        line += text.count("\n", at, token.start())
        at = token.start()
        first = text[at]
        if first in "{[":
            yield first, line, None
        elif first in "}]":
            yield "end", line, None
        elif first == '"':
            yield "scalar", line, json.loads(token.group())
        elif first not in ":,":
            yield "scalar", line, token.group()

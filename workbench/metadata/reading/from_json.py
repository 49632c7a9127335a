"""JSON to plain data: duplicate keys found, no numbers that JSON does not have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from workbench.metadata.reading.limits import MAX_DEPTH, MAX_NODES, Fault, stop, too_deep, too_many

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')
Mark = tuple[str, int, str | None]


def read_json(text: str) -> tuple[Any, list[Fault]]:
    """Data of a text, and faults that did not stop the reading."""
    _check_bounds(text)
    twice: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            seen: set[str] = set()
            twice.extend(key for key, _ in items if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        return found

    try:
        data = json.loads(text, object_pairs_hook=pairs, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise stop(f"The text is no JSON: {error.msg}.", "Correct the text.", (), error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise stop(f"The text is no JSON: {str(error)[:120].rstrip('.')}.", "Correct the text.") from None
    hint = "Keep one of the two; readers would silently take the last."
    return data, [Fault(f"The key {key!r} stands twice in one mapping.", hint) for key in twice]


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

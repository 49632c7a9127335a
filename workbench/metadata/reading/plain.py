"""Python data to plain data: a copy of dicts, lists and scalars, bounded like a text."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from workbench.metadata.reading.limits import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_NAME,
    MAX_NODES,
    Fault,
    Path,
    broken_text,
    long_key,
    shorten,
    stop,
    too_deep,
    too_long,
    too_many,
)

_SCALARS = (str, int, float, bool, type(None))
_MOST_BITS = math.ceil(MAX_DIGITS * math.log2(10))
LONE = re.compile("[\ud800-\udfff]")


class _Copier:
    def __init__(self) -> None:
        self.nodes = self.length = 0
        self.faults: list[Fault] = []

    def copy(self, value: Any, path: Path) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise too_many()
        if len(path) > MAX_DEPTH:
            raise too_deep(path)
        if isinstance(value, Mapping):
            items = ((self._key(key, path), item) for key, item in value.items())
            return {key: self.copy(item, (*path, key)) for key, item in items}
        if isinstance(value, list | tuple):
            return [self.copy(item, (*path, index)) for index, item in enumerate(value)]
        if not isinstance(value, _SCALARS):
            raise stop(
                f"A value of type {type(value).__name__} is no text, number, truth value, list or mapping.",
                "Turn it into one of these.", path, rule=7,
            )  # fmt: skip
        if isinstance(value, str):
            self._text(value, path)
        elif isinstance(value, int) and value.bit_length() > _MOST_BITS:
            message = f"A number has more than {MAX_DIGITS} digits."
            raise stop(message, "Write the number that is meant.", path, rule=7)
        return value

    def _key(self, key: Any, path: Path) -> str:
        if not isinstance(key, str):
            self.faults.append(Fault(f"A key must be text; found {shorten(key)}.", "Make it text.", path, rule=7))
            return shorten(key)
        if len(key) > MAX_NAME:
            raise long_key(key, path)
        self._text(key, path)
        return key

    def _text(self, text: str, path: Path) -> None:
        self.length += len(text)
        if self.length > MAX_BYTES:
            raise too_long()
        if not text.isascii() and LONE.search(text):
            raise broken_text(path)


def copy_plain(value: Any) -> tuple[Any, list[Fault]]:
    """A copy in plain dicts and lists, and faults that did not stop it."""
    copier = _Copier()
    return copier.copy(value, ()), copier.faults

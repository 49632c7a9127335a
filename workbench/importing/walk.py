"""The walk over a raw config: each key is imported, dropped, refused or unknown, and nothing is passed over."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import Any

from workbench.importing.entries import ConfigEntry
from workbench.importing.keys import DROPPED, IMPORTED, KIND_WORDS, OBJECTS, REFUSED, Kind
from workbench.metadata.diagnostic import Path, show_path
from workbench.metadata.wording import brief

UNKNOWN = "no reader of this config is known to have such a key"
_LARGEST = 2**31


def _split(paths: Mapping[str, Any]) -> dict[Path, Any]:
    return {tuple(path.split(".")): value for path, value in paths.items()}


_IMPORTED, _DROPPED, _REFUSED = _split(IMPORTED), _split(DROPPED), _split(REFUSED)
_OBJECTS = {tuple(path.split(".")) if path else () for path in OBJECTS}


@dataclasses.dataclass(frozen=True)
class Walk:
    """What the walk met. ``values`` holds what is imported by its dotted path, in plain kinds of Python."""

    values: Mapping[str, Any]
    entries: tuple[ConfigEntry, ...]
    refused: tuple[tuple[str, str], ...]
    """Path and what it is, of what makes the model another kind."""
    wrong: tuple[tuple[str, str], ...]
    """Path and a sentence, of values of a wrong kind."""

    @property
    def losses(self) -> tuple[ConfigEntry, ...]:
        """Entries that the document says nothing of, in the order of the config."""
        return tuple(entry for entry in self.entries if entry.is_lost)


def walk(config: Mapping[str, Any]) -> Walk:
    """Ask about every key of a config, down to the last number."""
    walker = _Walker()
    walker.visit((), config)
    return Walk(walker.values, tuple(walker.entries), tuple(walker.refused), tuple(walker.wrong))


class _Walker:
    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.entries: list[ConfigEntry] = []
        self.refused: list[tuple[str, str]] = []
        self.wrong: list[tuple[str, str]] = []

    def visit(self, path: Path, value: Any) -> None:
        if path in _OBJECTS:
            self._object(path, value)
        elif path in _IMPORTED:
            self._import(path, value)
        elif path in _REFUSED:
            if any(True for _ in _leaves(path, value)):
                self.refused.append((show_path(path), _REFUSED[path]))
        elif path in _DROPPED:
            self._lose(path, value, "dropped", _DROPPED[path])
        else:
            self._lose(path, value, "unknown", UNKNOWN)

    def _object(self, path: Path, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, below in value.items():
                self.visit((*path, key), below)
        elif value is not None or not path:
            self._wrong(path, value, "named values")

    def _import(self, path: Path, value: Any) -> None:
        kind, where = _IMPORTED[path]
        if value is None:  # says what its absence says
            return
        plain = as_kind(value, kind)
        if plain is None:
            self._wrong(path, value, KIND_WORDS[kind])
            return
        self.values[show_path(path)] = plain
        self.entries.append(ConfigEntry(show_path(path), plain, "imported", where))

    def _lose(self, path: Path, value: Any, fate: Any, why: str) -> None:
        leaves = list(_leaves(path, value))
        if not leaves and fate == "unknown":  # an unknown key counts even where nothing stands behind it
            leaves = [(path, value)]
        self.entries += [ConfigEntry(show_path(at), found, fate, why) for at, found in leaves]

    def _wrong(self, path: Path, value: Any, allowed: str) -> None:
        where = show_path(path)
        self.wrong.append((where, f"{where or 'the config'} is {brief(value)}, where {allowed} must stand"))


def _leaves(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    """Everything below a place that is no mapping, no list and not nothing."""
    if isinstance(value, Mapping):
        for key, below in value.items():
            yield from _leaves((*path, key), below)
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _leaves((*path, index), below)
    elif value is not None:
        yield path, value


# --- kinds ----------------------------------------------------------------------------------------------
def as_kind(value: Any, kind: Kind) -> Any:
    """A value in the plain kind of Python, or None where it is of another kind."""
    return _KINDS[kind](value)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value and "\0" not in value else None


def _template(value: Any) -> str | None:
    return value if _text(value) and value.count("%") == 1 and "%d" in value else None


def _whole(value: Any) -> int | None:
    """The client of the file reads every number as a float, so 50.0 is 50 for it."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _LARGEST:
        return None
    return int(value) if value == int(value) else None


def _size(value: Any) -> int | None:
    return _whole(value) or None


def _wholes(value: Any) -> list[int] | None:
    found = [_whole(one) for one in value] if isinstance(value, list) else [None]
    return None if None in found else [one for one in found if one is not None]


def _ends(value: Any) -> list[int] | None:
    found = _wholes(value if isinstance(value, list) else [value])
    return list(dict.fromkeys(found)) if found is not None else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        return None
    return float(value) if math.isfinite(value) else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


_KINDS: Mapping[Kind, Any] = {
    "text": _text, "template": _template, "size": _size, "whole": _whole, "wholes": _wholes, "ends": _ends,
    "number": _number, "flag": _flag,
}  # fmt: skip

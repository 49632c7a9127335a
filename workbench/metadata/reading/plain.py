"""Python data to plain data: a copy of dicts, lists and scalars, bounded like a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.metadata.reading.limits import MAX_DEPTH, MAX_NODES, Fault, Path, shorten, stop, too_deep, too_many

_SCALARS = (str, int, float, bool, type(None))


class _Copier:
    def __init__(self) -> None:
        self.nodes = 0
        self.faults: list[Fault] = []

    def copy(self, value: Any, path: Path) -> Any:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise too_many()
        if len(path) > MAX_DEPTH:
            raise too_deep(path)
        if isinstance(value, Mapping):
            return {self._key(key, path): self.copy(item, (*path, str(key))) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.copy(item, (*path, index)) for index, item in enumerate(value)]
        if not isinstance(value, _SCALARS):
            raise stop(
                f"A value of type {type(value).__name__} is no text, number, truth value, list or mapping.",
                "Turn it into one of these.", path, rule=7,
            )  # fmt: skip
        return value

    def _key(self, key: Any, path: Path) -> str:
        if not isinstance(key, str):
            self.faults.append(Fault(f"A key must be text; found {shorten(key)}.", "Make it text.", path, rule=7))
        return str(key)


def copy_plain(value: Any) -> tuple[Any, list[Fault]]:
    """A copy in plain dicts and lists, and faults that did not stop it."""
    copier = _Copier()
    return copier.copy(value, ()), copier.faults

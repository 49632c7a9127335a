"""Lines of paths, found by a second pass over the text: only a document with something to say pays for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from workbench.metadata.reading.from_json import Mark, json_marks
from workbench.metadata.reading.from_yaml import PARSER
from workbench.metadata.reading.limits import Path


class _Wanted:
    """A tree of the paths asked for."""

    __slots__ = ("below", "line")

    def __init__(self) -> None:
        self.below: dict[str | int, _Wanted] = {}
        self.line: int | None = None


def lines_of(text: str, syntax: str, paths: Iterable[Path]) -> dict[Path, int | None]:
    """The line of each path, or of the nearest thing above it that the text holds."""
    asked = list(paths)
    root = _Wanted()
    for path in asked:
        node = root
        for step in path:
            node = node.below.setdefault(step, _Wanted())
    try:
        _walk(json_marks(text) if syntax == "json" else _yaml_marks(text), root)
    except (yaml.YAMLError, UnicodeError, ValueError):
        pass  # a text that breaks off: what came before has its lines
    return {path: _nearest(root, path) for path in asked}


def _nearest(root: _Wanted, path: Path) -> int | None:
    node, line = root, root.line
    for step in path:
        node = node.below[step]
        if node.line is None:
            break
        line = node.line
    return line


def _yaml_marks(text: str) -> Iterator[Mark]:
    event: Any
    for event in yaml.parse(text, Loader=PARSER):
        kind, line = type(event), event.start_mark.line + 1
        if kind is yaml.ScalarEvent:
            yield "scalar", line, event.value
        elif kind is yaml.MappingStartEvent:
            yield "{", line, None
        elif kind is yaml.SequenceStartEvent:
            yield "[", line, None
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            yield "end", line, None
        elif kind is yaml.AliasEvent:
            yield "scalar", line, None


@dataclasses.dataclass(slots=True)
class _Frame:
    """An open mapping or list. ``wanted`` is what is asked below it; ``value`` below the value of its last key."""

    is_map: bool
    wanted: _Wanted | None
    index: int = 0
    has_key: bool = False
    value: _Wanted | None = None

    def take_key(self, text: str | None, line: int) -> None:
        self.value = self.wanted.below.get(text) if self.wanted and text is not None else None
        self.has_key = True
        _mark(self.value, line)

    def next_value(self) -> _Wanted | None:
        """What is asked below the value that comes now."""
        if self.is_map:
            self.has_key = False
            return self.value
        self.index += 1
        return self.wanted.below.get(self.index - 1) if self.wanted else None


def _mark(wanted: _Wanted | None, line: int) -> None:
    if wanted and wanted.line is None:
        wanted.line = line


def _walk(marks: Iterator[Mark], root: _Wanted) -> None:
    """Follow a document and write down the lines of what is asked."""
    stack: list[_Frame] = []
    for kind, line, text in marks:
        if kind == "end":
            stack.pop()
            continue
        wanted: _Wanted | None = root if not stack else None
        if stack and stack[-1].is_map and not stack[-1].has_key:
            stack[-1].take_key(text, line)
        elif stack:
            wanted = stack[-1].next_value()
        _mark(wanted, line)
        if kind != "scalar":
            stack.append(_Frame(kind == "{", wanted))

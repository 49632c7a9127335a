"""Lines of paths, found by a second pass over the text: only a document with something to say pays for it."""

from __future__ import annotations

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


def _walk(marks: Iterator[Mark], root: _Wanted) -> None:
    """Follow a document; a frame is [is a mapping, index, node wanted or None, node of the value to come]."""
    stack: list[list[Any]] = []
    for kind, line, text in marks:
        if kind == "end":
            stack.pop()
            continue
        node: _Wanted | None = root
        if stack:
            top = stack[-1]
            if top[0] and top[3] is None:  # a key
                wanted = top[2].below.get(text) if top[2] and text is not None else None
                if wanted and wanted.line is None:
                    wanted.line = line
                top[3] = (wanted,)
                if kind != "scalar":  # a mapping or list as a key: walked, wanted by nobody
                    stack.append([kind == "{", 0, None, None])
                continue
            if top[0]:
                (node,) = top[3]
                top[3] = None
            else:
                node = top[2].below.get(top[1]) if top[2] else None
                top[1] += 1
        if node and node.line is None:
            node.line = line
        if kind != "scalar":
            stack.append([kind == "{", 0, node, None])

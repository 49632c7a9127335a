"""YAML to plain data, from the parser's events: no recursion, no objects, aliases counted with what they stand for."""

from __future__ import annotations

import dataclasses
from typing import Any

import yaml

from workbench.metadata.reading import scalars
from workbench.metadata.reading.limits import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_NAME,
    MAX_NODES,
    MOST_PLACES,
    Fault,
    Path,
    long_key,
    repeated_key,
    shorten,
    stop,
    too_deep,
    too_long,
    too_many,
)
from workbench.metadata.wording import cut

PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NO_KEY = object()


@dataclasses.dataclass(slots=True)
class _Open:
    """A mapping or list that is being filled."""

    value: Any
    is_map: bool
    anchor: str | None
    before: int  # nodes counted before it
    length: int  # characters counted before it
    line: int
    key: Any = _NO_KEY
    height: int = 1


@dataclasses.dataclass(slots=True)
class _Anchored:
    value: Any
    nodes: int
    height: int
    length: int


class YamlReader:
    """Reads one document; ``faults`` are what it could go on after (a key that stands twice)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.faults: list[Fault] = []
        self.nodes = 0
        self.length = 0
        self.stack: list[_Open] = []
        self.anchors: dict[str, _Anchored | None] = {}
        self.words: dict[str, object] = {}
        self.root: Any = _NO_KEY

    def read(self) -> Any:
        try:
            for event in yaml.parse(self.text, Loader=PARSER):
                self._take(event)
        except yaml.MarkedYAMLError as error:
            raise self._syntax(error) from None
        except (yaml.YAMLError, UnicodeError, ValueError) as error:
            raise stop(f"The text is no YAML: {_first_line(error)}.", "Correct the text.") from None
        if self.root is _NO_KEY:
            raise stop("The text holds no document.", "Write at least a mapping such as `schema_version: v1`.")
        return self.root

    def _syntax(self, error: yaml.MarkedYAMLError) -> Exception:
        mark = error.problem_mark or error.context_mark
        said = " ".join(str(part) for part in (error.problem, error.context) if part) or "it cannot be parsed"
        line = mark.line + 1 if mark else None
        return stop(f"The text is no YAML: {said}.", "Correct the text at that line.", self._path(), line)

    def _path(self) -> Path:
        """Where the reader stands: keys and positions of everything open."""
        steps: list[str | int] = []
        for frame in self.stack:
            if not frame.is_map:
                steps.append(len(frame.value))
            elif frame.key is not _NO_KEY:
                steps.append(frame.key)
        return tuple(steps)

    def _place_of_fault(self) -> Path:
        return self._path() if len(self.faults) <= MOST_PLACES else ()

    # --- events -------------------------------------------------------------------------------------------
    def _take(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._scalar(event)
        elif kind is yaml.MappingStartEvent:
            self._begin({}, True, event)
        elif kind is yaml.SequenceStartEvent:
            self._begin([], False, event)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._end()
        elif kind is yaml.AliasEvent:
            self._alias(event)
        elif kind is yaml.DocumentStartEvent and self.root is not _NO_KEY:
            raise stop("The text holds more than one document.", "Keep one.", (), event.start_mark.line + 1)

    def _scalar(self, event: Any) -> None:
        value: object = event.value
        if self.stack and self.stack[-1].is_map and self.stack[-1].key is _NO_KEY:
            pass  # a key is text as it is written: the case `true:` of a branch, a name `1:`
        elif event.implicit[0]:
            word = event.value
            value = self.words.get(word, _NO_KEY)
            if value is _NO_KEY:
                value = self.words[word] = scalars.resolve(word)
        elif event.tag is not None and not event.implicit[1]:
            value = self._tagged(event)
        if event.anchor:
            self.anchors[event.anchor] = _Anchored(value, 1, 0, len(event.value))
        self._place(value, event, 1, 0, len(event.value))

    def _tagged(self, event: Any) -> object:
        try:
            return scalars.tagged(event.tag, event.value)
        except ValueError:
            line = event.start_mark.line + 1
            message = f"The tag {event.tag[:60]!r} does not go with the value {event.value[:40]!r}."
            raise stop(message, "Leave the tag out.", self._path(), line) from None

    def _begin(self, value: Any, is_map: bool, event: Any) -> None:
        if len(self.stack) >= MAX_DEPTH:
            raise too_deep(self._path(), event.start_mark.line + 1)
        if event.tag is not None and event.tag not in ("!", scalars.CORE + ("map" if is_map else "seq")):
            message = f"The tag {event.tag[:60]!r} is not known."
            raise stop(message, "Leave the tag out.", self._path(), event.start_mark.line + 1)
        if event.anchor:
            self.anchors[event.anchor] = None
        self.stack.append(_Open(value, is_map, event.anchor, self.nodes, self.length, event.start_mark.line + 1))

    def _end(self) -> None:
        done = self.stack.pop()
        if done.anchor:
            nodes, length = self.nodes - done.before + 1, self.length - done.length
            self.anchors[done.anchor] = _Anchored(done.value, nodes, done.height, length)
        self._place(done.value, None, 1, done.height, 0)

    def _alias(self, event: Any) -> None:
        line = event.start_mark.line + 1
        found = self.anchors.get(event.anchor, _NO_KEY)
        if found is _NO_KEY:
            raise stop(f"The alias *{cut(event.anchor)} names no anchor.", "Define it first.", self._path(), line)
        if found is None:
            message = f"The alias *{cut(event.anchor)} stands inside what it names, which would never end."
            raise stop(message, "Write the inner part out.", self._path(), line)
        assert isinstance(found, _Anchored)
        if len(self.stack) + found.height > MAX_DEPTH:
            raise too_deep(self._path(), line)
        self._place(found.value, event, found.nodes, found.height, found.length)

    # --- placing ------------------------------------------------------------------------------------------
    def _place(self, value: Any, event: Any, nodes: int, height: int, length: int) -> None:
        self.nodes += nodes
        self.length += length
        if self.nodes > MAX_NODES or self.length > MAX_BYTES:
            line = event.start_mark.line + 1 if event else None
            raise too_many(line) if self.nodes > MAX_NODES else too_long(line)
        if not self.stack:
            self.root = value
            return
        top = self.stack[-1]
        if height >= top.height:
            top.height = height + 1
        if not top.is_map:
            top.value.append(value)
        elif top.key is _NO_KEY:
            top.key = self._key(value, top, event)
        else:
            top.value[top.key] = value
            top.key = _NO_KEY

    def _key(self, key: Any, top: _Open, event: Any) -> str:
        line = event.start_mark.line + 1 if event else top.line
        if type(key) is not str:
            shown = key if not isinstance(key, dict | list) else type(key).__name__
            message = f"A key must be text; found {shorten(shown)}."
            self.faults.append(Fault(message, "Put the key in quotes.", self._place_of_fault(), line, rule=7))
            key = repr(shown)
        elif len(key) > MAX_NAME:
            raise long_key(key, self._path(), line)
        elif key in top.value:
            self.faults.append(repeated_key(key, (*self._place_of_fault(), key), line))
        return key


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def read_yaml(text: str) -> tuple[Any, list[Fault]]:
    """Data of the one document in a text, and faults that did not stop the reading."""
    reader = YamlReader(text)
    return reader.read(), reader.faults

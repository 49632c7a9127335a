"""Edits of a document in one line each, and a row of a table of faults: one fault, and a near miss that is none.

    Fault(21, "dec", put("generation.overrides.max_new_tokens.constraint.minimum", 999),
          near=put("generation.overrides.max_new_tokens.constraint.minimum", 128))

Short paths start at a word of ``SHORT``: ``in.prompt`` is ``pipeline.workflow.inputs.prompt``. A name with a dot in
it is written with a slash for the dot (``in.s/scores``).
"""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable
from typing import Any

from tests.unit.metadata.fixtures import base

Edit = Callable[[Any], None]
_W = "pipeline.workflow."
SHORT = {
    "wf": _W.rstrip("."), "in": _W + "inputs", "out": _W + "outputs", "comp": _W + "components", "state": _W + "state",
    "effects": _W + "effects", "serving": _W + "serving", "groups": _W + "serving.state_service.groups",
    "steps": _W + "steps", "manifest": _W + "manifest",
}  # fmt: skip


def path_of(text: str) -> list[str | int]:
    head = re.match(r"\w*", text)
    assert head is not None
    text = SHORT.get(head[0], head[0]) + text[head.end() :]
    return [int(i) if i else n.replace("/", ".") for n, i in re.findall(r"([^.\[\]]+)|\[(\d+)\]", text)]


def at(document: Any, text: str) -> Any:
    for step in path_of(text):
        document = document[step]
    return document


def put(text: str, value: Any) -> Edit:
    """Set a key or an item; the mapping around it must be there."""

    def edit(document: Any) -> None:
        *around, last = path_of(text)
        for step in around:
            document = document[step]
        document[last] = copy.deepcopy(value)

    return edit


def drop(text: str) -> Edit:
    """Remove a key or an item, which must be there."""

    def edit(document: Any) -> None:
        *around, last = path_of(text)
        for step in around:
            document = document[step]
        del document[last]

    return edit


def add(text: str, value: Any) -> Edit:
    """Append to a list."""

    def edit(document: Any) -> None:
        at(document, text).append(copy.deepcopy(value))

    return edit


def rename(text: str, name: str) -> Edit:
    """Give a key another name, in its place."""

    def edit(document: Any) -> None:
        *around, last = path_of(text)
        for step in around:
            document = document[step]
        items = [(name if key == last else key, value) for key, value in document.items()]
        document.clear()
        document.update(items)

    return edit


def copied(source: str, target: str) -> Edit:
    """Copy a part of the document to another place."""

    def edit(document: Any) -> None:
        put(target, at(document, source))(document)

    return edit


def all_of(*edits: Edit) -> Edit:
    def edit(document: Any) -> None:
        for one in edits:
            one(document)

    return edit


@dataclasses.dataclass(frozen=True)
class Fault:
    """A rule, a base document, the edit that breaks the rule and one beside it that does not.

    ``also`` are rules that the same edit breaks for a reason of their own: say which in a comment.
    ``severity`` is what the finding must have; ``options`` are passed to ``validate``.
    """

    rule: int
    base: str
    fault: Edit
    near: Edit
    also: tuple[int, ...] = ()
    severity: str = "error"
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    def broken(self) -> Any:
        return _edited(self.base, self.fault)

    def valid(self) -> Any:
        return _edited(self.base, self.near)


def _edited(name: str, edit: Edit) -> Any:
    document = base(name)
    before = copy.deepcopy(document)
    edit(document)
    assert document != before, "the edit changes nothing"
    return document

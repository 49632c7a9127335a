"""How much a document may be, and the fault that says what is wrong with one that cannot be read."""

from __future__ import annotations

import dataclasses

from workbench.metadata.wording import brief

MAX_BYTES = 8 * 2**20
MAX_DEPTH = 128
"""Mappings and lists inside each other. The deepest real documents have about twenty."""
MAX_NODES = 300_000
"""Keys, values, mappings and lists, each alias counted with all that it stands for. A decoder of a
hundred layers has some twenty thousand."""

MAX_NAME = 1000
"""Characters of a key: every place below it repeats its name."""
MAX_DIGITS = 400
"""Of a whole number; no float is as large."""

MOST_PLACES = 1000
"""Faults of one kind that get a path of their own; no more of them are told one by one."""

Path = tuple[str | int, ...]
shorten = brief
"""A value of a document, as a message repeats it."""


@dataclasses.dataclass(frozen=True)
class Fault:
    """What keeps a text from being data. ``rule`` is the number of a parse rule: 1 (no YAML or JSON), 7 (a wrong type),
    or another where the dialect of the document asks for something of its own.
    """

    message: str
    hint: str = ""
    path: Path = ()
    line: int | None = None
    rule: int = 1


class Unreadable(Exception):
    """Reading stops here; never leaves this package."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def stop(message: str, hint: str = "", path: Path = (), line: int | None = None, rule: int = 1) -> Unreadable:
    return Unreadable(Fault(message, hint, path, line, rule))


def repeated_key(key: str, path: Path, line: int) -> Fault:
    hint = "Keep one of the two; readers would silently take the last."
    return Fault(f"The key {shorten(key)} stands twice in one mapping.", hint, path, line)


def too_deep(path: Path, line: int | None = None) -> Unreadable:
    return stop(
        f"Mappings and lists lie more than {MAX_DEPTH} deep inside each other.",
        "Flatten the document; a list that holds itself also ends here.", path[:8], line,
    )  # fmt: skip


def too_many(line: int | None = None) -> Unreadable:
    return stop(
        f"The document has more than {MAX_NODES:,} keys and values, those behind aliases counted.",
        "Write repeated parts once, without aliases to aliases.", (), line,
    )  # fmt: skip


def too_long(line: int | None = None) -> Unreadable:
    return stop(
        f"The texts of the document have more than {MAX_BYTES:,} characters, those behind aliases counted.",
        "Give long texts no alias.", (), line,
    )  # fmt: skip


def long_key(key: str, path: Path, line: int | None = None) -> Unreadable:
    message = f"The key {shorten(key)} has {len(key):,} characters; at most {MAX_NAME:,} are read."
    return stop(message, "Take a shorter name.", path, line)


def broken_text(path: Path) -> Unreadable:
    return stop("A text holds half of a character (a lone surrogate).", "Correct or remove it.", path)

"""How much a document may be, and the fault that says what is wrong with one that cannot be read."""

from __future__ import annotations

import dataclasses

MAX_BYTES = 8 * 2**20
MAX_DEPTH = 128
"""Mappings and lists inside each other. The deepest real documents have about twenty."""
MAX_NODES = 300_000
"""Keys, values, mappings and lists, each alias counted with all that it stands for. A decoder of a
hundred layers has some twenty thousand."""

Path = tuple[str | int, ...]


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


def shorten(value: object) -> str:
    """A value of a document, as a message repeats it."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:60]}..."


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

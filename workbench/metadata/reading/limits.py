"""How much a document may be, and the fault that says what is wrong with one that cannot be read."""

from __future__ import annotations

import dataclasses

MAX_BYTES = 16 * 2**20
MAX_DEPTH = 128
"""Mappings and lists inside each other. The deepest real documents have about twenty."""
MAX_NODES = 1_000_000
"""Keys, values, mappings and lists, each alias counted with all that it stands for."""

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

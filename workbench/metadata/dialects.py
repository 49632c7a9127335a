"""The dialects a document may be written in, and how each becomes the one that the rules are written for."""

from __future__ import annotations

from collections.abc import Callable

from workbench.errors import unknown
from workbench.metadata.reading import Loaded

Reader = Callable[[Loaded], Loaded]


def _as_it_is(loaded: Loaded) -> Loaded:
    return loaded


_READERS: dict[str, Reader] = {"pr828": _as_it_is}


def reader_of(dialect: str) -> Reader:
    """What turns the data of a dialect into those of ``pr828``."""
    if dialect not in _READERS:
        raise unknown("dialect", dialect, _READERS)
    return _READERS[dialect]

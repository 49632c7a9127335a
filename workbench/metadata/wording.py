"""Names in messages: a document may have very long ones, and very many of them."""

from __future__ import annotations

import itertools
from collections.abc import Collection

_LONGEST = 80
_MOST = 8


def q(name: str) -> str:
    """A name in quotes, the begin of it where it is very long."""
    return repr(name) if len(name) <= _LONGEST else f"{name[:_LONGEST]!r}..."


def few(names: Collection[object]) -> str:
    """Some names in a row, and how many there are where that is not all."""
    shown = ", ".join(str(name)[:_LONGEST] for name in itertools.islice(names, _MOST)) or "none"
    return shown if len(names) <= _MOST else f"{shown} and {len(names) - _MOST} more"

"""Versions of the ``v1`` dialect, and what each of them brought."""

from __future__ import annotations

import re
from typing import Any

VERSIONS = tuple(f"v1.{minor}" for minor in range(9))
NEWEST = 8
BATCH_CAPACITY, SPECIAL_TOKENS, TOOL_PROTOCOL, FAMILIES, PUBLICATION_MODE, COMPRESSED = 1, 2, 3, 5, 7, 8
_WRITTEN = re.compile(r"\s*v?0*1(?:\.0*(\d{1,4}))?\s*\Z")
_ANY = re.compile(r"\s*v?\d+(?:\.\d+)?\s*\Z")
_ALLOWED = f"Write it in quotes, as one of {VERSIONS[0]} to {VERSIONS[-1]}."


def minor_of(written: Any) -> int | None:
    """The minor version of ``v1``, ``1``, ``v1.3`` or nothing (which is 0); None for anything else."""
    if written is None:
        return 0
    match = _WRITTEN.match(written) if isinstance(written, str) else None
    minor = int(match[1] or 0) if match else None
    return minor if minor is None or minor <= NEWEST else None


def trouble_with(written: Any) -> tuple[str, str] | None:
    """What is wrong with a schema_version, and what to do; None for one that can be read."""
    if minor_of(written) is not None:
        return None
    if not isinstance(written, str):
        return f"schema_version is {written!r}; a number cannot tell 1.1 from 1.10.", _ALLOWED
    if _ANY.match(written):
        return f"schema_version {written.strip()!r} is none that the client reads.", _ALLOWED
    return f"schema_version {written[:40]!r} is no version.", _ALLOWED


def spelled(minor: int) -> str:
    return f"v1.{minor}" if minor else "v1"

"""The dialects a document may be written in: how each becomes the one that the rules are written for, and back.

``pr828`` is the dialect of the rules. ``v1`` is what the published client reads, versions 1.0 to 1.8.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from workbench.errors import unknown
from workbench.metadata.dialects.conversion import Conversion, convert
from workbench.metadata.dialects.v1_read import read_v1
from workbench.metadata.dialects.version import VERSIONS
from workbench.metadata.dialects.writing import to_json, to_yaml
from workbench.metadata.reading import Loaded

DIALECTS = ("pr828", "v1")
AUTO = "auto"
"""Stands for the dialect that a document looks like."""
Reader = Callable[[Loaded], Loaded]


def _as_it_is(loaded: Loaded) -> Loaded:
    return loaded


def _from_v1(loaded: Loaded) -> Loaded:
    """The document as the published client would understand it: what only ``pr828`` can say is not looked at."""
    if not isinstance(loaded.data, dict) or loaded.faults:
        return loaded
    read = read_v1(loaded.data)
    return dataclasses.replace(loaded, data=read.data, faults=(*loaded.faults, *read.faults))


_READERS: dict[str, Reader] = {"pr828": _as_it_is, "v1": _from_v1}


def reader_of(dialect: str) -> Reader:
    """What turns the data of a dialect, or of the one that they look like (``auto``), into those of ``pr828``."""
    if dialect == AUTO:
        return lambda loaded: _READERS[dialect_of(loaded.data)](loaded)
    if dialect not in _READERS:
        raise unknown("dialect", dialect, (AUTO, *_READERS))
    return _READERS[dialect]


def dialect_of(data: Any) -> str:
    """The dialect that data look like: by the ranks of most contracts, then by the keys that only one of the two has.

    Most, since a rank too many or too few is a fault to be named in the dialect of the others.
    """
    from workbench.metadata.dialects.places import contracts, workflow_of

    workflow = workflow_of(data)
    if workflow is None:
        return "pr828"
    ranked = ["rank" in contract for _, contract in contracts(data)]
    if ranked:
        return "pr828" if 2 * sum(ranked) >= len(ranked) else "v1"
    manifest = workflow.get("manifest")
    stated = isinstance(manifest, dict) and "capabilities" in manifest
    return "pr828" if stated or "required_capabilities" in data else "v1"


__all__ = ["AUTO", "DIALECTS", "VERSIONS", "Conversion", "convert", "dialect_of", "reader_of", "to_json", "to_yaml"]

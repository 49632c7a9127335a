"""Random changes of documents: keys dropped, added or doubled, values exchanged, by a seeded generator."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

Place = tuple[Any, Any]  # a mapping or list, and a key or index of it
ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2.5, 3.0, "", " ", "x", "zz.top", [], {}, [1], ["a", "a"], {"kind": "x"}, {"a": 1},
    2**64, -(2**63), float("inf"), "float32", "request_aligned", [[]], [{}], "\u0000", "é",
)  # fmt: skip


def places(data: Any) -> Iterator[Place]:
    waiting = [data]
    while waiting:
        here = waiting.pop()
        keys = list(here) if isinstance(here, dict) else list(range(len(here))) if isinstance(here, list) else []
        for key in keys:
            yield here, key
            if isinstance(here[key], dict | list):
                waiting.append(here[key])


def mutate(data: Any, draw: random.Random) -> Any:
    """One change of a copy of a document."""
    data = copy.deepcopy(data)
    everywhere = list(places(data))
    here, key = draw.choice(everywhere)
    other, other_key = draw.choice(everywhere)
    kind = draw.choice(("drop", "odd", "odd", "word", "swap", "key", "double"))
    if kind == "drop":
        del here[key]
    elif kind == "odd":
        here[key] = copy.deepcopy(draw.choice(ODD))
    elif kind == "word":
        here[key] = copy.deepcopy(other[other_key])
    elif kind == "swap":
        here[key], other[other_key] = copy.deepcopy(other[other_key]), copy.deepcopy(here[key])
    elif kind == "key" and isinstance(here, dict):
        here[str(draw.choice(("extra", other_key, "kind")))] = copy.deepcopy(draw.choice((1, "x", other[other_key])))
    elif isinstance(here, list):
        here.append(copy.deepcopy(here[key]))
    return data

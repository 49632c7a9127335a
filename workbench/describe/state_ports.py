"""Which inputs and outputs of a graph are one state that goes from a run to the next, read from their names.

Exporters agree on little but this: the word ``past`` before a name becomes ``present`` behind it, the layer is the
first number in it, and ``key`` or ``value`` is a word of it. What follows another custom is said with ``state=``.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Literal

Role = Literal["key", "value"]
_SPELLINGS = (
    ("past_key_values", "present"), ("past_key_values", "present_key_values"), ("past_key_values", "present_kv"),
    ("past", "present"), ("cache", "present"), ("state_in", "state_out"), ("_in", "_out"), ("", "next_"),
)  # fmt: skip
_CROSS = re.compile(r"(?:^|[._])(?:cross|encoder|encdec)(?=[._]|$)")
_NUMBER = re.compile(r"(?:^|[._])(\d+)(?=[._]|$)")


@dataclasses.dataclass(frozen=True)
class StatePort:
    """A state as one graph sees it. Without an ``output`` the graph only reads it.

    ``role`` is ``key`` or ``value`` of an attention cache; None for a state of another sort, such as the last columns
    of a convolution. ``layer`` is None where the name holds no number. ``cross`` says that it is of an encoder.
    """

    input: str
    output: str | None
    role: Role | None
    layer: int | None
    cross: bool


def state_ports(
    inputs: Iterable[str], outputs: Iterable[str], named: Mapping[str, str | None] | None = None
) -> tuple[StatePort, ...]:
    """The states of a graph, in the order of its inputs. ``named`` gives pairs whose names say nothing."""
    given, left = dict(named or {}), list(outputs)
    found = []
    for name in inputs:
        output = given[name] if name in given else _output(name, left)
        if name in given or output is not None or _reads_only(name):
            found.append(StatePort(name, output, _role(name), _layer(name), bool(_CROSS.search(name))))
    return tuple(found)


def _output(name: str, outputs: list[str]) -> str | None:
    """The output that is the next of an input."""
    for before, after in _SPELLINGS:
        if before in name:
            wanted = name.replace(before, after, 1) if before else after + name
            if wanted in outputs:
                return wanted
    return None


def _reads_only(name: str) -> bool:
    """A cache of an encoder that the graph is given and does not give back."""
    return bool(_CROSS.search(name)) and _role(name) is not None


def _role(name: str) -> Role | None:
    words = re.split(r"[._]", re.sub(r"past_key_values?|present_key_values?", "past", name))
    roles: tuple[Role, ...] = ("key", "value")
    return next((role for role in roles if role in words), None)


def _layer(name: str) -> int | None:
    number = _NUMBER.search(name)
    return int(number[1]) if number else None


__all__ = ["Role", "StatePort", "state_ports"]

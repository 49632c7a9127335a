"""Patterns of rules, for reading: what a rule looks for as a few lines, and how far a graph agrees with them.

``sum = Add(x, skip)`` is a node that makes the value ``sum``. The last line is the anchor; a walk goes from it upwards.

- ``A | B(x)``: one operator or the other; ``_(x)``: any operator
- ``? y = Add(x, b)``: the node may be absent, and then ``x`` stands where ``y`` is read
- ``x?`` an input that may be absent, ``-`` one that must be, ``_`` one about which nothing is said, ``x!`` a constant
- ``Add{x, b!}``: the inputs in any order; inputs that are not listed are not looked at
- a name that is read twice is the same value both times

The rewrite function stays the truth: it knows dtypes, sizes and kernels, of which a pattern says nothing.
"""

from __future__ import annotations

import dataclasses
import functools
import re

from workbench.errors import WorkbenchError

_LINE = re.compile(
    r"(?P<optional>\?\s*)?(?P<name>\w+)\s*=\s*(?P<ops>[\w.|\s]+?)\s*(?P<inputs>\([^(){}]*\)|\{[^(){}]*\})"
)
_INPUT = re.compile(r"(?P<name>\w+)(?P<mark>[?!]?)|-")


@dataclasses.dataclass(frozen=True)
class Input:
    """One input of a line. ``mark``: ``?`` may be absent, ``!`` constant, ``-`` must be absent, ``_`` anything."""

    name: str
    mark: str = ""

    def __str__(self) -> str:
        return self.mark if self.mark in ("-", "_") else self.name + self.mark


@dataclasses.dataclass(frozen=True)
class Line:
    """One node of a pattern; ``ops`` is empty where any operator will do."""

    name: str
    ops: tuple[str, ...]
    inputs: tuple[Input, ...]
    optional: bool = False
    any_order: bool = False

    @property
    def wanted(self) -> str:
        """The operators in words: ``Add``, ``Erf or Tanh``."""
        return " or ".join(self.ops) or "any node"

    def __str__(self) -> str:
        left, right = "{}" if self.any_order else "()"
        inputs = ", ".join(map(str, self.inputs))
        return f"{'? ' if self.optional else ''}{self.name} = {' | '.join(self.ops) or '_'}{left}{inputs}{right}"


@dataclasses.dataclass(frozen=True)
class Pattern:
    """The lines of a pattern, the anchor last."""

    lines: tuple[Line, ...]

    @property
    def anchor(self) -> Line:
        return self.lines[-1]

    def makes(self, name: str) -> Line | None:
        """The line whose node makes a value; None for what the pattern only reads."""
        return next((line for line in self.lines if line.name == name), None)

    @property
    def depth(self) -> int:
        """How many nodes stand above each other at most."""
        return self._depth(self.anchor)

    def _depth(self, line: Line) -> int:
        above = [made for x in line.inputs if (made := self.makes(x.name)) is not None and made is not line]
        return 1 + max(map(self._depth, above), default=0)

    def __str__(self) -> str:
        return "\n".join(map(str, self.lines))


@functools.lru_cache(maxsize=128)
def parse(text: str) -> Pattern:
    """Read a pattern.

    Raises:
        WorkbenchError: a line that is none, a value that is made twice or by a later line, or no line at all.
    """
    lines: list[Line] = []
    written = [line.strip() for line in text.strip().splitlines() if line.strip()]
    for number, line in enumerate(written, 1):
        made = _line(line, number)
        if made.name in [other.name for other in lines]:
            raise _wrong(line, number, f"{made.name!r} is made by an earlier line already")
        lines.append(made)
    if not lines:
        raise WorkbenchError("A pattern has no line. Write at least the anchor, as in `out = Gelu(x)`.")
    for number, found in enumerate(lines, 1):
        later = {other.name for other in lines[number - 1 :]}
        if wrong := [x.name for x in found.inputs if x.name in later]:
            raise _wrong(str(found), number, f"{wrong[0]!r} is made by this line or a later one; a maker stands first")
    return Pattern(tuple(lines))


def _line(text: str, number: int) -> Line:
    found = _LINE.fullmatch(text)
    if found is None:
        raise _wrong(text, number, "it does not read `value = Operator(inputs)`")
    ops = tuple(op.strip() for op in found["ops"].split("|"))
    if not all(re.fullmatch(r"[\w.]+", op) for op in ops):
        raise _wrong(text, number, "an operator's name is missing beside `|`")
    words = [word.strip() for word in found["inputs"][1:-1].split(",") if found["inputs"][1:-1].strip()]
    inputs = tuple(_input(word, text, number) for word in words)
    optional = found["optional"] is not None
    if optional and not (inputs and inputs[0].name):
        raise _wrong(text, number, "an optional node needs a first input with a name, which is read where it is absent")
    return Line(found["name"], () if ops == ("_",) else ops, inputs, optional, found["inputs"][0] == "{")


def _input(word: str, text: str, number: int) -> Input:
    found = _INPUT.fullmatch(word)
    if found is None:
        raise _wrong(text, number, f"{word!r} is no input; allowed are `x`, `x?`, `x!`, `_` and `-`")
    if word in ("-", "_"):
        return Input("", word)
    return Input(found["name"], found["mark"])


def _wrong(line: str, number: int, why: str) -> WorkbenchError:
    return WorkbenchError(f"Line {number} of a pattern is not understood: {line!r}; {why}. Correct that line.")

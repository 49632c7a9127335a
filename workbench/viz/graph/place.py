"""Order within rows and places across: barycentres, then least squares. Twin: the middle of ``static/layout.js``.

All numbers are whole, so that two languages agree on every pixel.
"""

from __future__ import annotations

import dataclasses

SWEEPS = 4
UNIT = 64
LEAN = 48
"""Removed boxes lean left, added ones right, in units of 1/64 place: branches of one group lie side by side."""

GAP, THIN_GAP = 18, 8
WRAP, MANY = 1_500, 7
"""A row of so many boxes that is wider than this continues below."""


@dataclasses.dataclass
class Item:
    """Something in a row: a box (``id`` >= 0), or a point where a line passes (-1). ``lean``: -1, 0, 1."""

    id: int
    row: int
    width: int
    lean: int = 0
    x: int = 0
    place: int = 0
    line: int = 0  # of a wrapped row
    above: list[Joint] = dataclasses.field(default_factory=list)
    below: list[Joint] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Joint:
    """A neighbour in the next row, and how far to its right this item has to stand for a straight line."""

    item: Item
    shift: int


def order(rows: list[list[Item]]) -> None:
    """Sort the items of each row next to their neighbours: down, up, down, up."""
    for row in rows:
        _number(row)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for row in rows[1:] if down else rows[-2::-1]:
            keys = {id(item): _barycentre(item, item.above if down else item.below) for item in row}
            row.sort(key=lambda item: (keys[id(item)], item.place))
            _number(row)


def _number(row: list[Item]) -> None:
    for i, item in enumerate(row):
        item.place = i


def _barycentre(item: Item, joints: list[Joint]) -> int:
    if not joints:
        return item.place * UNIT
    return UNIT * sum(joint.item.place for joint in joints) // len(joints) + LEAN * item.lean


def place(rows: list[list[Item]]) -> None:
    """Give every item its ``x``, the middle of it: as near to its neighbours as the others in the row allow.

    In the end points follow their lines alone, so that a long line is a straight one.
    """
    lines = [line for row in rows for line in wrap(row)]
    for line in lines:
        _pack(line)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        for line in lines if down else reversed(lines):
            _approach(line, [item.above if down else item.below for item in line])
    for line in reversed(lines):
        _approach(line, [item.below if item.id < 0 else item.above + item.below for item in line])
    for line in lines:
        _approach(line, [item.above if item.id < 0 else item.above + item.below for item in line])


def wrap(row: list[Item]) -> list[list[Item]]:
    """The row in lines of bearable width; a few wide frames stay side by side, so that lines pass beside them."""
    if sum(1 for item in row if item.id >= 0) < MANY:
        return [row]
    lines: list[list[Item]] = [[]]
    width = 0
    for item in row:
        if lines[-1] and width + item.width > WRAP:
            lines.append([])
            width = 0
        item.line = len(lines) - 1
        lines[-1].append(item)
        width += item.width + GAP
    return lines


def _steps(line: list[Item]) -> list[int]:
    """How far right of the first each item stands when they touch."""
    steps = [0] if line else []
    for left, right in zip(line, line[1:]):
        gap = THIN_GAP if left.id < 0 and right.id < 0 else GAP
        steps.append(steps[-1] + (left.width + right.width) // 2 + gap)
    return steps


def _pack(line: list[Item]) -> None:
    steps = _steps(line)
    for item, step in zip(line, steps):
        item.x = step - steps[-1] // 2


def _approach(line: list[Item], joints: list[list[Joint]]) -> None:
    """Least squares with the order kept: neighbours that would overlap move as one block."""
    steps = _steps(line)
    blocks: list[list[int]] = []  # weight, weighted sum, length
    for item, near, step in zip(line, joints, steps):
        weight = 1 + len(near)
        blocks.append([weight, weight * (_wish(item, near) - step), 1])
        while len(blocks) > 1 and blocks[-2][1] // blocks[-2][0] > blocks[-1][1] // blocks[-1][0]:
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last)]
    at = 0
    for weight, total, length in blocks:
        for i in range(at, at + length):
            line[i].x = total // weight + steps[i]
        at += length


def _wish(item: Item, near: list[Joint]) -> int:
    """The middle of the neighbours; a box pulls thrice as strong as a line that passes by."""
    pull = total = 0
    for joint in near:
        strength = 3 if joint.item.id >= 0 else 1
        pull += strength
        total += strength * (joint.item.x + joint.shift)
    return total // pull if pull else item.x

"""The page of branch points is what a run writes, and every line of it can be followed."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.branch_points import POINTS
from tests.make_branch_points import PAGE, Wrong, lines, page
from workbench.rules import RULES

TESTS = Path(__file__).parents[1]


def test_the_page_is_what_a_run_writes() -> None:
    """A difference: read it, then ``python -m tests.make_branch_points``."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_point_is_there_and_says_what_is_not_built() -> None:
    numbered = [point.number for point in POINTS if point.number.isdigit()]
    assert numbered == [str(number) for number in range(1, 29)]
    for point in POINTS:
        assert point.test or point.note.startswith("not built"), point
        assert all((TESTS / name).is_file() for name in point.test.split(", ") if name), point


def test_each_rule_that_is_shown_exists() -> None:
    names = {rule.name for rule in RULES}
    assert {shown.rule for point in POINTS for shown in point.shown} <= names


def test_a_wrong_formula_is_no_page() -> None:
    point = next(point for point in POINTS if point.number == "7")
    wrong = dataclasses.replace(point.shown[0], count=lambda config: 3)
    with pytest.raises(Wrong, match="fuse/pack_qkv on cpu: 2 of 2, L is 3"):
        lines(dataclasses.replace(point, shown=(wrong,)))

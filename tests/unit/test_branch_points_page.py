"""The page of branch points is what a run writes, and every line of it can be followed."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from tests.branch_points import LONG, POINTS
from tests.make_branch_points import PAGE, Wrong, lines, page
from tests.small import generic, numbers
from workbench.rules import RULES

TESTS = Path(__file__).parents[1]


NUMBER = re.compile(r"\d\.\de[+-]\d\d")


def without_numbers(text: str) -> list[str]:
    """Lines without what changes from machine to machine: measured numbers, versions."""
    return [NUMBER.sub("#", line) for line in text.splitlines() if not line.startswith("This run: ")]


def test_the_page_is_what_a_run_writes() -> None:
    """A difference: read it, then ``python -m tests.make_branch_points``."""
    assert without_numbers(PAGE.read_text(encoding="utf-8")) == without_numbers(page())


def test_each_rule_of_the_page_has_a_number_within_its_tolerance() -> None:
    rows = [line.split(" | ") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    fired = [row for row in rows if row[3].startswith("`")]
    assert len(fired) >= len({shown.rule for point in POINTS for shown in point.shown})
    for row in fired:
        found, bound = map(float, NUMBER.findall(row[5]))
        assert 0 <= found <= bound and (bound == 2e-5) == row[5].startswith("float32"), row


def test_every_point_is_there_and_says_what_is_not_built() -> None:
    numbered = [point.number for point in POINTS if point.number.isdigit()]
    assert numbered == [str(number) for number in range(1, 29)]
    for point in POINTS:
        assert point.test or point.note.startswith("not built"), point
        for name in filter(None, point.test.split(", ")):
            file, _, test = name.partition("::")
            text = (TESTS / file).read_text(encoding="utf-8")
            assert f"def {test}(" in text if test else "def test_" in text, name
        texts = [
            (TESTS / name.partition("::")[0]).read_text(encoding="utf-8") for name in point.test.split(", ") if name
        ]
        assert all(any(f'"{shown.rule}"' in text for text in texts) for shown in point.shown), point


def test_each_rule_that_is_shown_exists() -> None:
    names = {rule.name for rule in RULES}
    assert {shown.rule for point in POINTS for shown in point.shown} <= names


def test_both_tables_of_long_rope_are_used() -> None:
    """Else the parity of rows about them would say nothing: with one table for all, other numbers come out."""
    plain, twice = ((*LONG[:1], (LONG[1][0], {**LONG[1][1], "long_factor": [factor] * 16})) for factor in (1.0, 2.0))
    one, two = (numbers(*generic("phi3", more=tuple((w, repr(v)) for w, v in more))) for more in (plain, twice))
    assert [float(np.abs(a[0] - b[0]).max()) > 0.01 for a, b in zip(one[:2], two[:2], strict=True)] == [True, False]


def test_a_wrong_formula_is_no_page() -> None:
    point = next(point for point in POINTS if point.number == "7")
    wrong = dataclasses.replace(point.shown[0], count=lambda config: 3)
    with pytest.raises(Wrong, match="fuse/pack_qkv on cpu: 2 of 2, L is 3"):
        lines(dataclasses.replace(point, shown=(wrong,)))

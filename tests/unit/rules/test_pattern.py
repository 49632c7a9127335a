"""Patterns: read, written back, and refused with the line that is wrong."""

from __future__ import annotations

import dataclasses
import re

import pytest

from workbench.errors import WorkbenchError
from workbench.rules import RULES, Rule
from workbench.rules.pattern import Input, parse

TEXT = """
? y = Transpose(w!)
product = MatMul(x, y)
sum = Add{product, b!}
out = Erf | com.microsoft.Gelu(sum, -, _, more?)
"""


def test_a_pattern_is_read() -> None:
    found = parse(TEXT)
    turned, product, total, out = found.lines
    assert (turned.optional, turned.ops, turned.inputs) == (True, ("Transpose",), (Input("w", "!"),))
    assert (total.any_order, product.any_order) == (True, False)
    assert out.ops == ("Erf", "com.microsoft.Gelu")
    assert [str(x) for x in out.inputs] == ["sum", "-", "_", "more?"]
    assert out is found.anchor
    assert found.makes("y") is turned and found.makes("x") is None
    assert found.depth == 4


def test_any_operator() -> None:
    (line,) = parse("out = _(x)").lines
    assert (line.ops, line.wanted) == ((), "any node")


def test_a_pattern_is_written_as_it_was_read() -> None:
    assert str(parse(TEXT)) == TEXT.strip()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "A pattern has no line. Write at least the anchor, as in `out = Gelu(x)`."),
        ("out Gelu(x)", "Line 1 of a pattern is not understood: 'out Gelu(x)'; it does not read `value ="),
        ("out = Gelu(x", "it does not read"),
        ("out = Gelu | (x)", "an operator's name is missing beside `|`"),
        ("out = Gelu(x y)", "'x y' is no input; allowed are `x`, `x?`, `x!`, `_` and `-`"),
        ("a = Add(x, y)\na = Gelu(a)", "Line 2 of a pattern is not understood: 'a = Gelu(a)'; 'a' is made by an"),
        ("b = Gelu(a)\na = Add(x, y)", "'a' is made by this line or a later one; a maker stands first"),
        ("? a = Gelu(_)\nb = Add(a, x)", "an optional node needs a first input with a name"),
    ],
)  # fmt: skip
def test_what_is_no_pattern_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(WorkbenchError, match=re.escape(sentence)):
        parse(text)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_has_a_pattern_for_its_anchors(rule: Rule) -> None:
    """The anchor of a pattern is what the rule looks at, and the module shows the graph before and after."""
    import importlib

    anchors = {str(use) for use in rule.anchors}
    assert set(parse(rule.pattern).anchor.ops) <= anchors
    page = importlib.import_module(rule.rewrite.__module__).__doc__ or ""
    assert "\nBefore::\n\n    " in page and "\nAfter::\n\n    " in page


def test_a_rule_needs_no_pattern() -> None:
    assert dataclasses.replace(RULES[0], pattern="").pattern == ""

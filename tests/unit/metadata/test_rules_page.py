"""The page of rules repeats the rules."""

from __future__ import annotations

from tests.make_metadata_rules import MAY_BE_ABSENT, PAGE, page
from workbench.metadata import RULES
from workbench.metadata.registry import GROUPS


def test_the_page_holds_the_table_of_rules() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "run python -m tests.make_metadata_rules"


def test_every_number_has_a_rule() -> None:
    last = max(last for _, _, last in GROUPS.values())
    assert set(RULES) | MAY_BE_ABSENT == set(range(1, last + 1))

"""The catalogue page shows the golden documents as they are, and has a place for every one of them."""

from __future__ import annotations

from tests.make_metadata_goldens import KINDS
from tests.make_workflow_catalogue import PAGE, page, short


def test_the_page_is_up_to_date() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(text), "python -m tests.make_workflow_catalogue renews it"


def test_every_kind_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [name for name in KINDS if f"<!-- golden: {name} -->" not in text] == []


def test_the_short_form_keeps_the_first_layer() -> None:
    made = short("encoder-decoder")
    assert sorted(made["state_groups"]["cross_attention"]["ports"]["decoder"]) == ["cross.0.key", "cross.0.value"]
    assert "present.1" not in str(made) and "past_key_values.1" not in str(made)
    assert sorted(short("hybrid")["state_groups"]["full_attention"]["ports"]["decoder"]) == [
        "cache.2.key", "cache.2.value",
    ]  # fmt: skip

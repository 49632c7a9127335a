"""Values of a document in words: what is written is YAML for the same value, and no Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.unit.metadata.fixtures import Fixture, base, of_kind
from tests.unit.metadata.layers import decoder
from workbench.metadata import diff, load
from workbench.metadata.plain import plain, whole

WORDS = {
    "as it is": ("n.k0", "n.k0"), "signs of a list": ("a, b: c", "a, b: c"), "a number as text": ("5", '"5"'),
    "a truth value as text": ("true", '"true"'), "hexadecimal": ("0x10", '"0x10"'), "no letter": ("", '""'),
    "a number of YAML as text": (".inf", '".inf"'), "no number": ([float("nan"), -float("inf")], "[.nan, -.inf]"),
    "two lines": ("a\nb", '"a\\nb"'), "a bracket first": ("[x", '"[x"'), "true": (True, "true"),
    "nothing": (None, "null"),
    "number": (1.5, "1.5"), "list": (["batch", 2, "a, b"], '[batch, 2, "a, b"]'),
    "what is not set": ({"cell": "k4", "initial": None, "of": {}, "on": []}, "{cell: k4}"),
    "nested": ({"a": {"b": [1, "2", None]}}, '{a: {b: [1, "2", null]}}'), "huge": (1 << 5000, "a number of 5001 bits"),
}  # fmt: skip


@pytest.mark.parametrize("name", WORDS)
def test_as_people_write_it(name: str) -> None:
    value, text = WORDS[name]
    assert plain(value) == text


def parts(value: Any) -> Iterator[Any]:
    yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from parts(item)


def what_is_set(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: what_is_set(item) for key, item in value.items() if item is not None and item != {} and item != []}
    if isinstance(value, float) and "." not in str(value):
        return str(value)  # 1e-07 is a number in YAML 1.2 and in JSON, and none in what reads it here
    return [what_is_set(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("fixture", of_kind("valid")[::3])
def test_it_reads_as_the_same_value(fixture: Fixture) -> None:
    for value in parts(load(fixture.path).data):
        assert yaml.safe_load(plain([value], 1_000_000)) == what_is_set([value])


def test_long_values_are_cut() -> None:
    shown = plain(["a" * 10] * 1_000_000, 40)
    assert shown == "[aaaaaaaaaa, aaaaaaaaaa, aaaaaaaaaa, aaa…"
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    assert plain(deep, 10_000).count("[") == 21 and len(whole({f"k{i}": "x" * 900 for i in range(900)})) < 20_000


def test_a_whole_value_has_a_line_for_each_entry() -> None:
    cell = decoder(1)["pipeline"]["workflow"]["state"]["k0"]
    assert whole(cell).splitlines()[0].startswith("contract: {dtype: float32, rank: 4, shape: [batch, 2, past, 16]")
    assert whole([{"a": 1}, {"b": None}]) == "- {a: 1}\n- {}" and whole(["a", 1]) == "[a, 1]" and whole("x") == "x"
    assert whole({f"k{i}": i for i in range(100)}).splitlines()[-1] == "… (60 more)"


# --- in differences -----------------------------------------------------------------------------------------------
def test_a_difference_shows_no_python() -> None:
    found = diff(decoder(4), decoder(5))
    cells = [str(row[side]) for row in found.rows() for side in ("before", "after")]
    for text in (*cells, found.to_text(), found._repr_html_(), *map(str, found.changes)):
        assert [word for word in ("None", "False", "{'", "'}", "{&#x27;") if word in text] == []
    assert "{cell: k4, next: n.k4}" in found.to_text()
    other = base("dec")
    other["pipeline"]["workflow"]["state"]["k0"]["contract"]["optional"] = True
    assert [str(change).rsplit(": ", 1)[1] for change in diff(base("dec"), other).changes] == ["false -> true"]


def test_what_is_cut_is_whole_in_the_title() -> None:
    html = diff(decoder(4), decoder(5))._repr_html_()
    assert html.count("…</td>") == html.count("<td title=") == 2
    assert "service_group: kv'>{contract: {dtype: float32" in html

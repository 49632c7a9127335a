"""Identity, capabilities, cache facts and the decoder's ABI of every fixture are those of the reference."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.unit.metadata.fixtures import Fixture, base, fixtures, needs_shared, of_kind
from workbench.metadata import cache_dependencies, decoder_io, derived_capabilities, load, semantic_identity


@pytest.mark.parametrize("fixture", of_kind("valid"))
def test_the_identity_is_the_references(fixture: Fixture) -> None:
    assert semantic_identity(fixture.path) == fixture.golden["identity"]


@pytest.mark.parametrize("fixture", of_kind("valid"))
def test_the_capabilities_are_the_references(fixture: Fixture) -> None:
    found = derived_capabilities(fixture.path)
    assert list(found.words) == sorted(fixture.golden["derived_capabilities"])
    assert found.unlisted == ()


@pytest.mark.parametrize("fixture", of_kind("valid"))
def test_the_cache_facts_are_the_references(fixture: Fixture) -> None:
    found = cache_dependencies(fixture.path)
    assert list(found.facts) == fixture.golden["cache_dependencies"]
    assert all(entry.why and entry.because for entry in found.entries)


@pytest.mark.parametrize("fixture", of_kind("valid"))
def test_the_decoder_is_the_references(fixture: Fixture) -> None:
    found = decoder_io(fixture.path)
    assert (found and found.to_dict()) == fixture.golden["decoder_io"]


@needs_shared
def test_there_are_decoders_among_them() -> None:
    golden = [f.golden["decoder_io"] for f in fixtures() if f.kind == "valid"]
    assert len([one for one in golden if one]) >= 20 and any(one and one.get("static_cache") for one in golden)


# --- what identity is a matter of -----------------------------------------------------------------------
def _shuffled(data: Any, draw: random.Random) -> Any:
    if isinstance(data, dict):
        keys = list(data)
        draw.shuffle(keys)
        return {key: _shuffled(data[key], draw) for key in keys}
    return [_shuffled(item, draw) for item in data] if isinstance(data, list) else data


@pytest.mark.parametrize("fixture", of_kind("valid"))
def test_order_of_keys_and_syntax_do_not_count(fixture: Fixture) -> None:
    data = _shuffled(load(fixture.path).data, random.Random(7))
    assert semantic_identity(json.dumps(data).encode()) == fixture.golden["identity"]


SAME = [
    ({"a": None}, {}), ({"a": []}, {}), ({"a": [{}, None]}, {}), ({"a": {"b": {"c": None}}}, {}),
    ({"a": 1.0}, {"a": 1}), ({"a": -0.0}, {"a": 0}), ({"a": 1e3}, {"a": 1000}),
    ({"profiles": {"p": {"requirement": "ignorable"}}}, {}), ({"a": [1, None]}, {"a": [1]}),
]  # fmt: skip
OTHER = [
    ({"a": ""}, {}), ({"a": False}, {}), ({"a": 0}, {}), ({"a": 1}, {"a": True}), ({"a": "1"}, {"a": 1}),
    ({"a": [1, 2]}, {"a": [2, 1]}), ({"b": {"profiles": {"p": {"requirement": "ignorable"}}}}, {}),
    ({"profiles": {"p": {"requirement": "required"}}}, {}), ({"a": 1e18}, {"a": 1e18 + 256}),
    ({"a": 0.1}, {"a": 0.10000000000000002}),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), SAME)
def test_what_says_nothing_does_not_count(a: Any, b: Any) -> None:
    assert semantic_identity(a) == semantic_identity(b)


@pytest.mark.parametrize(("a", "b"), OTHER)
def test_what_says_something_does(a: Any, b: Any) -> None:
    assert semantic_identity(a) != semantic_identity(b)


def test_every_written_word_counts() -> None:
    data = base("dec")
    before = semantic_identity(data)
    data["pipeline"]["workflow"]["inputs"]["prompt"]["required"] = True  # the default, written out
    assert semantic_identity(data) != before

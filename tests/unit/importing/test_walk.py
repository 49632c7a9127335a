"""The walk: every key of the client has a fate, and no leaf of a config is passed over."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.export.keys import KEYS
from workbench.importing.keys import DROPPED, IMPORTED, OBJECTS, REFUSED
from workbench.importing.walk import walk
from workbench.metadata.diagnostic import show_path

ALL = sorted(f"{path}.{key}" if path else key for path, keys in KEYS.items() for key in keys)


def at(path: str, value: Any) -> dict[str, Any]:
    for key in reversed(path.split(".")):
        value = {key: value}
    return value


@pytest.mark.parametrize("path", ALL)
def test_every_key_of_the_client_has_one_fate(path: str) -> None:
    fates = [path in IMPORTED, path in DROPPED, path in REFUSED, path in OBJECTS]
    assert sum(fates) == 1, fates
    assert not walk(at(path, {} if path in OBJECTS else None)).entries


def test_no_table_names_what_lies_below_a_dropped_or_refused_part() -> None:
    for path in (*IMPORTED, *DROPPED, *REFUSED):
        above = path.split(".")[:-1]
        assert not any(".".join(above[:n]) in {**DROPPED, **REFUSED, **IMPORTED} for n in range(1, len(above) + 1))


@pytest.mark.parametrize(
    ("path", "value", "plain"),
    [
        ("model.eos_token_id", 2, [2]),
        ("model.eos_token_id", [2, 7, 2], [2, 7]),
        ("model.eos_token_id", [], []),
        ("model.bos_token_id", 1.0, 1),
        ("search.top_k", 50.0, 50),
        ("search.temperature", 1, 1.0),
        ("search.do_sample", False, False),
        ("model.decoder.sliding_window.layers", [], []),
        ("model.decoder.inputs.past_key_names", "past.%d.k", "past.%d.k"),
    ],
)
def test_values_in_their_kind(path: str, value: Any, plain: Any) -> None:
    found = walk(at(path, value))
    assert found.values == {path: plain} and type(found.values[path]) is type(plain)
    assert (found.losses, found.refused, found.wrong) == ((), (), ())


@pytest.mark.parametrize(
    ("path", "value", "allowed"),
    [
        ("model.vocab_size", "96", "a whole number"),
        ("model.vocab_size", True, "a whole number"),
        ("model.vocab_size", 2**31, "a whole number"),
        ("model.vocab_size", 1e400, "a whole number"),
        ("model.eos_token_id", [2, -1], "or a list of them"),
        ("model.eos_token_id", {"id": 2}, "or a list of them"),
        ("model.bos_token_id", [1], "a whole number"),
        ("model.type", "", "text"),
        ("model.decoder.filename", "a\0.onnx", "text"),
        ("model.decoder.inputs.past_key_names", "past.key", "one %d"),
        ("model.decoder.inputs.past_key_names", "%d.%s", "one %d"),
        ("search.temperature", 10**400, "a finite number"),
        ("search.do_sample", 0, "true or false"),
        ("model.decoder", [], "named values"),
        ("search", "none", "named values"),
    ],
)
def test_values_of_another_kind(path: str, value: Any, allowed: str) -> None:
    found = walk(at(path, value))
    ((where, sentence),) = found.wrong
    assert where == path and sentence.startswith(f"{path} is ") and allowed in sentence and len(sentence) < 200
    assert not found.values


def test_leaves_below_dropped_keys_are_listed_one_by_one() -> None:
    options = {"log_id": "x", "provider_options": [{"cuda": {"enable_cuda_graph": "0"}}, {}], "nothing": None}
    found = walk(at("model.decoder.session_options", options))
    assert [(loss.path.removeprefix("model.decoder.session_options."), loss.value) for loss in found.losses] == [
        ("log_id", "x"), ("provider_options[0].cuda.enable_cuda_graph", "0"),
    ]  # fmt: skip
    assert all(loss.fate == "dropped" and "sessions" in loss.note for loss in found.losses)


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"foo": None}, "foo"),
        ({"foo": {}}, "foo"),
        ({"model": {"decoder": {"inputs": {"input_idz": "x"}}}}, "model.decoder.inputs.input_idz"),
        ({"model.decoder": {"filename": "x"}}, "['model.decoder'].filename"),
        ({"search": {"top_k ": 1}}, "search['top_k ']"),
        ({"": 1}, "['']"),
        ({"\u202emodel": 1}, "['\\u202emodel']"),
    ],
)
def test_unknown_keys_count_whatever_stands_behind_them(config: Any, path: str) -> None:
    (loss,) = walk(config).losses
    assert (loss.path, loss.fate) == (path, "unknown")


def test_parts_of_other_models_are_refused_and_empty_ones_are_not() -> None:
    found = walk({"model": {"vision": {"filename": "v.onnx"}, "speech": {}, "encoder": None}})
    assert found.refused == (("model.vision", "inputs other than text"),) and not found.entries


_JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.tuples(st.sampled_from([*ALL, "model.decoder.new", "other.a"]), _JSON), max_size=6))
def test_no_leaf_is_passed_over(pairs: list[tuple[str, Any]]) -> None:
    config: dict[str, Any] = {}
    for path, value in pairs:
        *above, last = path.split(".")
        here = config
        for key in above:
            here = here.setdefault(key, {}) if isinstance(here, dict) else {}
        if isinstance(here, dict):
            here[last] = value
    found = walk(config)
    told = {entry.path for entry in found.entries} | {path for path, _ in (*found.refused, *found.wrong)}
    for leaf in _leaves((), config):
        assert any(show_path(leaf[:n]) in told for n in range(len(leaf) + 1)), leaf


def _leaves(path: tuple[str | int, ...], value: Any) -> Any:
    if isinstance(value, dict | list):
        for key, below in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves((*path, key), below)
    elif value is not None:
        yield path

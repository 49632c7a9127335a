"""Texts that are no data, or too much of them: a diagnostic each, in bounded time and memory, no exception."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.metadata.fixtures import base
from workbench.errors import ArgumentError, UnknownNameError
from workbench.metadata import load, validate
from workbench.metadata.reading import from_json, from_yaml, scalars
from workbench.metadata.reading.limits import MAX_BYTES, MAX_NAME, MOST_PLACES

NESTED = 1000


def _bomb(width: int = 10, depth: int = 12) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, depth)]
    return "\n".join(lines)


def _ladder(steps: int = 1000) -> str:
    """Every list holds the one before: flat as a text, deep as data."""
    return "\n".join(["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, steps)])


ONE_KEY = "schema_version: v1\n"
TEXTS: dict[str, tuple[str | bytes, str]] = {
    "broken YAML": ("a: [b", "no YAML"),
    "a tab for a space": ("a:\n\tb: 1", "no YAML"),
    "a control character": ("a: \x01", "no YAML"),
    "a surrogate": ("a: \ud800", "no YAML"),
    "no document": ("", "holds no document"),
    "a comment alone": ("# nothing\n", "holds no document"),
    "null": ("null", "empty"),
    "two documents": (ONE_KEY + "---\n" + ONE_KEY, "more than one document"),
    "a key twice": (ONE_KEY + ONE_KEY, "twice"),
    "a free name twice": ("profiles: {a: {kind: x, version: y}, a: {kind: x, version: y}}", "twice"),
    "a key twice in JSON": ('{"model": {"vocab_size": 1, "vocab_size": 1}}', "twice"),
    "an alias of a number as a key": ("a: &a 1\n*a : x", "must be text"),
    "a list as a key": ("? [a]\n: x", "must be text"),
    "no UTF-8": (b"schema_version: \xff\xfe", "no UTF-8"),
    "UTF-16": ("schema_version: v1".encode("utf-16"), "no UTF-8"),
    "an alias bomb": (_bomb(), "more than 300,000"),
    "a ladder of aliases": (_ladder(), "deep inside"),
    "a list inside itself": ("a: &a [*a]", "never end"),
    "a mapping inside itself": ("a: &a {b: *a}", "never end"),
    "an alias without an anchor": ("a: *nope", "no anchor"),
    "lists in lists": ("[" * NESTED + "]" * NESTED, "deep inside"),
    "mappings in mappings": ("{a: " * NESTED + "1" + "}" * NESTED, "deep inside"),
    "a hundred thousand lists": ("[" * 100_000, "no YAML"),
    "blocks in blocks": ("\n".join(" " * n + "a:" for n in range(NESTED)), "deep inside"),
    "an object of Python": ("a: !!python/object:os.system {}", "is not known"),
    "a call of Python": ("a: !!python/name:os.system x", "does not go with"),
    "a tag that does not fit": ("a: !!int x", "does not go with"),
    "a text that is too long": ("# " + "x" * MAX_BYTES, "bytes"),
    "a long text behind aliases": (f"a: &a {'x' * 10**6}\nb: [{', '.join(['*a'] * 9)}]", "characters, those behind"),
    "a list of long texts behind aliases": (f"a: &a [{'x' * 10**6}]\nb: [{', '.join(['*a'] * 9)}]", "characters"),
    "a long key": (f"? {'x' * (MAX_NAME + 1)}\n: 1", "1,001 characters; at most 1,000"),
    "an alias as a long key": (f"a: &a {'x' * (MAX_NAME + 1)}\n*a : 1", "1,001 characters"),
    "a key that another mapping is merged by": ("a: &a {b: 1}\n<<: *a", "Merge keys are not read"),
    "an alias with a long name": (f"a: *{'b' * 10**5}", "*bbb"),
    "half a character in a text": ('{"a": "\ud800"}', "surrogates not allowed"),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_is_no_data_gets_a_diagnostic(name: str) -> None:
    text, says = TEXTS[name]
    found = validate(text)
    assert found.errors and says in str(found), found
    assert {d.stage for d in found} == {"parse"}


def _json_file(folder: Path, text: str) -> Path:
    path = folder / "inference_metadata.json"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "no JSON"),
        ("a: 1", "no JSON"),
        ('{"a": NaN}', "no number of JSON"),
        ('{"a": 1' + "0" * 5000 + "}", "no JSON"),
        ('{"model": {}, "model": {}}', "twice"),
        ("[" * NESTED + "]" * NESTED, "deep inside"),
        ('{"a": [' + "1," * 300_001 + "1]}", "more than 300,000"),
        ("", "no JSON"),
        ('{"model": {"vocab_size": ' + "9" * 401 + "}}", "more than 400 digits"),
        ('{"' + "x" * (MAX_NAME + 1) + '": 1}', "1,001 characters"),
        ('{"schema_version": "\\ud800"}', "half of a character"),
        ('{"\\udc00": 1}', "half of a character"),
        ('{"a": "' + "x" * 1000, "no JSON"),
    ],
)  # fmt: skip
def test_json_that_is_none_gets_a_diagnostic(tmp_path: Path, text: str, says: str) -> None:
    found = validate(_json_file(tmp_path, text))
    assert found.codes == ("A1",) and says in found[0].message, found


def test_what_just_fits_is_read(tmp_path: Path) -> None:
    text = json.dumps({"model": {"x" * MAX_NAME: "\\ud83d\\ude00", "n": 10**399}}).replace("\\\\", "\\")
    for source in (text, _json_file(tmp_path, text), load(text).data):
        assert validate(source).codes == ("B13",), validate(source)


@pytest.mark.parametrize("text", ['"' + '\\"' * 1000, '"' + "\\\n" * 1000, '"' + "x" * 1000 + "\\", '"a\\\\"'])
def test_a_text_of_json_is_one_token_even_without_an_end(text: str) -> None:
    assert [token.group() for token in from_json._TOKEN.finditer(text)] == [text]


@pytest.mark.parametrize("inside", ["x", "\\n"])
def test_a_long_text_of_json_takes_little_memory(tmp_path: Path, inside: str) -> None:
    path = _json_file(tmp_path, json.dumps({"schema_version": ""})[:-2] + inside * 10**6 + '"}')
    tracemalloc.start()
    assert validate(path).codes == ("B13",)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 12 * 10**6


def test_very_many_keys_twice_get_no_path_each(tmp_path: Path) -> None:
    many = MOST_PLACES + 10
    text = '{"model": {"a": {' + ", ".join(['"k": 1'] * many) + "}}}"
    for source in (text, _json_file(tmp_path, text)):
        faults = load(source).faults
        assert len(faults) == many - 1 and faults[0].path == ("model", "a", "k") and len(faults[-1].path) == 1
        assert "places in all" in validate(source)[MOST_PLACES].message


def test_a_file_of_50_megabytes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "big.yaml"
    with path.open("wb") as file:
        file.truncate(50 * 10**6)
    tracemalloc.start()
    found = validate(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.codes == ("A1",) and "50,000,000 bytes" in found[0].message
    assert most < 5 * 10**6


@pytest.mark.parametrize("pure", [False, True], ids=["C parser", "Python parser"])
def test_a_bomb_takes_little_memory(pure: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if pure:
        monkeypatch.setattr(from_yaml, "PARSER", from_yaml.yaml.SafeLoader)
    tracemalloc.start()
    assert validate(_bomb(10, 40)).codes == ("A1",)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 20 * 10**6


def test_both_parsers_read_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: &x {b: [1, 1.5, 'q']}\nc: *x\nd: >\n  t\n"
    fast = load(text)
    monkeypatch.setattr(from_yaml, "PARSER", from_yaml.yaml.SafeLoader)
    assert load(text).data == fast.data == {"a": {"b": [1, 1.5, "q"]}, "c": {"b": [1, 1.5, "q"]}, "d": "t\n"}


# --- data of Python -------------------------------------------------------------------------------------
def _itself() -> Any:
    data: dict[str, Any] = {"model": {}}
    data["model"]["self"] = data
    return data


def _doubled() -> Any:
    data: Any = ["x"]
    for _ in range(40):
        data = [data, data]
    return {"a": data}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (_itself, "deep inside"),
        (_doubled, "more than 300,000"),
        (lambda: {"model": {1: 2}}, "must be text"),
        (lambda: {"model": {"x": object()}}, "type object"),
        (lambda: {"schema_version": b"v1"}, "type bytes"),
        (lambda: {"model": {"vocab_size": 10**5000}}, "more than 400 digits"),
        (lambda: {"model": {"vocab_size": -(10**5000)}}, "more than 400 digits"),
        (lambda: {10**5000: 1}, "must be text"),
        (lambda: {"x" * (MAX_NAME + 1): 1}, "1,001 characters"),
        (lambda: {"model": {"x": ["y" * 10**6] * 9}}, "characters, those behind"),
        (lambda: {"schema_version": "\ud800"}, "half of a character"),
        (lambda: {"model": {"é\udc00": 1}}, "half of a character"),
    ],
)  # fmt: skip
def test_data_that_are_no_document_get_a_diagnostic(make: Callable[[], Any], says: str) -> None:
    found = validate(make())
    assert found.errors and says in str(found), found


@pytest.mark.parametrize("text", ["x", "3", "[]", "- a", "true"])
def test_a_document_is_a_mapping(text: str) -> None:
    assert validate(text).codes == ("A7",)


def test_a_path_of_nothing_is_read_as_a_text_and_said_to_be_none() -> None:
    (found,) = validate("packages/smollm2")
    assert found.hint == "If that is a path: there is no such file or folder."


# --- sources --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("source", [None, 3, ["a"], object()])
def test_a_source_of_another_type_is_an_argument_error(source: Any) -> None:
    with pytest.raises(ArgumentError, match="source must be a path"):
        validate(source)


def test_other_arguments_are_checked() -> None:
    with pytest.raises(ArgumentError, match="package_root"):
        validate({}, package_root=3)
    with pytest.raises(ArgumentError, match="advertised"):
        validate({}, advertised="kv_cache")
    with pytest.raises(UnknownNameError, match="pr828"):
        validate({}, dialect="pr82")


@pytest.mark.parametrize("name", ["inference_metadata.yaml", "inference_metadata.yml", "inference_metadata.json"])
def test_a_folder_means_the_document_in_it(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(json.dumps(base("dec")), encoding="utf-8")
    assert not validate(tmp_path) and not validate(str(tmp_path)) and not validate(str(tmp_path / name))


def test_yaml_comes_before_json_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "inference_metadata.json").write_text("{", encoding="utf-8")
    (tmp_path / "inference_metadata.yml").write_text(json.dumps(base("dec")), encoding="utf-8")
    assert not validate(tmp_path)


@pytest.mark.parametrize("name", ["absent.yaml", "", "folder"])
def test_a_path_without_a_document_gets_a_diagnostic(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    assert validate(tmp_path / name).codes == ("A1",)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    assert "no regular file" in str(validate(tmp_path / "pipe.yaml"))


def test_a_file_without_a_known_ending_is_yaml_or_json(tmp_path: Path) -> None:
    for text in (json.dumps(base("dec")), json.dumps(base("dec"), indent="\t")):
        (tmp_path / "document").write_text(text, encoding="utf-8")
        assert not validate(tmp_path / "document")


# --- positions ------------------------------------------------------------------------------------------
POSITIONS = [
    ("model:\n  vocab_size: x\n", 2),
    ("# first\n\nmodel: {vocab_size: 1,\n  max_sequence_length: -1}\n", 4),
    ("profiles:\n  a: &a\n    kind: x\n  b: *a\n", 4),
    ("required_capabilities:\n- a\n-\n  3\n", 4),
    ('{"model": {\n"a": [1,\n2],\n"vocab_size": "x"}}', 4),
]


@pytest.mark.parametrize(("text", "line"), POSITIONS)
def test_a_diagnostic_has_its_line(text: str, line: int) -> None:
    assert line in {d.line for d in validate(text)}


def test_json_has_lines_too(tmp_path: Path) -> None:
    data = base("dec") | {"scheduler": {}}
    path = _json_file(tmp_path, json.dumps(data, indent=1))
    (found,) = validate(path)
    assert path.read_text(encoding="utf-8").splitlines()[(found.line or 0) - 1].strip() == '"scheduler": {}'


def test_a_key_twice_has_the_line_of_the_second(tmp_path: Path) -> None:
    text = '{"profiles": {\n"a": [{"k": 1,\n "k": 2}],\n "a": 1}}'
    for source in (text, _json_file(tmp_path, text)):
        assert [(d.where, d.line) for d in validate(source) if d.rule == 1] == [
            ("profiles.a[0].k", 3), ("profiles.a", 4),
        ]  # fmt: skip


def test_an_absent_key_has_the_line_of_its_mapping() -> None:
    (found,) = [d for d in validate("profiles:\n  a:\n    kind: x\n") if d.rule == 4]
    assert (found.line, found.where) == (2, "profiles.a.version")


def test_a_mapping_has_no_lines() -> None:
    assert [d.line for d in validate({"scheduler": {}})] == [None]


# --- scalars --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", "yes"), ("on", "on"), ("True", True), ("~", None), ("", None), ("12", 12), ("-3", -3), ("+4", 4),
        ("0x1F", 31), ("-0x10", -16), ("0o17", 15), ("0b101", 5), ("007", "007"), ("1_000", "1_000"), ("1e3", 1000.0),
        ("1.5", 1.5), (".5", 0.5), ("1.", 1.0), ("-1.0e-07", -1e-7), ("1e", "1e"), ("0x", "0x"), (".", "."), ("-", "-"),
        ("12:30:45", "12:30:45"), ("2001-01-01", "2001-01-01"), ("=", "="), ("<<", "<<"), (".inf", float("inf")),
        ("1" * 500, "1" * 500),
    ],
)  # fmt: skip
def test_an_unquoted_word_means(text: str, value: object) -> None:
    found = scalars.resolve(text)
    assert found == value and type(found) is type(value)

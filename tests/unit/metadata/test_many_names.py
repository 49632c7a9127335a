"""Long names and many of them: messages stay short, and the walk grows with the document alone."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.unit.metadata.edits import Fault
from tests.unit.metadata.fixtures import base
from tests.unit.metadata.test_faults import ROWS
from workbench.metadata import RULES, load, validate
from workbench.metadata.context import Context
from workbench.metadata.diagnostic import show_path
from workbench.metadata.reading.limits import MAX_NAME
from workbench.metadata.scope import walk
from workbench.metadata.scope.names import Names
from workbench.metadata.wording import brief, cut, few, q

LONG = "x" * (MAX_NAME - 2)
MANY = "y" * 100_000
WORDS = frozenset(
    "pipeline workflow inputs outputs components state effects steps serving state_service groups manifest ports roles "
    "contract cases default carried adapters artifacts profiles package generation preprocessing speculative".split()
)
"""Keys of the format that say where a name is free; with another name there would be no document."""


def test_a_name_is_shortened() -> None:
    assert q("a") == "'a'" and q(MANY) == f"'{'y' * 80}'..." and q(3) == "3"
    assert cut("a.b") == "a.b" and cut(MANY) == f"{'y' * 80}..." and cut("a\x1b[2J\n") == "a\\x1b[2J\\n"
    assert few([]) == "none" and few(["a", "b"]) == "a, b" and few([MANY, 3]) == f"{'y' * 80}..., 3"
    assert few([str(n) for n in range(100)]) == "0, 1, 2, 3, 4, 5, 6, 7 and 92 more"


@pytest.mark.parametrize(
    "value", [None, True, -3, 1.5, "it's", b"x", [], {}, [1, [2, {}]], {"a": [1, "b"], 2: None}, (1, 2)]
)
def test_a_value_is_shown_as_python_does(value: Any) -> None:
    assert brief(value) == repr(value)


def test_only_the_begin_of_a_large_value_is_looked_at() -> None:
    class Counted(dict[str, Any]):
        looked = 0

        def __getitem__(self, key: str) -> Any:
            Counted.looked += 1
            return MANY

    class Silent:
        def __repr__(self) -> str:
            raise RuntimeError

    assert brief(Counted.fromkeys(map(str, range(1000)))) == f"{{'0': '{'y' * 53}..." and Counted.looked <= 2
    assert brief([MANY] * 1000) == f"['{'y' * 58}..." and brief(Silent()) == "a Silent"
    assert brief(10**5000) == "a number of 16610 bits" and len(brief(10**300)) == 63


def test_a_long_name_is_short_in_a_path() -> None:
    assert show_path(("a", MANY, 3, "b")) == f"a['{'y' * 80}'...][3].b"


def _longer(data: Any, names: dict[str, str]) -> Any:
    """The document with other names, wherever they stand."""
    if isinstance(data, dict):
        return {names.get(key, key): _longer(item, names) for key, item in data.items()}
    if isinstance(data, list):
        return [_longer(item, names) for item in data]
    return names.get(data, data) if isinstance(data, str) else data


@pytest.mark.parametrize("fault", ROWS)
def test_no_rule_repeats_a_long_name(fault: Fault) -> None:
    found = validate(fault.broken(), **fault.options)
    said = {name for d in found for name in re.findall(r"[\w./-]+", f"{d.message} {d.hint} {d.where}")}
    words = {word for rule in RULES.values() for word in re.findall(r"[\w./-]+", rule.sentence)}
    longer = _longer(fault.broken(), {name: f"{name}{LONG}"[:MAX_NAME] for name in said - words - WORDS})
    for d in validate(longer, **fault.options):
        assert LONG[:100] not in d.message + d.hint + d.where, d


def test_messages_stay_short_whatever_the_names() -> None:
    document = base("dec")
    step = document["pipeline"]["workflow"]["steps"][0]["steps"][0]
    step["inputs"] |= {f"{LONG}{n}": LONG for n in range(20)}
    found = validate(document)
    assert found.codes == ("N198", "N199")
    assert all(len(d.message) < 400 and len(d.hint) < 400 for d in found)


def _layers(count: int) -> Any:
    document = base("dec")
    steps = document["pipeline"]["workflow"]["steps"][0]["steps"]
    again = {"kind": "invoke", "component": "policy", "inputs": {"scores": "s.scores"}}
    for n in range(count):
        outputs = {port: f"a{n}.{port}" for port in ("tok", "go", "end", "n")}
        choice = {"kind": "branch", "predicate": "which", "cases": {"one": again | {"outputs": outputs}}}
        steps.append(choice)
    document["pipeline"]["workflow"]["inputs"]["which"] = {
        "contract": {"dtype": "bool", "rank": 0, "shape": []}, "role": {"kind": "opaque"},
        "source": {"kind": "literal"}, "default": True,
    }  # fmt: skip
    return document


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often a name is looked up, defined or forgotten."""
    counts = [0]

    class Counting(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            counts[0] += 1
            return super().get(key, default)

    class Counted(Names):
        def __init__(self) -> None:
            super().__init__()
            self._visible = Counting()

    monkeypatch.setattr(walk, "Names", Counted)
    return counts


def test_the_walk_is_linear_in_steps_and_scopes(counted: list[int]) -> None:
    costs = []
    for count in (10, 20, 40):
        counted[0] = 0
        assert not Context(load(_layers(count))).scope.broken
        costs.append(counted[0])
    assert costs[2] - costs[1] == 2 * (costs[1] - costs[0]) > 0

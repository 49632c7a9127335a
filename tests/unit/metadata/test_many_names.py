"""Long names and many of them: messages stay short, and the walk grows with the document alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.metadata.fixtures import base
from workbench.metadata import load, validate
from workbench.metadata.context import Context
from workbench.metadata.scope import walk
from workbench.metadata.scope.names import Names
from workbench.metadata.wording import few, q

LONG = "x" * 100_000


def test_a_name_is_shortened() -> None:
    assert q("a") == "'a'" and q(LONG) == f"'{'x' * 80}'..."
    assert few([]) == "none" and few(["a", "b"]) == "a, b"
    assert few([str(n) for n in range(100)]) == "0, 1, 2, 3, 4, 5, 6, 7 and 92 more"


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

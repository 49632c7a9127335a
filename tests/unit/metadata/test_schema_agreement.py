"""The parse stage says what the reference's JSON Schema says, but for the exceptions listed here."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from tests.unit.metadata.fixtures import SHARED, Fixture, fixtures, needs_shared
from tests.unit.metadata.mutations import mutate, places
from workbench.metadata import load
from workbench.metadata.context import Context

jsonschema = pytest.importorskip("jsonschema")
pytestmark = needs_shared

UINT64 = 2**64 - 1


def _has(kind: type, test: Callable[[Any], bool]) -> Callable[[Any, Context], bool]:
    return lambda data, context: any(isinstance(m[k], kind) and test(m[k]) for m, k in places(data))


def _is_repeated(items: list[Any]) -> bool:
    words = [item for item in items if isinstance(item, str)]
    return len(set(words)) < len(words)


EXCEPTIONS: dict[str, Callable[[Any, Context], bool]] = {
    # Beside a kind without fields the reference's reader passes other keys; we pass them with a warning.
    "a key beside a kind without fields": lambda data, context: any(m.ignored for m in context.misfits),
    # A set written as a list with an entry twice: the reader takes it once.
    "an entry twice in a set": _has(list, _is_repeated),
    # JSON Schema calls 3.0 an integer, and has no upper bound; the reader takes whole numbers of 64 bits.
    "a whole number written as a fraction": _has(float, lambda value: value == value // 1),
    "a number beyond 64 bits": _has(int, lambda value: value > UINT64 or value < -(2**63)),
    # Two answers to one question: the reader tells it as rule 12.
    "model.io beside a pipeline": lambda data, context: isinstance(data.get("model"), dict)
    and "io" in data["model"] and "pipeline" in data,
    # The reader takes a pair without them.
    "a state pair without init and update": lambda data, context: "state_pairs" in json.dumps(data),
}  # fmt: skip


@cache
def _schema() -> Any:
    schema = json.loads((SHARED / "schema" / "inference_metadata.schema.json").read_text(encoding="utf-8"))
    return jsonschema.validators.validator_for(schema)(schema)


def _disagrees(data: Any) -> bool:
    context = Context(load(data))
    if (context.parsed is not None) == _schema().is_valid(data):
        return False
    return not any(excuses(data, context) for excuses in EXCEPTIONS.values())


@pytest.mark.parametrize("fixture", [pytest.param(f, id=f.path.stem) for f in fixtures()])
def test_a_document_parses_where_the_schema_accepts_it(fixture: Fixture) -> None:
    loaded = load(fixture.path)
    if loaded.data is None:
        assert fixture.json_schema == "reject"
    else:
        assert _schema().is_valid(loaded.data) == (fixture.json_schema == "accept")
        assert not _disagrees(loaded.data)


@pytest.mark.parametrize("seed", range(4))
def test_a_changed_document_parses_where_the_schema_accepts_it(seed: int) -> None:
    draw = random.Random(seed)
    documents = [load(f.path).data for f in fixtures() if f.kind != "invalid" and f.path.stat().st_size < 30_000]
    changed = [mutate(draw.choice(documents), draw) for _ in range(60)]
    assert [data for data in changed if _disagrees(data)] == []


def test_each_exception_is_one() -> None:
    """Each is seen: the schema and the parse stage do disagree there."""
    base = load(next(f.path for f in fixtures() if f.name == "own-base-dec.yaml")).data
    workflow = base["pipeline"]["workflow"]

    def with_(**changes: Any) -> Any:
        return base | {"pipeline": {"workflow": workflow | changes}}

    manifest = workflow["manifest"]
    pairs = {"io": {"state_pairs": [{"input": "a", "output": "b"}]}}
    shown = {
        "a key beside a kind without fields": with_(
            effects={"x": {"retry": "pure", "speculation_safety": {"kind": "none", "depth": 1}}}
        ),
        "an entry twice in a set": with_(manifest=manifest | {"capabilities": ["a", "a"]}),
        "a whole number written as a fraction": base | {"model": {"vocab_size": 258.0}},
        "a number beyond 64 bits": base | {"model": {"vocab_size": 2**64}},
        "model.io beside a pipeline": base | {"model": {"io": {}}},
        "a state pair without init and update": {"model": pairs},
    }
    assert set(shown) == set(EXCEPTIONS)
    for name, data in shown.items():
        context = Context(load(data))
        assert (context.parsed is not None) != _schema().is_valid(data), name
        assert EXCEPTIONS[name](data, context), name

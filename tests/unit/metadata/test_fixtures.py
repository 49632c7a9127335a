"""Every document of the open fixtures gets the verdict, stage and rule that it must."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.unit.metadata.fixtures import Fixture, fixtures, needs_shared, of_kind
from workbench.metadata import RULES, load, validate


@pytest.mark.parametrize("fixture", of_kind("valid"))
def test_a_valid_document_has_nothing_wrong(fixture: Fixture) -> None:
    assert not validate(fixture.path)


@pytest.mark.parametrize("fixture", of_kind("legacy"))
def test_a_bare_document_lacks_a_pipeline_and_nothing_else(fixture: Fixture) -> None:
    assert validate(fixture.path).codes == ("B13",)


@pytest.mark.parametrize("fixture", of_kind("invalid"))
def test_an_invalid_document_breaks_its_rule(fixture: Fixture) -> None:
    (number,) = fixture.rules
    if number not in RULES:
        pytest.fail(f"rule {number} is not written yet")
    found = validate(fixture.path)
    assert found.errors and found.errors[0].stage == fixture.stage, found
    first, codes = found.errors[0].rule, {d.rule for d in found.errors}
    assert first == number or (number in codes and len(codes) <= 2), found


def test_a_single_fault_gives_a_single_code() -> None:
    own = [fixture for fixture in fixtures() if fixture.kind == "invalid" and fixture.is_own]
    alone = [f for f in own if {d.rule for d in validate(f.path).errors} == set(f.rules)]
    assert len(alone) >= 0.95 * len(own), sorted({f.name for f in own} - {f.name for f in alone})


@needs_shared
def test_the_fixtures_are_all_there() -> None:
    kinds = [fixture.kind for fixture in fixtures()]
    assert (kinds.count("valid"), kinds.count("invalid"), kinds.count("legacy")) == (58, 186, 17)


# --- content alone --------------------------------------------------------------------------------------
def _turned(data: Any, key: Callable[[str], str]) -> Any:
    """The same document with the keys of every mapping in another order."""
    if isinstance(data, dict):
        return {k: _turned(data[k], key) for k in sorted(data, key=key)}
    return [_turned(item, key) for item in data] if isinstance(data, list) else data


@pytest.mark.parametrize("fixture", [*of_kind("invalid"), *of_kind("valid")])
def test_the_verdict_depends_on_content_alone(fixture: Fixture, tmp_path: Any) -> None:
    loaded = load(fixture.path)
    if loaded.data is None or fixture.rules == (1,):
        pytest.skip("the text is no data, so there is nothing to reorder")
    other = tmp_path / "renamed.json"
    other.write_text(json.dumps(_turned(loaded.data, lambda name: name[::-1])), encoding="utf-8")
    assert sorted({d.code for d in validate(other)}) == sorted({d.code for d in validate(fixture.path)})

"""What a document asks of a reader, against the recorded answers of the reference."""

from __future__ import annotations

import pytest

from tests.unit.metadata.fixtures import Fixture, base, of_kind
from workbench.metadata import load, validate
from workbench.metadata.capabilities import BUILT_IN, asked, derived
from workbench.metadata.context import Context


@pytest.mark.parametrize("fixture", of_kind("valid"))
def test_capabilities_are_those_of_the_reference(fixture: Fixture) -> None:
    context = Context(load(fixture.path))
    assert context.workflow is not None and fixture.golden
    found = {*derived(context), *context.workflow.manifest.capabilities}
    assert sorted(found) == sorted(fixture.golden["derived_capabilities"])


def test_each_has_its_reason() -> None:
    context = Context(load(base("image")))
    assert derived(context)["loop_induction_values"] == ("pipeline", "workflow", "steps", 1, "iteration")
    assert set(derived(context)) <= BUILT_IN and len(BUILT_IN) == 30


def test_required_capabilities_are_asked_for_too() -> None:
    data = base("dec") | {"required_capabilities": ["vendor.kernel"]}
    assert asked(Context(load(data)))["vendor.kernel"] == ("required_capabilities", 0)
    (found,) = validate(data, advertised=BUILT_IN)
    assert (found.code, found.stage, found.where) == ("B16", "admission", "required_capabilities[0]")

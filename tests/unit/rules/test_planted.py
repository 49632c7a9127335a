"""Every rule: of n anchors k match, and the report reads n, k and n - k reasons of the right kind, in their places."""

from __future__ import annotations

import pytest

from tests.unit.rules.graphs import applied
from tests.unit.rules.planted import COUNT, PLANTS, Plant
from workbench.rules import RULES


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.rule}-{plant.kind}")
def test_what_was_planted_is_read(plant: Plant) -> None:
    for spoiled in range(COUNT + 1):
        model, named = plant.make(spoiled)
        _, report = applied(model, plant.rule, allows=plant.allows)
        assert (report.candidates, report.applied) == (COUNT, COUNT - spoiled)
        assert [(miss.rule, miss.kind) for miss in report.misses] == [(plant.rule, plant.kind)] * spoiled
        assert all(plant.reason in miss.reason for miss in report.misses), report.misses
        assert {miss.node for miss in report.misses} == named or {miss.scope for miss in report.misses} == named


def test_every_rule_has_a_plant() -> None:
    """A new rule goes into ``tests/unit/rules/planted.py`` before it goes anywhere else."""
    assert {plant.rule for plant in PLANTS} == {rule.name for rule in RULES}


def test_every_kind_of_miss_is_planted() -> None:
    assert {plant.kind for plant in PLANTS} == {"fact", "precondition", "unmatched"}

"""The matcher against the truth: where we built both graphs, our metadata says what is what; here it is taken away."""

from __future__ import annotations

import pytest

from tests.families import FAMILIES
from tests.unit.analysis.diff.graphs import pair
from tests.unit.analysis.diff.variants import renamed
from workbench.analysis.diff import GraphDiff, diff
from workbench.ep import execution_providers

Pairs = set[tuple[int, int]]


def pairs(found: GraphDiff) -> Pairs:
    return {(e.a, e.b) for e in found.entries if e.a is not None and e.b is not None}


@pytest.mark.parametrize("family", FAMILIES)
def test_share_of_true_pairs(family: str) -> None:
    right = true = wrong = 0
    for name in execution_providers():
        generic, made = pair(family, name)
        known = diff(generic, made)
        assert known.method == "provenance" and not known.unexplained, (name, known.summary())
        seen = diff(renamed(generic, 1), renamed(made, 2), provenance=False)
        assert seen.method == "structure"
        truth, mine = pairs(known), pairs(seen)
        right, true, wrong = right + len(truth & mine), true + len(truth), wrong + len(mine - truth)
    assert true > 100
    assert right >= 0.99 * true and wrong <= 0.01 * true, (right, true, wrong)


def test_provenance_is_only_used_where_both_come_of_one_graph() -> None:
    assert diff(pair("llama", "cpu")[0], pair("gemma2", "cpu")[1]).method == "structure"
    assert diff(pair("llama", "cpu")[1], pair("llama", "dml")[1]).method == "provenance"
    assert diff(*pair("llama", "cpu"), provenance=False).method == "structure"


def test_structure_names_the_same_steps_where_rules_are_written_down() -> None:
    """Only names and ``replaces`` tell which nodes went; the groups must come out alike without them."""
    generic, made = pair("llama", "dml")
    by_name, by_structure = diff(generic, made), diff(generic, made, provenance=False)
    rules = [sorted(g.rule for g in found.groups) for found in (by_name, by_structure)]
    assert rules[0] == rules[1]

"""Random small graphs, mutated, for a provider drawn by lot: outputs are kept, or the rule has refused."""

from __future__ import annotations

import collections
import dataclasses
import functools

import pytest

from tests.property import examples
from tests.property.drawing import AIMS, TARGETS
from tests.property.examples import Outcome, example, kept
from workbench.rules import RULES, Refusal, Rewrite, Rule, Site
from workbench.rules.fuse import bias_gelu, skip_rms_norm

CHUNK, CHUNKS = 30, 10
EACH = 20
"""300 examples; ``python -m tests.property.examples 50000`` runs as many as one likes."""


@functools.cache
def chunk(number: int) -> tuple[Outcome, ...]:
    return tuple(example(seed) for seed in range(number * CHUNK, (number + 1) * CHUNK))


@pytest.mark.parametrize("number", range(CHUNKS))
def test_outputs_are_kept_or_a_rule_has_refused(number: int) -> None:
    assert [outcome for outcome in chunk(number) if outcome.problem] == []


def test_seeds_that_failed_once() -> None:
    assert [outcome for seed in kept() if (outcome := example(seed)).problem] == []


def test_the_examples_are_worth_something() -> None:
    """Most can be run, half of them fire a rule, each rule fires, each provider and each mutation is drawn."""
    outcomes = [outcome for number in range(CHUNKS) for outcome in chunk(number)]
    assert sum(outcome.valid for outcome in outcomes) >= 0.8 * len(outcomes)
    assert sum(bool(outcome.fired) for outcome in outcomes) >= 0.5 * len(outcomes)
    assert sum(bool(outcome.refused) for outcome in outcomes) >= 0.05 * len(outcomes)
    assert sum(outcome.undecided for outcome in outcomes) <= 0.01 * len(outcomes)
    fired = collections.Counter(rule for outcome in outcomes for rule in outcome.fired)
    rare = {rule.name: fired[rule.name] for rule in RULES if fired[rule.name] < EACH}
    assert rare == {}, f"fewer than {EACH} examples fire these: say in tests/property/drawing.py what they look for"
    assert {outcome.provider for outcome in outcomes} == {ep.name for ep in examples.PROVIDERS}
    assert len({name for outcome in outcomes for name in outcome.mutations}) == len(examples_mutations())


def test_each_rule_has_a_motif() -> None:
    assert set(AIMS) == {rule.name for rule in RULES}, "say in tests/property/drawing.py what the rule looks for"


def examples_mutations() -> tuple[object, ...]:
    from tests.property.mutations import MUTATIONS

    return MUTATIONS


def _forgets_epsilon(site: Site) -> Rewrite:
    change = skip_rms_norm.RULE.rewrite(site)
    for node in change.nodes:
        node.attributes.pop("epsilon", None)
    return change


def _always_by_erf(site: Site) -> Rewrite:
    kept = site.node.attributes.pop("approximate", None)
    try:
        return bias_gelu.RULE.rewrite(site)
    except Refusal:
        if kept is not None:
            site.node.attributes["approximate"] = kept
        raise


@pytest.mark.parametrize(
    ("name", "rewrite"), [("fuse/skip_rms_norm", _forgets_epsilon), ("fuse/bias_gelu", _always_by_erf)]
)
def test_a_wrong_rule_is_caught(name: str, rewrite: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mistakes that change numbers in the third digit only."""
    wrong = tuple(_with(rule, rewrite) if rule.name == name else rule for rule in RULES)
    monkeypatch.setattr(examples, "RULES", wrong)
    aimed = [seed for seed in range(900) if TARGETS[seed % len(TARGETS)] == name]
    problems = [outcome for seed in aimed if (outcome := example(seed)).problem]
    assert problems and all(name in outcome.fired and "differs by" in outcome.problem for outcome in problems)


def _with(rule: Rule, rewrite: object) -> Rule:
    return dataclasses.replace(rule, rewrite=rewrite)

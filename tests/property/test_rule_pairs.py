"""Every pair of rules of a stage that share an operator, in both orders, on small graphs: the outputs are kept."""

from __future__ import annotations

import functools
import itertools
import random
from collections.abc import Iterable

import numpy as np
import onnx_ir as ir
import pytest

from tests.property.drawing import sketch
from tests.property.examples import LIMIT, run
from tests.unit.rules.graphs import applied
from workbench.rules import RULES, Rule

SEEDS = range(240)
MOST = 2


def ops(rule: Rule) -> set[object]:
    return {use.op for use in (*rule.anchors, *rule.removes, *rule.produces)}


PAIRS = [
    (one.name, two.name) for one, two in itertools.combinations(RULES, 2)
    if one.stage is two.stage and ops(one) & ops(two)
]  # fmt: skip


@functools.cache
def graph(seed: int) -> tuple[ir.Model, dict[str, np.ndarray], frozenset[str]]:
    """A sketch without mutations, its arrays, and the rules that fire on it alone."""
    model, arrays = sketch(random.Random(seed))
    fire = frozenset(rule.name for rule in RULES if _anchored(model, rule) and applied(model, rule.name)[1].applied)
    return model, arrays, fire


def _anchored(model: ir.Model, rule: Rule) -> bool:
    wanted = {(use.domain, use.op_type) for use in rule.anchors}
    return any((node.domain, node.op_type) in wanted for node in model.graph)


@functools.cache
def before(seed: int) -> dict[str, np.ndarray]:
    model, arrays, _ = graph(seed)
    return run(model, arrays)


def chosen(one: str, two: str) -> tuple[int, ...]:
    """Graphs on which both fire; where there is none, on which the first and then the second is asked."""
    both = [seed for seed in SEEDS if {one, two} <= graph(seed)[2]]
    some: Iterable[int] = both or [seed for seed in SEEDS if {one, two} & graph(seed)[2]]
    return tuple(itertools.islice(some, MOST))


@pytest.mark.parametrize(("one", "two"), PAIRS)
def test_both_orders_keep_the_outputs(one: str, two: str) -> None:
    seeds = chosen(one, two)
    assert seeds, f"no sketch has anything for {one} or {two}"
    for seed, order in itertools.product(seeds, ((one, two), (two, one))):
        model, arrays, _ = graph(seed)
        after = run(applied(model, *order)[0], arrays)
        assert list(after) == list(before(seed))
        for name, array in before(seed).items():
            scale = max(1.0, float(np.abs(array).max()))
            assert np.abs(array - after[name]).max() / scale <= LIMIT, (seed, order, name)


def test_most_pairs_meet_on_one_graph() -> None:
    """Where rules never fire on one graph, an order of them says nothing."""
    met = [pair for pair in PAIRS if any(set(pair) <= graph(seed)[2] for seed in SEEDS)]
    assert len(PAIRS) >= 20 and len(met) >= 0.8 * len(PAIRS), sorted(set(PAIRS) - set(met))

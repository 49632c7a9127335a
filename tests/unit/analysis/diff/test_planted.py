"""Planted differences are found, each as what it is, and nothing else is."""

from __future__ import annotations

import collections
import random

import onnx_ir as ir
import pytest

from tests.unit.analysis.diff.graphs import filled, recipe
from tests.unit.analysis.diff.plants import KINDS, Planted, Used
from tests.unit.analysis.diff.variants import renamed
from workbench.analysis.diff import GraphDiff, diff
from workbench.ep import get_ep

FAMILIES = ("llama", "gpt2", "bert", "gemma2", "olmo2", "bloom")
EPS = ("generic", "onnx-standard", "cpu", "dml")
SEEDS = range(6)


def graph(family: str, ep: str) -> ir.Model:
    package = recipe(family).package(get_ep("cpu" if ep == "generic" else ep), ir.DataType.FLOAT)
    return filled(next(iter(package.generic.values())) if ep == "generic" else package.model)


def plant(model: ir.Model, seed: str, count: int) -> list[Planted]:
    """Change the model in ``count`` places (fewer where it has no place for a kind)."""
    rng, used = random.Random(seed), Used()
    found = [rng.choice(KINDS)(model, used, rng) for _ in range(count)]
    return [one for one in found if one is not None]


def told(found: GraphDiff) -> collections.Counter[tuple[str, str]]:
    """Status and kind of each difference; a node's several changes would count as several."""
    nodes = [(e.status, c.what) for e in found.entries for c in e.changes]
    nodes += [(e.status, "") for e in found.entries if e.status in ("added", "removed")]
    return collections.Counter(nodes + [("", change.what) for change in found.changes])


@pytest.mark.parametrize("ep", EPS)
@pytest.mark.parametrize("family", FAMILIES)
def test_exactly_what_was_planted(family: str, ep: str) -> None:
    before = graph(family, ep)
    for seed in SEEDS:
        after = before.clone()
        planted = plant(after, f"{family} {ep} {seed}", 1 + seed % 4)
        wanted = collections.Counter((one.status, one.what) for one in planted)
        plain = diff(before, after)
        assert told(plain) == wanted, (planted, plain.summary())
        names = {plain.info(e).name for e in plain.entries if e.status != "same"}
        assert names == {one.node for one in planted if one.status}
        assert told(diff(before, after, provenance=False)) == wanted, planted
        assert told(diff(before, renamed(after, seed))) == wanted, planted
        assert told(diff(renamed(before, 9), renamed(after, seed))) == wanted, planted


def test_every_kind_is_planted_somewhere() -> None:
    """Or the test above would show less than it says."""
    kinds = {
        one.kind
        for family in FAMILIES[:2]
        for ep in ("generic", "cpu")
        for seed in SEEDS
        for one in plant(graph(family, ep), f"{family} {ep} {seed}", 1 + seed % 4)
    }
    assert kinds == {kind.__name__ for kind in KINDS}

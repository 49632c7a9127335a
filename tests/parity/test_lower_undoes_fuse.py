"""Graphs fused on one provider's facts, lowered on another's: equal numbers, and nothing of the first left."""

from __future__ import annotations

import collections
import functools

import onnx_ir as ir
import pytest

from tests.parity.running import RowLogits, distance
from tests.small import generic, numbers, on
from workbench.ep import get_ep
from workbench.models import SPECS
from workbench.rules import RULES
from workbench.types import MS_DOMAIN, WB_DOMAIN, Stage

BOUND = 2e-5
FAMILIES = ("llama", "gemma2", "mistral", "phi", "gpt_neox", "qwen2", "qwen3", "bert", "gpt2", "mixtral")
PATHS = [("cpu", "onnx-standard"), ("cpu", "default"), ("cpu", "cuda"), ("cpu", "dml"), ("cpu", "trt-rtx")]
PATHS += [("dml", "onnx-standard"), ("webgpu", "default"), ("webgpu", "cpu"), ("webgpu", "trt-rtx")]


@functools.cache
def expected(family: str) -> list[RowLogits]:
    return numbers(*generic(family))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("path", PATHS, ids=["-to-".join(path) for path in PATHS])
def test_equal_numbers_and_nothing_that_does_not_run(family: str, path: tuple[str, str]) -> None:
    model, role = generic(family)
    fused = on(model, role, path[0])
    lowered = on(fused, role, path[1])
    ep = get_ep(path[1])
    left = {f"{n.domain}.{n.op_type}" for n in lowered.graph if n.domain not in ep.domains | {WB_DOMAIN}}
    assert left == set()
    assert distance(numbers(lowered, role), expected(family)) <= BOUND


def test_each_operator_that_a_fusion_makes_is_undone_somewhere() -> None:
    """The families above hold every operator that fusions make on three providers, and none is left after."""
    made: collections.Counter[str] = collections.Counter()
    for family in FAMILIES:
        model, role = generic(family)
        for name in ("cpu", "dml", "webgpu"):
            fused = on(model, role, name)
            made.update(n.op_type for n in fused.graph if n.domain == MS_DOMAIN)
            assert not [n for n in on(fused, role, "onnx-standard").graph if n.domain]
    ep = get_ep("cpu")
    runs = {u for r in RULES for u in r.produces if u.domain == MS_DOMAIN and ep.runs(u.op, ir.DataType.FLOAT)}
    wanted = {u.op_type for u in runs if any(u in r.produces for r in RULES if r.stage is Stage.FUSE)}
    assert wanted <= set(made)
    assert {spec.model_type for spec in SPECS} >= set(FAMILIES)

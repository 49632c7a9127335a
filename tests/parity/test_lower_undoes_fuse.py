"""Graphs fused on one provider's facts, lowered on another's: equal numbers, and nothing of the first left."""

from __future__ import annotations

import collections
import functools

import numpy as np
import onnx_ir as ir
import pytest

from tests.golden_ops import words
from tests.parity.running import RowLogits, alone, batch, distance
from workbench.ep import get_ep
from workbench.models import SPECS, lookup
from workbench.optimize import run_plan
from workbench.recipe import Recipe
from workbench.rules import RULES
from workbench.rules.plan import plan
from workbench.runtime.ort_cpu import OrtCpuSession
from workbench.tasks import get_task
from workbench.types import MS_DOMAIN, WB_DOMAIN, Role, Stage

ROWS, MORE = [[5, 9, 31, 2, 77, 40, 8, 13, 21, 60, 3, 17, 90], [44, 6, 7, 30, 12, 81, 9]], [[4, 8], [15, 16]]
BOUND = 2e-5
FAMILIES = ("llama", "gemma2", "mistral", "phi", "gpt_neox", "qwen2", "bert", "gpt2")
PATHS = [("cpu", "onnx-standard"), ("cpu", "default"), ("cpu", "cuda"), ("cpu", "dml"), ("cpu", "trt-rtx")]
PATHS += [("dml", "onnx-standard"), ("webgpu", "default")]


@functools.cache
def generic(family: str) -> tuple[ir.Model, Role]:
    spec = lookup(family)
    recipe = Recipe(spec.module, spec.read(words(spec)), get_task(spec.task))
    (model,) = recipe.generic(ir.DataType.FLOAT)[0].values()
    rng = np.random.default_rng(3)
    for name in sorted(model.graph.initializers):
        value = model.graph.initializers[name]
        if value.const_value is None:
            shape = value.shape.numpy()  # type: ignore[union-attr]
            drawn = rng.standard_normal(shape) * (0.1 if len(shape) == 1 else 1.5 / shape[-1] ** 0.5)
            value.const_value = ir.tensor((drawn + (len(shape) == 1)).astype(np.float32), name=name)
    return model, get_task(spec.task).roles["model"]


def on(model: ir.Model, role: Role, name: str) -> ir.Model:
    """A provider's graph; inputs stay, so that a second provider may use them."""
    ep = get_ep(name)
    return run_plan(model, plan(ep, ir.DataType.FLOAT, role, RULES), ep).model


def numbers(model: ir.Model, role: Role) -> list[RowLogits]:
    with OrtCpuSession(model) as session:
        if role is Role.DECODER:
            return alone(session, ROWS, MORE, "right") + batch(session, ROWS, MORE, "right", "right")
        width = max(map(len, ROWS))
        mask = np.array([[1] * len(r) + [0] * (width - len(r)) for r in ROWS])
        ids = np.array([[*r, *[0] * (width - len(r))] for r in ROWS])
        found = session.run({"input_ids": ids, "attention_mask": mask, "token_type_ids": ids % 2})["last_hidden_state"]
        return [(found[b, : len(row)], found[b, :1]) for b, row in enumerate(ROWS)]


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

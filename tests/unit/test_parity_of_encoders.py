"""Graphs without a cache: one call with a right-padded batch, and no talk of tokens that nobody chooses."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import onnx_ir as ir
import pytest

from tests.golden_ops import SIZES
from workbench.analysis.parity_report import ParityReport
from workbench.ep import get_ep
from workbench.models import lookup
from workbench.parity import run_parity
from workbench.recipe import PLAIN, Recipe
from workbench.tasks import get_task

NAMES = ("cpu", "dml", "webgpu", "onnx-standard")


@pytest.fixture(scope="module")
def report() -> ParityReport:
    spec = lookup("bert")
    config = spec.read({"model_type": "bert", **SIZES, "max_position_embeddings": 64})
    recipe = Recipe(spec.module, config, get_task(spec.task))
    _fill(recipe)
    eps = [get_ep(name) for name in NAMES]
    packages = {ep.name: recipe.package(ep, ep.default_dtype) for ep in eps}
    (generic,) = recipe.generic(ir.DataType.FLOAT, PLAIN)[0].values()
    compared = SimpleNamespace(generic=generic, packages=packages)
    return run_parity(compared, (), None, seed=0, settings=None)


def _fill(recipe: Recipe) -> None:
    """The same weights in each dtype and at each width of the inputs, before anything is derived from them."""
    for dtype in (ir.DataType.FLOAT, ir.DataType.FLOAT16):
        for options in {get_ep(name).graph_options() for name in NAMES}:
            for model in recipe.generic(dtype, options)[0].values():
                rng = np.random.default_rng(0)
                for name in sorted(model.graph.initializers):
                    value = model.graph.initializers[name]
                    if value.const_value is None:
                        drawn = 0.3 * rng.standard_normal(value.shape.numpy()) + (value.shape.rank() == 1)
                        value.const_value = ir.tensor(drawn.astype(dtype.numpy()), name=name)


def test_every_provider_agrees(report: ParityReport) -> None:
    assert {group.execution_provider: group.verdict for group in report.overall()} == dict.fromkeys(NAMES, "ok")
    assert {row.output for row in report.rows} == {"last_hidden_state"}
    assert {row.row for row in report.rows} == {0, 1}


def test_nobody_chooses_a_token(report: ParityReport) -> None:
    assert all(row.top1 is None and math.isnan(row.kl) for row in report.rows)
    assert "top1" not in repr(report)
    assert report.summary().to_frame()["top1"].isna().all()

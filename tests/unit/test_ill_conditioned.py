"""Where float32 itself cannot tell: a floor is measured and named, and a wrong graph still differs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import onnx_ir as ir
import pytest
from safetensors.numpy import save_file

from tests.cases import CASES, llama_shapes, seeded_weights
from tests.unit.analysis.results import OPTIONS, VERSIONS, subject
from workbench import Comparison, compare
from workbench.analysis.parity import ParityRow, compare_logits
from workbench.analysis.parity_report import ParityReport
from workbench.parity import run_parity
from workbench.runtime.ort_cpu import SessionSettings
from workbench.runtime.own_floor import nudged
from workbench.types import Tolerance

STEEP = 4.0
"""Queries and keys this much larger: attention chooses one token or another by a rounding."""


def row(error: float, floor: float, *, own: bool = True, tolerance: float = 1e-4, largest: float = 30.0) -> ParityRow:
    reference = np.array([[[largest, 1.0, -2.0]]])
    candidate = reference + np.array([0.0, error, 0.0])
    (found,) = compare_logits(
        reference, candidate, [[True]], floor=floor, tolerance=Tolerance(tolerance, "a formula"), subject=subject(),
        case="decode", own_floor=own,
    )  # fmt: skip
    return found


@pytest.mark.parametrize(
    ("error", "floor", "verdict"),
    [
        (0.9e-4, 0.0, "ok"), (0.9e-4, 1e-2, "ok"),  # within the tolerance nothing is asked
        (2.5e-3, 2.2e-3, "ill-conditioned"), (2.9e-3, 1e-3, "ill-conditioned"),
        (3.1e-3, 1e-3, "differs"), (2e-4, 0.0, "differs"), (float("nan"), 2.2e-3, "differs"),
        (3.1e-2, 3.1e-2, "differs"), (2.9e-2, 2.9e-2, "ill-conditioned"),  # 1e-3 of the largest logit, 30
    ],
)  # fmt: skip
def test_verdicts(error: float, floor: float, verdict: str) -> None:
    assert row(error, floor).verdict == verdict


def test_the_floor_of_a_dtype_is_another_thing() -> None:
    """In half precision the tolerance is made from the floor already: nothing is ill-conditioned there."""
    assert row(2.5e-3, 2.2e-3, own=False).verdict == "differs"


def test_reasons() -> None:
    assert row(2.5e-3, 2.2e-3).reason == (
        "max|d| 0.0025 is beyond 0.0001 (a formula); the generic graph differs from itself by 0.0022 here"
    )
    assert row(0.5, 1e-2).reason == (
        "max|d| 0.5 is beyond 0.0001 (a formula), and the generic graph differs from itself by 0.01 here only"
    )
    assert row(0.5, 0.4).reason.endswith("differs from itself by 0.4 here, which is too much to judge by")


def report(*rows: ParityRow) -> ParityReport:
    return ParityReport(rows, "generic", 0, VERSIONS, OPTIONS)


def test_the_worst_of_them_is_the_verdict() -> None:
    fine, ill, wrong = row(0.0, 0.0), row(2.5e-3, 2.2e-3), row(0.5, 2.2e-3)
    assert [report(*rows).verdict for rows in ((fine,), (fine, ill), (ill, wrong))] == [
        "ok",
        "ill-conditioned",
        "differs",
    ]
    (group,) = report(fine, ill).overall()
    assert group.reason == "at 1 of 2 positions the generic graph differs from itself by up to 1e-2"
    assert "0.0025 > 0.0001 (a formula) ill-conditioned" in group.text
    assert "ill-conditioned" in report(fine, ill).plot().alt


@pytest.mark.parametrize("change", [{"max_abs": 1.0}, {"max_abs": 1e-5}, {"floor": 1e-4}], ids=str)
def test_a_report_cannot_be_made_of_a_false_one(change: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="it is for what is beyond the tolerance and within 3 times the floor"):
        report(dataclasses.replace(row(2.5e-3, 2.2e-3), **change))


# --- a real graph ---------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder = tmp_path_factory.mktemp("steep")
    hf = {**CASES["gqa"].hf, "hidden_size": 384, "intermediate_size": 512, "tie_word_embeddings": True}
    arrays = seeded_weights(llama_shapes(hf), 5)
    steep = {name: array * np.float32(STEEP) for name, array in arrays.items() if "q_proj" in name or "k_proj" in name}
    (folder / "config.json").write_text(json.dumps(hf))
    save_file({**arrays, **steep}, folder / "model.safetensors", metadata={"format": "pt"})
    return compare(folder, execution_providers=["cpu"])


def _scale_a_hundredth_off(model: ir.Model) -> None:
    norm = next(node for node in model.graph if node.op_type.startswith("SkipSimplified"))
    weight = norm.inputs[2]
    assert weight is not None and weight.const_value is not None
    other = ir.val("planted", const_value=ir.tensor(weight.const_value.numpy() * np.float32(0.99), name="planted"))
    model.graph.register_initializer(other)
    norm.replace_input_with(2, other)


def _drop_scale(model: ir.Model) -> None:
    """The attention of the last layer forgets its scale."""
    node = [node for node in model.graph if node.op_type == "GroupQueryAttention"][-1]
    node.attributes["scale"] = ir.AttrFloat32("scale", 1.0)


def _swap_weights(model: ir.Model) -> None:
    one, two = [node for node in model.graph if node.op_type.startswith("SkipSimplified")][:2]
    first, second = one.inputs[2], two.inputs[2]
    one.replace_input_with(2, second)
    two.replace_input_with(2, first)


@pytest.mark.parametrize("plant", [_scale_a_hundredth_off, _drop_scale, _swap_weights])
def test_a_wrong_graph_differs_whatever_the_floor(plant: Callable[[ir.Model], None], comparison: Comparison) -> None:
    package = comparison["cpu"]
    model = package.model.clone()
    plant(model)
    wrong = dataclasses.replace(package, models={"model": model})
    found = run_parity(SimpleNamespace(generic=comparison.generic, packages={"cpu": wrong}), (), None, seed=0,
                       settings=None)  # fmt: skip
    assert found.verdict == "differs"
    assert max(row.floor for row in found.rows) > 0  # it was measured


def test_the_right_graph_does_not(comparison: Comparison) -> None:
    """What a float32 rounding does to this model is beyond any share of its logits; no provider is to blame for it."""
    found = [comparison.parity(seed=seed) for seed in range(3)]
    assert {one.verdict for one in found} <= {"ok", "ill-conditioned"}
    beyond = [row for one in found for row in one.rows if row.verdict == "ill-conditioned"]
    assert all(row.tolerance.atol < row.max_abs <= 3 * row.floor for row in beyond)


def test_nothing_is_measured_where_nothing_is_beyond(comparison: Comparison) -> None:
    same = dataclasses.replace(comparison["cpu"], models={"model": comparison.generic}, padding="any")
    compared = SimpleNamespace(generic=comparison.generic, packages={"cpu": same})
    found = run_parity(compared, (), None, seed=0, settings=SessionSettings(graph_optimization="none"))
    assert {(row.max_abs, row.floor, row.verdict) for row in found.rows} == {(0.0, 0.0, "ok")}


def test_a_nudge_is_one_float(comparison: Comparison) -> None:
    before, after = comparison.generic.graph.initializers, nudged(comparison.generic, 0).graph.initializers
    moved = [name for name in before if before[name].const_value is not after[name].const_value]
    assert moved == [
        name for name, value in before.items() if len(value.shape) == 1 and value.dtype == ir.DataType.FLOAT
    ]
    for name in moved:
        one, two = before[name].const_value.numpy(), after[name].const_value.numpy()
        assert (np.abs(one.view(np.int32) - two.view(np.int32)) == 1).all()

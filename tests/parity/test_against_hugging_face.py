"""The generic graph against Hugging Face in float32: the goldens everywhere, the model itself where torch is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from tests import make_goldens
from tests.cases import CASES, Case, llama_shapes, write_model
from tests.parity.running import RowLogits, batch, distance, run
from workbench import build
from workbench.runtime.ort_cpu import OrtCpuSession

BOUND = 5e-5
"""What the tiny llamas may differ from Hugging Face by, in float32 logits of about 5."""


@pytest.fixture(params=list(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def _rows(arrays: dict[str, np.ndarray], case: Case) -> list[RowLogits]:
    return [(arrays[f"prefill.{b}"], arrays[f"decode.{b}"]) for b in range(len(case.lengths))]


def test_generic_graph_equals_the_goldens(case: Case, tmp_path: Path) -> None:
    package = build(write_model(tmp_path / case.name, case), execution_provider="default")
    expected = _rows(make_goldens.golden(case.name), case)
    found = run(package.generic["model"], case.rows, case.decode)
    with OrtCpuSession(package.generic["model"]) as session:
        found["left"] = batch(session, case.rows, case.decode, "left")
    assert {name: distance(logits, expected) <= BOUND for name, logits in found.items()} == {
        "alone": True, "right": True, "left": True,
    }  # fmt: skip


@pytest.mark.torch
def test_generic_graph_equals_hugging_face_here(case: Case, tmp_path: Path) -> None:
    package = build(write_model(tmp_path / case.name, case), execution_provider="default")
    expected = _rows(make_goldens.case_logits(case), case)
    found = run(package.generic["model"], case.rows, case.decode)
    assert distance(found["alone"], expected) <= BOUND
    assert distance(found["right"], expected) <= BOUND


@pytest.mark.torch
@pytest.mark.parametrize("name", ["llama3-rope", "linear-rope"])
def test_scaled_positions_matter_in_these_cases(name: str) -> None:
    """Without its RoPE scaling Hugging Face gives other logits, so a graph that forgot it could not pass."""
    case = CASES[name]
    plain = {**case.hf, "rope_parameters": {"rope_type": "default", "rope_theta": 5000.0}}
    plain.pop("rope_scaling", None)
    model = make_goldens.hugging_face(plain, case.weights)
    prefill, _ = make_goldens.row_logits(model, case.rows[0], case.decode[0])
    assert np.abs(prefill - make_goldens.golden(name)["prefill.0"]).max() > 0.1


def test_goldens_belong_to_these_cases() -> None:
    record = make_goldens.record()
    assert sorted(record["versions"]) == ["numpy", "torch", "transformers"]
    assert record["cases"] == {name: make_goldens.description(case) for name, case in CASES.items()}
    assert sorted(path.stem for path in make_goldens.GOLDEN.glob("*.npz")) == sorted(CASES)


def test_goldens_are_small() -> None:
    sizes = [path.stat().st_size for path in make_goldens.GOLDEN.parent.rglob("*") if path.is_file()]
    assert max(sizes) < 200_000
    assert sum(sizes) < 1_000_000


def test_a_golden_says_something(case: Case) -> None:
    """Rows differ from each other, logits are large enough for the bound to mean something."""
    arrays = make_goldens.golden(case.name)
    assert set(arrays) == {f"{part}.{b}" for part in ("prefill", "decode") for b in (0, 1)}
    assert all(array.dtype == np.float32 and np.abs(array).max() > 1 for array in arrays.values())


def test_weights_are_perturbed_everywhere(case: Case, tmp_path: Path) -> None:
    folder = write_model(tmp_path, case)
    with safe_open(folder / "model.safetensors", "numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}
    assert {name: array.shape for name, array in arrays.items()} == llama_shapes(case.hf)
    norms = [array for name, array in arrays.items() if name.endswith("norm.weight")]
    assert all(np.abs(array - 1).max() > 0.05 for array in norms)
    assert all((array != 0).all() for array in arrays.values())

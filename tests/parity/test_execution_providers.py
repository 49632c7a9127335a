"""Every execution provider's graph against the generic one, on CPU kernels: float32, float16, and padding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx_ir as ir
import pytest

from tests.cases import CASES, Case, write_model
from tests.parity.running import RowLogits, alone, batch, distance, run
from workbench import Comparison, FeedsError, build, compare
from workbench import run as run_once
from workbench.build import recipe_for
from workbench.ep import execution_providers, get_ep
from workbench.recipe import Recipe
from workbench.runtime.ort_cpu import OrtCpuSession
from workbench.types import parse_dtype

BOUND = 1e-5
"""What a provider's graph may differ from the generic one by, in float32."""


@pytest.fixture(scope="module", params=list(CASES))
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.fixture(scope="module")
def recipe(case: Case, tmp_path_factory: pytest.TempPathFactory) -> Recipe:
    return recipe_for(write_model(tmp_path_factory.mktemp(case.name), case), module_class=None, load_weights=True)


def _generic(recipe: Recipe, case: Case, dtype: str) -> dict[str, list[RowLogits]]:
    models, _ = recipe.generic(parse_dtype(dtype))
    return run(models["model"], case.rows, case.decode)


@pytest.fixture(scope="module")
def generic(recipe: Recipe, case: Case) -> dict[str, list[RowLogits]]:
    """Logits of the generic graph in float32, each row alone and as a right-padded batch."""
    return _generic(recipe, case, "float32")


@pytest.fixture(scope="module")
def generic16(recipe: Recipe, case: Case) -> dict[str, list[RowLogits]]:
    return _generic(recipe, case, "float16")


def test_padding_changes_nothing_in_the_generic_graph(generic: dict[str, list[RowLogits]]) -> None:
    assert distance(generic["right"], generic["alone"]) <= BOUND


@pytest.mark.parametrize("name", execution_providers())
def test_float32_equals_generic(name: str, recipe: Recipe, case: Case, generic: dict[str, list[RowLogits]]) -> None:
    """Prefill, right-padded batch and three decode steps, all against the rows run alone."""
    package = recipe.package(get_ep(name), ir.DataType.FLOAT)
    found = run(package.model, case.rows, case.decode, package.padding)
    assert distance(found["alone"], generic["alone"]) <= BOUND
    assert distance(found["right"], generic["alone"]) <= BOUND
    assert distance(found["right"], generic["right"]) <= BOUND


@pytest.mark.parametrize("name", execution_providers())
def test_float16_is_as_good_as_float16_can_be(
    name: str,
    recipe: Recipe,
    case: Case,
    generic: dict[str, list[RowLogits]],
    generic16: dict[str, list[RowLogits]],
) -> None:
    """Not farther from float32 than twice what the dtype alone does to the generic graph."""
    package = recipe.package(get_ep(name), ir.DataType.FLOAT16)
    found = run(package.model, case.rows, case.decode, package.padding)
    for way in ("alone", "right"):
        floor = distance(generic16[way], generic["alone"])
        assert 0 < floor < 0.1
        assert distance(found[way], generic["alone"]) <= 2 * floor


# --- left padding ---------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("left"), CASES["gqa"])


GQA = CASES["gqa"]


def _left(model: ir.Model, padding: str) -> list[RowLogits]:
    with OrtCpuSession(model) as session:
        return batch(session, GQA.rows, GQA.decode, "left", padding)


def test_left_padding_is_right_on_the_generic_graph(folder: Path) -> None:
    package = build(folder, execution_provider="default")
    with OrtCpuSession(package.generic["model"]) as session:
        expected = alone(session, GQA.rows, GQA.decode)
        assert distance(batch(session, GQA.rows, GQA.decode, "left"), expected) <= BOUND


@pytest.mark.parametrize(
    ("name", "attention"), [("cpu", "GroupQueryAttention"), ("webgpu", "GroupQueryAttention"), ("dml", "Softmax")]
)
def test_any_padding_is_right_where_it_was_asked_for(name: str, attention: str, folder: Path) -> None:
    """cpu and webgpu carry the mask as a bias; dml's kernel takes none, so its attention is spelled out."""
    package = build(folder, execution_provider=name, dtype="float32", padding="any")
    assert package.padding == "any"
    assert sum(node.op_type == attention for node in package.model.graph) == GQA.hf["num_hidden_layers"]
    with OrtCpuSession(package.generic["model"]) as session:
        expected = alone(session, GQA.rows, GQA.decode)
    with OrtCpuSession(package.model) as session:
        found = {side: batch(session, GQA.rows, GQA.decode, side, package.padding) for side in ("left", "right")}
        found["alone"] = alone(session, GQA.rows, GQA.decode, package.padding)
    assert {way: distance(logits, expected) <= BOUND for way, logits in found.items()} == dict.fromkeys(found, True)


def test_dml_float16_lowers_attention_for_any_padding(folder: Path) -> None:
    """Its kernel exists in float16 and takes no bias: a fact, told as such, and numbers that hold."""
    package = build(folder, execution_provider="dml", padding="any")
    reasons = {(miss.rule, miss.kind, miss.reason) for miss in package.report.misses}
    assert ("fuse/gqa", "fact", "padding='any' needs the mask as a bias, which the kernel does not take") in reasons
    assert (package.padding, package.dtype) == ("any", ir.DataType.FLOAT16)
    with OrtCpuSession(build(folder, execution_provider="default").generic["model"]) as session:
        expected = alone(session, GQA.rows, GQA.decode)
    floor = distance(_left(package.generic["model"], "any"), expected)
    assert 0 < floor < 0.1
    assert distance(_left(package.model, "any"), expected) <= 2 * floor


def test_a_graph_for_right_padding_would_be_silently_wrong(folder: Path) -> None:
    """Why left padding is refused: with the check switched off the logits are wrong by whole units."""
    package = build(folder, execution_provider="cpu")
    assert package.padding == "right"
    with OrtCpuSession(package.generic["model"]) as session:
        expected = alone(session, GQA.rows, GQA.decode)
    assert distance(_left(package.model, "any"), expected) > 0.5


def test_left_padding_is_refused_with_the_reason(folder: Path) -> None:
    package = build(folder, execution_provider="cpu")
    with pytest.raises(FeedsError) as refused:
        _left(package.model, package.padding)
    assert str(refused.value) == (
        "attention_mask row 1 starts with 0: left padding. This graph was built with padding='right'. "
        "GroupQueryAttention takes each row's real tokens from its front (lengths, not positions), so the logits "
        "would be wrong without any error. Pad on the right, run rows alone, or build with padding='any' where the "
        "execution provider can carry the mask."
    )


def _feeds(comparison: Comparison, mask: list[list[int]]) -> dict[str, np.ndarray]:
    config = next(iter(comparison.values())).config
    assert config is not None
    past = np.zeros((len(mask), config.num_key_value_heads, 0, config.head_dim), np.float32)
    given = np.array(mask)
    feeds = {"input_ids": np.full_like(given, 5), "attention_mask": given}
    feeds["position_ids"] = np.maximum(np.cumsum(given, axis=1) - 1, 0)
    names = [f"past_key_values.{i}.{word}" for i in range(config.num_hidden_layers) for word in ("key", "value")]
    return feeds | dict.fromkeys(names, past)


def test_parity_refuses_left_padded_feeds(folder: Path) -> None:
    """The refusal stands where a user meets it, too; a gap in the middle is none better."""
    comparison = compare(folder, execution_providers=["cpu"])
    assert comparison.parity(feeds=_feeds(comparison, [[1, 1, 1], [1, 1, 0]])).verdict == "ok"
    with pytest.raises(FeedsError, match="row 1 starts with 0: left padding"):
        comparison.parity(feeds=_feeds(comparison, [[1, 1, 1], [0, 1, 1]]))
    with pytest.raises(FeedsError, match="row 0 has padding between real tokens"):
        comparison.parity(feeds=_feeds(comparison, [[1, 0, 1], [1, 1, 1]]))


def test_run_refuses_left_padded_feeds(folder: Path) -> None:
    comparison = compare(folder, execution_providers=["cpu", "onnx-standard"])
    feeds = _feeds(comparison, [[1, 1, 1], [0, 1, 1]])
    assert run_once(comparison["onnx-standard"], feeds)["logits"].shape == (2, 3, GQA.hf["vocab_size"])
    del feeds["position_ids"]  # the cpu graph counts for itself
    with pytest.raises(FeedsError, match="row 1 starts with 0: left padding"):
        run_once(comparison["cpu"], feeds)


def test_left_padded_feeds_are_judged_where_the_graph_can_take_them(folder: Path) -> None:
    comparison = compare(folder, execution_providers=["onnx-standard"])
    report = comparison.parity(feeds=_feeds(comparison, [[1, 1, 1], [0, 1, 1]]))
    assert report.verdict == "ok"
    assert [(row.row, row.position) for row in report.rows] == [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2)]

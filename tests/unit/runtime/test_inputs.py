"""Inputs that do not fit: each refused with its name, what was found and what is allowed; never wrong numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cases import CASES, Case, write_model
from workbench import (
    ArgumentError,
    Comparison,
    FeedsError,
    OrtCpuSession,
    Package,
    SessionSettings,
    build,
    compare,
    generate,
    run,
)
from workbench.runtime.arrays import as_arrays, cast_exactly, check_arrays
from workbench.runtime.limits import check_positions, check_prompt, check_tokens

POSITIONS, LAYERS, BATCH, NEW = 24, 2, 2, 8
CASE = Case("short", {**CASES["gqa"].hf, "max_position_embeddings": POSITIONS, "num_hidden_layers": LAYERS}, 5)
IDS = np.random.default_rng(0).integers(4, CASE.hf["vocab_size"], (BATCH, NEW))
Arrays = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("short"), CASE)


@pytest.fixture(scope="module")
def comparison(folder: Path) -> Comparison:
    return compare(folder, execution_providers=["cpu", "onnx-standard"])


@pytest.fixture(scope="module")
def generic(comparison: Comparison) -> Package:
    return comparison["onnx-standard"]


@pytest.fixture(scope="module")
def fused(comparison: Comparison) -> Package:
    return comparison["cpu"]


@pytest.fixture(scope="module")
def anywhere(folder: Path) -> Package:
    return build(folder, padding="any")


def feeds(package: Package, ids: Any = IDS, mask: Any = None, past: Mapping[str, np.ndarray] | None = None) -> Arrays:
    """One call; ``past`` holds the outputs of the call before."""
    ids = np.asarray(ids)
    cached = past["present.0.key"].shape[2] if past is not None else 0
    mask = np.ones((len(ids), cached + ids.shape[1]), np.int64) if mask is None else np.asarray(mask)
    positions = np.maximum(np.cumsum(mask, axis=1) - 1, 0)[:, -ids.shape[1] :]
    given: Arrays = {"input_ids": ids, "attention_mask": mask, "position_ids": positions}
    empty = np.zeros((len(ids), CASE.hf["num_key_value_heads"], 0, CASE.hf["head_dim"]), np.float32)
    for layer in range(LAYERS):
        for word in ("key", "value"):
            old = past[f"present.{layer}.{word}"] if past is not None else empty
            given[f"past_key_values.{layer}.{word}"] = old
    names = {value.name for value in package.model.graph.inputs}
    return {name: array for name, array in given.items() if name in names}


# --- padding --------------------------------------------------------------------------------------------
def paused(package: Package) -> np.ndarray:
    """Last logits of a row that rested for one decode step while the other went on."""
    one = run(package, feeds(package, IDS[:, :4]))
    rest = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]])
    two = run(package, feeds(package, IDS[:, 4:5], rest, one))
    mask = np.concatenate([rest, np.ones((BATCH, 1), np.int64)], axis=1)
    return run(package, feeds(package, IDS[:, 5:6], mask, two))["logits"][1, -1]


def test_a_row_that_rests_is_right_where_masks_are_read(generic: Package, anywhere: Package) -> None:
    alone = run(generic, feeds(generic, IDS[1:, [0, 1, 2, 3, 5]]))["logits"][0, -1]
    for package in (generic, anywhere):
        assert np.abs(paused(package) - alone).max() <= 1e-5


def test_a_row_that_rests_is_refused_where_lengths_count(fused: Package) -> None:
    with pytest.raises(
        FeedsError, match="row 1 has padding among the new tokens of a step over a cache.*padding='any'"
    ):
        paused(fused)


@pytest.mark.parametrize("new", [[1, 1, 1, 0], [0, 1, 1, 1], [1, 0, 1, 1]])
def test_padding_in_a_later_chunk(generic: Package, fused: Package, anywhere: Package, new: list[int]) -> None:
    mask = np.array([[1, 1, 1, 1, *new]])

    def later(package: Package) -> np.ndarray:
        first = run(package, feeds(package, IDS[:1, :4]))
        return run(package, feeds(package, IDS[:1, 4:], mask, first))["logits"][0][np.array(new, bool)]

    real = IDS[:1][:, mask[0].astype(bool)]
    alone = run(generic, feeds(generic, real))["logits"][0, 4:]
    assert np.abs(later(generic) - alone).max() <= 1e-5
    assert np.abs(later(anywhere) - alone).max() <= 1e-5
    with pytest.raises(FeedsError, match="padding among the new tokens"):
        later(fused)


@pytest.mark.parametrize("value", [2, -1, 255])
def test_a_mask_of_other_numbers(generic: Package, fused: Package, value: int) -> None:
    mask = np.ones_like(IDS)
    mask[0, 0] = value
    for package in (generic, fused):
        with pytest.raises(FeedsError, match=f"attention_mask holds {value}; it must hold 1 for a real token and 0"):
            run(package, {**feeds(package), "attention_mask": mask})


# --- tokens and positions -------------------------------------------------------------------------------
@pytest.mark.parametrize("token", [-1, -100, CASE.hf["vocab_size"], 10**9])
def test_ids_that_are_no_token(comparison: Comparison, generic: Package, token: int) -> None:
    """ONNX counts a negative index from the end: without the check -1 would be the last token, silently."""
    ids = IDS.copy()
    ids[1, 2] = token
    words = f"input_ids holds {token}; tokens of this model are 0 to 95"
    for package in comparison.values():
        with pytest.raises(FeedsError, match=words):
            run(package, feeds(package, ids))
    with pytest.raises(FeedsError, match=words):
        comparison.parity(feeds=feeds(generic, ids))


def test_ids_of_a_vocabulary_that_nobody_knows() -> None:
    check_prompt(np.array([[0, 2**40]]), None)
    with pytest.raises(FeedsError, match="The prompt holds -3; tokens of this model are 0 or more. Give ids of"):
        check_prompt(np.array([[5, -3]]), None)
    with pytest.raises(FeedsError, match="row 2 has no tokens; give a longer one"):
        check_prompt(np.array([], np.int64), 96, "row 2")


def test_more_slots_than_positions(comparison: Comparison, generic: Package) -> None:
    ids = np.full((1, POSITIONS + 1), 5)
    words = r"25 positions are needed, and the model has 24 \(max_position_embeddings\)\. Shorten"
    for package in comparison.values():
        with pytest.raises(FeedsError, match=words):
            run(package, feeds(package, ids))
        run(package, feeds(package, ids[:, 1:]))
    with pytest.raises(FeedsError, match=words):
        comparison.parity(feeds=feeds(generic, ids))


def test_padding_takes_no_position_in_the_generic_graph(generic: Package) -> None:
    mask = np.ones((1, POSITIONS + 4), np.int64)
    mask[0, :4] = 0
    first = run(generic, feeds(generic, np.full((1, 8), 5), mask[:, :8]))
    second = run(generic, feeds(generic, np.full((1, POSITIONS - 4), 5), mask, first))
    assert np.isfinite(second["logits"]).all()


def test_seeded_tokens_need_positions_too(folder: Path) -> None:
    short = build(folder).config
    assert short is not None
    with pytest.raises(FeedsError, match=r"23 positions are needed \(a prompt of 20 tokens and 3 new ones\)"):
        check_positions(type("Config", (), {"rope": short.rope, "max_position_embeddings": 22}), 23, prompt=20)
    check_positions(None, 10**9)
    check_tokens(None, IDS - 100)


def test_a_pad_token_outside_the_vocabulary_is_not_used(tmp_path: Path) -> None:
    for number, pad in enumerate((-1, CASE.hf["vocab_size"])):
        case = Case("pad", {**CASE.hf, "pad_token_id": pad}, 5)
        assert compare(write_model(tmp_path / str(number), case), execution_providers=["cpu"]).parity().verdict == "ok"


# --- arrays ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"input_ids": IDS.astype(np.int32)}, r"input_ids is int32 \[2, 8\]; the graph takes int64 \[batch_size, seq"),
        ({"input_ids": IDS[0]}, r"input_ids is int64 \[8\]; the graph takes"),
        ({"input_ids": IDS.astype(str)}, "input_ids is <U.*the graph takes int64"),
        ({"input_ids": [[1], [1, 2]]}, "input_ids is no array: .*Give numbers in rows of one length"),
        ({"input_ids": None}, "input_ids is no array: found NoneType None"),
        ({"attention_mask": np.ones(IDS.shape, bool)}, "attention_mask is bool"),
        ({"past_key_values.0.key": np.zeros((2, 3, 0, 16), np.float32)}, r"\[2, 3, 0, 16\]; the graph takes float32"),
        ({"past_key_values.0.key": np.zeros((2, 2, 0, 16), np.float16)}, "is float16"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_arrays_that_do_not_fit(fused: Package, change: dict[str, Any], words: str) -> None:
    with pytest.raises(FeedsError, match=words):
        run(fused, {**feeds(fused), **change})


@pytest.mark.parametrize("given", [None, [1], 5, {1: IDS}], ids=repr)
def test_feeds_that_are_none(fused: Package, comparison: Comparison, given: Any) -> None:
    with pytest.raises(FeedsError, match="feeds must map input names to arrays; found"):
        run(fused, given)
    if given is not None:
        with pytest.raises(FeedsError, match="feeds must map input names to arrays"):
            comparison.parity(feeds=given)


@pytest.mark.parametrize(
    ("array", "declared"),
    [
        (IDS.astype(np.int32), "tensor(int64)"),
        (IDS, "tensor(int32)"),
        (IDS > 3, "tensor(int64)"),
        (np.float32([0.5, 1e-3]), "tensor(float16)"),
        (np.array([2**40]), "tensor(unknown)"),
    ],
)
def test_exact_casts(array: np.ndarray, declared: str) -> None:
    np.testing.assert_allclose(cast_exactly("x", array, declared), array, rtol=1e-3)


@pytest.mark.parametrize(
    ("array", "declared", "words"),
    [
        (np.array([1.5]), "tensor(int64)", r"x holds float64 \(.*1.5.*\); the graph takes int64"),
        (np.array(["5"]), "tensor(int64)", "x holds <U1"),
        (np.array([0, 2**40]), "tensor(int32)", r"x holds int64 \(.*1099511627776.*\); the graph takes int32"),
        (np.float32([1e30]), "tensor(float16)", r"x holds float32 \(.*1e\+30.*\); the graph takes float16"),
    ],
)
def test_casts_that_would_lose_something(array: np.ndarray, declared: str, words: str) -> None:
    with pytest.raises(FeedsError, match=words):
        cast_exactly("x", array, declared)


def test_only_what_is_declared_is_checked() -> None:
    declared = type("Declared", (), {"type": "tensor(bfloat16)", "shape": [None, "N"]})
    check_arrays({"x": declared()}, as_arrays({"x": IDS}))
    with pytest.raises(FeedsError, match=r"x is int64 \[8\]; the graph takes tensor\(bfloat16\) \[\?, N\]"):
        check_arrays({"x": declared()}, as_arrays({"x": IDS[0]}))


# --- arguments of other types ---------------------------------------------------------------------------
@pytest.mark.parametrize("package", [None, "x", 5])
def test_something_that_is_no_package(package: Any) -> None:
    with pytest.raises(ArgumentError, match="package must be a Package; found"):
        run(package, {})
    with pytest.raises(ArgumentError, match="package must be a Package; found"):
        generate(package, "x")


def test_arguments_of_generate(fused: Package) -> None:
    for number in (1.5, "a", None, True):
        with pytest.raises(ArgumentError, match="max_new_tokens must be a whole number; found"):
            generate(fused, "x", max_new_tokens=number)


@pytest.mark.parametrize("prompts", [5, b"x", [5], [None], {"a": 1}, object()])
def test_prompts_that_are_no_text(comparison: Comparison, prompts: Any) -> None:
    with pytest.raises(ArgumentError, match="prompts must be a text or a list of texts; found"):
        comparison.parity(prompts)


def test_prompts_are_given_or_not(comparison: Comparison, generic: Package) -> None:
    with pytest.raises(FeedsError, match="prompts is empty; give at least one"):
        comparison.parity([])
    with pytest.raises(FeedsError, match="Both prompts and feeds are given"):
        comparison.parity("x", feeds=feeds(generic))


@pytest.mark.parametrize("seed", ["a", -1, 1.5, None, True])
def test_a_seed_is_a_number(comparison: Comparison, seed: Any) -> None:
    with pytest.raises(ArgumentError, match="seed must be a whole number, 0 or more; found"):
        comparison.parity(seed=seed)


@pytest.mark.parametrize("settings", ["a", 5, {}])
def test_settings(comparison: Comparison, fused: Package, settings: Any) -> None:
    with pytest.raises(ArgumentError, match="settings must be a SessionSettings; found"):
        comparison.parity(settings=settings)
    with pytest.raises(ArgumentError, match="settings must be a SessionSettings; found"):
        OrtCpuSession(fused.model, settings)
    with pytest.raises(ArgumentError, match="model must be an onnx_ir.Model; found .*package.model"):
        OrtCpuSession(fused)


@pytest.mark.parametrize("words", [{"threads": -1}, {"threads": "x"}, {"threads": 1.5}, {"prepacking": "no"}], ids=repr)
def test_fields_of_settings(words: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match=f"{next(iter(words))} must be"):
        SessionSettings(**words)


# --- graphs that do not run -----------------------------------------------------------------------------
def test_what_did_not_run_is_said_beside_the_verdict(comparison: Comparison, generic: Package) -> None:
    """The CPU kernel takes several new tokens over a cache for one row only."""
    first = run(generic, feeds(generic, IDS[:, :4]))
    report = comparison.parity(feeds=feeds(generic, IDS[:, 4:], None, first))
    assert (report.verdict, report.conclusion) == ("ok", "ok; not run: cpu")
    (row,) = (row for row in report.rows if row.verdict == "not run")
    assert row.reason.startswith("its graph does not run on CPU kernels: ONNX Runtime could not run the graph")
    assert "ok; not run: cpu" in repr(report) and "ok; not run: cpu" in report._repr_html_()

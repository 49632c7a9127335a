"""A cache of fixed length, logits of the last token: the numbers of the growing form, and the client runs them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from tests.golden_ops import SIZES
from tests.unit.export.folders import change_config, drop_ends, genai, set_in, source
from workbench.build import build
from workbench.ep import execution_providers, get_ep
from workbench.errors import ArgumentError, FeedsError, UnsupportedError
from workbench.export import export, lint
from workbench.functions import FIXED_CACHE_ATTENTION
from workbench.package import Package
from workbench.runtime.client_parity import client_parity
from workbench.runtime.genai import GenaiClient
from workbench.runtime.ort_cpu import OrtCpuSession
from workbench.runtime.tokens import TokenRunner, next_step, right_padded
from workbench.types import MS_DOMAIN

SLOTS = 64
ROWS = [[int(t) for t in np.random.default_rng(n).integers(3, 96, n)] for n in (40, 23)]
MORE = ([5, 6], [7, 8], [9, 10])
FUSED = {"cpu", "webgpu"}
"""Providers with GroupQueryAttention in float32."""


@functools.cache
def made(ep: str, windowed: bool = False, padding: str = "right", **variant: Any) -> Package:
    return build(source(windowed), execution_provider=ep, dtype="float32", padding=padding, **variant)


@functools.cache
def steps(package: Package) -> list[np.ndarray]:
    """Logits of a right-padded batch, and of three tokens after it."""
    with OrtCpuSession(package.model) as session:
        runner, step = TokenRunner(session, package.padding), right_padded(ROWS)
        found = [runner.run(step)]
        for tokens in MORE:
            step = next_step(step, np.array(tokens))
            found.append(runner.run(step))
    return found


def real(logits: np.ndarray) -> list[np.ndarray]:
    return [logits[row, : len(ids)] for row, ids in enumerate(ROWS)] if logits.shape[1] > 1 else [logits]


@pytest.mark.parametrize("windowed", [False, True])
@pytest.mark.parametrize("padding", ["right", "any"])
@pytest.mark.parametrize("ep", ["default", "cpu", "webgpu", "onnx-standard"])
def test_a_fixed_cache_gives_the_same_numbers(ep: str, padding: str, windowed: bool) -> None:
    growing = made(ep, windowed, padding)
    fixed = made(ep, windowed, padding, cache_length=SLOTS)
    for expected, found in zip(steps(growing), steps(fixed), strict=True):
        for a, b in zip(real(expected), real(found), strict=True):
            np.testing.assert_allclose(b, a, atol=1e-5)
    assert fixed.padding == growing.padding


def test_generic_graphs_agree_too() -> None:
    for package in (made("default"), made("default", cache_length=SLOTS)):
        assert package.generic["model"].graph is not package.model.graph
    assert {node.op_type for node in made("default", cache_length=SLOTS).generic["model"].graph} >= {
        FIXED_CACHE_ATTENTION.op_type
    }


@pytest.mark.parametrize("ep", ["default", "cpu", "webgpu", "onnx-standard"])
def test_past_and_present_have_the_fixed_length(ep: str) -> None:
    graph = made(ep, cache_length=SLOTS).model.graph
    ends = [value for value in (*graph.inputs, *graph.outputs) if (value.name or "").endswith(".key")]
    assert len(ends) == 6 and {value.shape[2] for value in ends if value.shape is not None} == {SLOTS}
    kinds = {(node.domain, node.op_type) for node in graph}
    assert ((MS_DOMAIN, "GroupQueryAttention") in kinds) is (ep in FUSED)
    if ep == "onnx-standard":
        assert ("", "TensorScatter") in kinds and {domain for domain, _ in kinds} == {""}


@pytest.mark.parametrize("ep", execution_providers())
def test_last_token_logits(ep: str) -> None:
    whole, last = steps(made(ep)), steps(made(ep, last_token_logits=True))
    assert {logits.shape for logits in last} == {(2, 1, 96)}
    for row, ids in enumerate(ROWS):  # the shorter row ends in padding, which is not what is looked at
        np.testing.assert_allclose(last[0][row, 0], whole[0][row, len(ids) - 1], atol=1e-5)
    for expected, found in zip(whole[1:], last[1:], strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_last_token_logits_of_rows_padded_on_the_left() -> None:
    from tests.parity.running import PAD
    from workbench.runtime.tokens import TokenStep

    short = ROWS[1]
    ids = np.array([[PAD] * 9 + short])
    mask = np.array([[0] * 9 + [1] * len(short)])
    with OrtCpuSession(made("default", last_token_logits=True).model) as session:
        found = TokenRunner(session, "any").run(TokenStep(ids, mask))
    np.testing.assert_allclose(found[0, 0], steps(made("default"))[0][1, len(short) - 1], atol=1e-5)


def test_webgpu_gets_no_shape_from_either() -> None:
    for package in (made("webgpu", cache_length=SLOTS), made("webgpu", last_token_logits=True)):
        assert "Shape" not in {node.op_type for node in package.model.graph} and package.diagnostics == ()


# --- refusals -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("ep", ["cuda", "dml", "trt-rtx"])
def test_no_kernel_for_a_fixed_cache(ep: str) -> None:
    """Without GroupQueryAttention (float32 there) TensorScatter is needed, and nobody has seen it on them."""
    with pytest.raises(UnsupportedError, match=f"{ep!r} has no kernel in float32 for TensorScatter"):
        made(ep, cache_length=SLOTS)
    half = build(source(), execution_provider=ep, cache_length=SLOTS)
    assert half.dtype == get_ep(ep).default_dtype == ir.DataType.FLOAT16


def test_wrong_lengths() -> None:
    for length, kind in (("64", ArgumentError), (True, ArgumentError), (0, UnsupportedError), (129, UnsupportedError)):
        with pytest.raises(kind, match="cache_length"):
            made("cpu", cache_length=length)
    with pytest.raises(ArgumentError, match="last_token_logits must be True or False"):
        made("cpu", last_token_logits="yes")
    with pytest.raises(UnsupportedError, match="for text generators"):
        build({"model_type": "bert", **SIZES}, load_weights=False, last_token_logits=True)


def test_more_slots_than_there_are() -> None:
    with OrtCpuSession(made("cpu", cache_length=32).model) as session:
        with pytest.raises(FeedsError, match="40 slots are needed, and the cache of this graph has 32"):
            TokenRunner(session, "right").run(right_padded(ROWS[:1]))


# --- through the client -------------------------------------------------------------------------------------------
@genai
@pytest.mark.parametrize("ep", ["default", "cpu", "webgpu", "onnx-standard"])
def test_the_client_runs_a_fixed_cache(ep: str, tmp_path: Path) -> None:
    report = export(made(ep, cache_length=SLOTS), tmp_path / "x", progress=False)
    assert report.config["model"]["context_length"] == SLOTS == report.config["search"]["max_length"]
    assert report.config["search"]["past_present_share_buffer"] is True
    assert lint(tmp_path / "x").findings == ()
    assert client_parity(tmp_path / "x", ROWS[0]).verdict == "ok"
    export(made(ep), tmp_path / "y", progress=False)
    answers = []
    for name in ("x", "y"):
        client = GenaiClient(change_config(tmp_path / name, drop_ends))
        answers.append(list(client.tokens(ROWS[0], 24, {"do_sample": False})))  # to the last slot
    assert len(answers[0]) == 24 and answers[0] == answers[1]


@genai
@pytest.mark.parametrize("ep", ["default", "cpu", "webgpu", "onnx-standard"])
def test_the_client_runs_last_token_logits(ep: str, tmp_path: Path) -> None:
    export(made(ep, last_token_logits=True), tmp_path / "x", progress=False)
    export(made(ep), tmp_path / "y", progress=False)
    assert lint(tmp_path / "x").findings == ()
    found, whole = (GenaiClient(tmp_path / name).logits(ROWS[0], decode=[5]) for name in ("x", "y"))
    assert found[0]["logits"].shape == (1, 96)
    for a, b in zip(found, whole, strict=True):
        np.testing.assert_allclose(a["logits"][-1], b["logits"][-1], atol=1e-5)


def test_a_context_longer_than_the_cache_is_found(tmp_path: Path) -> None:
    export(made("cpu", cache_length=SLOTS), tmp_path / "x", progress=False)
    report = lint(change_config(tmp_path / "x", set_in("model.context_length", 128)))
    assert report.codes == ("genai.context-length",) and "64 slots" in report.findings[0].message

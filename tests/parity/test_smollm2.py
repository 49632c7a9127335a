"""One real model, side by side: counts from its config, logits against Hugging Face, and a capital."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace

import numpy as np
import onnx_ir as ir
import pytest

from tests import make_goldens
from tests.make_goldens import SMOLLM2, SMOLLM2_DECODE, SMOLLM2_GOLDEN, SMOLLM2_ROW, SMOLLM2_STEP
from tests.parity.real import skipped_without_weights
from tests.parity.running import RowLogits, alone
from workbench import Comparison, ParityReport, compare, execution_providers, generate
from workbench.parity import run_parity
from workbench.runtime.ort_cpu import OrtCpuSession
from workbench.types import MS_DOMAIN

pytestmark = pytest.mark.weights
PROMPT = "The capital of France is"
HUGGING_FACE = 2e-4
"""What logits of up to 30 may differ from Hugging Face's in float32."""


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    with skipped_without_weights():
        return compare(SMOLLM2, execution_providers=execution_providers())


@pytest.fixture(scope="module")
def layers(comparison: Comparison) -> int:
    config = comparison["cpu"].config
    assert config is not None
    return config.num_hidden_layers


def ops(comparison: Comparison, name: str) -> Counter[tuple[str, str]]:
    return Counter((node.domain, node.op_type) for node in comparison[name].model.graph)


# --- graphs ---------------------------------------------------------------------------------------------
def test_seven_providers_in_their_dtypes(comparison: Comparison) -> None:
    assert {name: package.report.dtype for name, package in comparison.items()} == {
        "default": "float32", "cpu": "float32", "cuda": "float16", "dml": "float16", "webgpu": "float16",
        "trt-rtx": "float16", "onnx-standard": "float32",
    }  # fmt: skip
    assert all(package.diagnostics == () for package in comparison.values())


@pytest.mark.parametrize("name", ["cpu", "cuda", "dml", "webgpu"])
def test_attention_and_norms_are_fused_in_every_layer(name: str, comparison: Comparison, layers: int) -> None:
    found = ops(comparison, name)
    assert found[MS_DOMAIN, "GroupQueryAttention"] == layers
    assert found["", "Attention"] == 0
    assert found[MS_DOMAIN, "SkipSimplifiedLayerNormalization"] == 2 * layers


def test_dml_rotates_outside_and_projects_apart(comparison: Comparison, layers: int) -> None:
    found = ops(comparison, "dml")
    assert found[MS_DOMAIN, "RotaryEmbedding"] == 2 * layers
    assert found["", "RotaryEmbedding"] == 0
    assert found["", "MatMul"] == 7 * layers + 1  # q, k, v, o, gate, up, down, and the head
    assert not {rule for rule, _ in comparison["dml"].report.planned} & {"fuse/pack_qkv"}
    for node in comparison["dml"].model.graph:
        if node.op_type == "GroupQueryAttention":
            assert all(value is not None for value in node.inputs[:3])
            assert "do_rotary" not in node.attributes


def test_trt_rtx_has_fused_attention_and_norms_in_primitives(comparison: Comparison, layers: int) -> None:
    found = ops(comparison, "trt-rtx")
    assert found[MS_DOMAIN, "GroupQueryAttention"] == layers
    assert found["", "ReduceMean"] == 2 * layers + 1
    assert not {op for _, op in found} & {
        "SkipSimplifiedLayerNormalization", "SkipLayerNormalization", "SimplifiedLayerNormalization", "RMSNormalization"
    }  # fmt: skip


@pytest.mark.parametrize("name", ["cpu", "cuda", "webgpu", "trt-rtx"])
def test_rope_and_projections_are_taken_in(name: str, comparison: Comparison, layers: int) -> None:
    found = ops(comparison, name)
    assert found["", "RotaryEmbedding"] == found[MS_DOMAIN, "RotaryEmbedding"] == 0
    assert found["", "MatMul"] == 5 * layers + 1  # qkv, o, gate, up, down, and the head
    assert comparison[name].report.dropped_inputs == ("position_ids",)


def test_webgpu_has_no_shape_and_no_int64_input(comparison: Comparison) -> None:
    model = comparison["webgpu"].model
    assert "Shape" not in {node.op_type for node in ir.traversal.RecursiveGraphIterator(model.graph)}
    assert ir.DataType.INT64 not in {value.dtype for value in model.graph.inputs}


def test_onnx_standard_has_nothing_of_microsofts(comparison: Comparison, layers: int) -> None:
    model = comparison["onnx-standard"].model
    assert {node.domain for node in model.graph} == {""}
    assert set(model.graph.opset_imports) == {""}
    assert not model.functions
    assert ops(comparison, "onnx-standard")["", "Attention"] == layers


def test_tables_say_the_same(comparison: Comparison, layers: int) -> None:
    table = comparison.fusions()
    for name in ("cpu", "cuda", "dml", "webgpu"):
        gqa, norm = table.row(name, "fuse/gqa"), table.row(name, "fuse/skip_rms_norm")
        assert gqa and norm
        assert (gqa.candidates, gqa.applied, norm.candidates, norm.applied) == (layers, layers, 2 * layers, 2 * layers)
        assert comparison.ops().count(name, "GroupQueryAttention") == layers
    assert table.row("onnx-standard", "fuse/gqa") is None
    assert comparison.ops().count("generic", "Attention") == layers
    assert comparison.misses().rows == ()


# --- numbers --------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def generic(comparison: Comparison) -> RowLogits:
    """The generic graph in float32: logits of the prompt, and of three tokens after it."""
    with OrtCpuSession(comparison.generic) as session:
        return alone(session, [SMOLLM2_ROW], [SMOLLM2_DECODE])[0]


def test_the_prompt_is_that_of_the_golden(comparison: Comparison) -> None:
    record = json.loads(SMOLLM2_GOLDEN.with_suffix(".json").read_text("utf-8"))
    assert comparison["cpu"].encode(PROMPT) == record["row"] == SMOLLM2_ROW
    assert (record["decode"], record["step"]) == (SMOLLM2_DECODE, SMOLLM2_STEP)
    assert comparison["cpu"].decode(SMOLLM2_DECODE) == " Paris.\n"


def test_generic_equals_the_golden(generic: RowLogits) -> None:
    expected = make_goldens.smollm2_golden()
    assert expected["prefill"].size + expected["decode"].size >= 300
    for found, golden in zip(generic, (expected["prefill"], expected["decode"]), strict=True):
        assert np.abs(found[:, ::SMOLLM2_STEP] - golden).max() <= HUGGING_FACE


@pytest.mark.torch
def test_generic_equals_hugging_face_here(generic: RowLogits) -> None:
    """All 49,152 logits of every position."""
    expected = make_goldens.smollm2_logits()
    assert np.abs(generic[0] - expected["prefill"]).max() <= HUGGING_FACE
    assert np.abs(generic[1] - expected["decode"]).max() <= HUGGING_FACE


@pytest.fixture(scope="module")
def parity(comparison: Comparison) -> Iterator[ParityReport]:
    yield comparison.parity(PROMPT)


def test_parity_is_ok(parity: ParityReport) -> None:
    assert parity.verdict == "ok"
    names = execution_providers()
    assert {group.execution_provider: group.verdict for group in parity.overall()} == dict.fromkeys(names, "ok")
    labels = {(row.execution_provider, row.label) for row in parity.rows}
    assert labels == {(name, "ep-kernels" if name == "cpu" else "graph-on-cpu") for name in names}


def test_parity_covers_every_way_of_calling(parity: ParityReport) -> None:
    tokens, decode = len(SMOLLM2_ROW), 3
    rows = [(row.case, row.row, row.position) for row in parity.rows if row.execution_provider == "cpu"]
    assert len(rows) == len(set(rows))
    by_case = Counter(case for case, _, _ in rows)
    assert by_case == {"prefill": tokens, "right-padded": tokens + tokens - 3, "decode": 2 * decode}
    assert all(row.top1 for row in parity.rows if row.dtype == "float32")
    half = [row for row in parity.rows if row.dtype == "float16"]
    assert all(0 < row.floor and row.max_abs <= row.tolerance.atol for row in half)


def test_drawn_tokens_are_ok_or_said_to_be_ill_conditioned(comparison: Comparison) -> None:
    """One of the drawn tokens is ill-conditioned: the generic graph is off from itself as far as cpu's is from it."""
    compared = SimpleNamespace(generic=comparison.generic, packages={"cpu": comparison["cpu"]})
    found = run_parity(compared, (), None, seed=0, settings=None)
    assert found.verdict in ("ok", "ill-conditioned")
    beyond = [row for row in found.rows if row.verdict != "ok"]
    assert len(beyond) <= 3 and all(row.floor > 0 and "differs from itself" in row.reason for row in beyond)


@pytest.mark.parametrize("name", execution_providers())
def test_the_capital_of_france(name: str, comparison: Comparison) -> None:
    assert generate(comparison[name], PROMPT, max_new_tokens=4).strip().startswith("Paris")

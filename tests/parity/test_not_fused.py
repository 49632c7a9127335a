"""Two llamas that only look like ones with a fused kernel: every layer is missed aloud, and the numbers hold."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from tests.cases import CASES
from tests.modules import AlibiLlama, NormAfterRopeLlama, filled
from tests.parity.running import RowLogits, alone, batch, distance, run
from workbench import CausalLM, Package, build_from_module
from workbench.analysis.misses import miss_table
from workbench.models import lookup
from workbench.runtime.ort_cpu import OrtCpuSession

BOUND = 1e-5
CASE = CASES["gqa"]
CONFIG = lookup("llama").config(CASE.hf)
LAYERS = CONFIG.num_hidden_layers
MODULES = {"alibi": AlibiLlama, "norm after RoPE": NormAfterRopeLlama}
REASONS = {
    "alibi": "attn_mask is a float bias added to the scores (made by Where), as in ALiBi or relative positions; "
    "GroupQueryAttention's causal mask would drop it",
    "norm after RoPE": "query is normalised after RoPE (RMSNormalization between RotaryEmbedding and Attention): "
    "QK-norm after RoPE",
}


def _build(module: type[CausalLM], name: str, dtype: str) -> Package:
    return build_from_module(filled(module, CASE.seed), CONFIG, execution_provider=name, dtype=dtype)


def _expected(package: Package) -> list[RowLogits]:
    with OrtCpuSession(package.generic["model"]) as session:
        return alone(session, CASE.rows, CASE.decode)


FUSING = [("cpu", "float32"), ("cpu", "float16"), ("webgpu", "float32"), ("webgpu", "float16"), ("dml", "float16")]
"""Where a plan has fuse/gqa."""


@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize(("name", "dtype"), FUSING)
def test_every_layer_is_missed_with_the_reason(kind: str, name: str, dtype: str) -> None:
    package = _build(MODULES[kind], name, dtype)
    rows = [row for row in miss_table({name: package.report}).rows if row.rule == "fuse/gqa"]
    assert [(row.execution_provider, row.scope, row.kind, row.reason) for row in rows] == [
        (name, f"model.layers.{layer}.self_attn", "precondition", REASONS[kind]) for layer in range(LAYERS)
    ]
    assert not [node for node in package.model.graph if node.op_type == "GroupQueryAttention"]
    attentions = sum(node.op_type == "Attention" for node in package.model.graph)
    assert attentions == (LAYERS if name == "cpu" else 0)  # dml and webgpu have no kernel: spelled out
    generic = {node.name for node in package.generic["model"].graph}
    assert {row.node for row in rows} <= generic


@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize("name", ["default", "onnx-standard", "cpu", "webgpu", "dml"])
def test_numbers_equal_generic(kind: str, name: str) -> None:
    package = _build(MODULES[kind], name, "float32")
    expected = _expected(package)
    found = run(package.model, CASE.rows, CASE.decode, package.padding)
    assert distance(found["alone"], expected) <= BOUND
    assert distance(found["right"], expected) <= BOUND


@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize("name", ["cpu", "webgpu", "dml"])
def test_float16_is_as_good_as_float16_can_be(kind: str, name: str) -> None:
    package = _build(MODULES[kind], name, "float16")
    expected = _expected(_build(MODULES[kind], "default", "float32"))
    floor = distance(_expected(package), expected)
    assert 0 < floor < 0.1
    found = run(package.model, CASE.rows, CASE.decode, package.padding)
    assert max(distance(logits, expected) for logits in found.values()) <= 2 * floor


@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize("name", ["cpu", "webgpu", "dml"])
def test_without_the_fused_attention_any_padding_is_right(kind: str, name: str) -> None:
    """No lengths are counted, so the contract is ``any`` although ``right`` was asked for."""
    package = _build(MODULES[kind], name, "float32")
    assert package.padding == "any"
    with OrtCpuSession(package.model) as session:
        found = batch(session, CASE.rows, CASE.decode, "left", package.padding)
    assert distance(found, _expected(package)) <= BOUND


def test_the_difference_is_no_small_thing() -> None:
    """A fusion that dropped the bias, or moved the norm, would be wrong by whole units."""
    plain = _expected(_build(CausalLM, "default", "float32"))
    for module in MODULES.values():
        assert distance(_expected(_build(module, "default", "float32")), plain) > 0.5


def test_the_bias_is_that_of_the_formula() -> None:
    """Slope x distance, by hand, on the first layer's mask."""
    package = _build(AlibiLlama, "onnx-standard", "float32")
    model = package.generic["model"].clone()
    masked = next(node for node in model.graph if node.op_type == "Where").outputs[0]
    masked.name = "bias"
    model.graph.outputs.append(masked)
    row = CASE.rows[0][:5]
    feeds = {
        "input_ids": np.array([row]),
        "attention_mask": np.ones((1, 5), np.int64),
        "position_ids": np.arange(5)[None],
    }
    cache = np.zeros((1, CONFIG.num_key_value_heads, 0, CONFIG.head_dim), np.float32)
    feeds |= {f"past_key_values.{i}.{word}": cache for i in range(LAYERS) for word in ("key", "value")}
    with OrtCpuSession(model) as session:
        found = session.run(feeds, ["bias"])["bias"]
    distances = np.arange(5)[:, None] - np.arange(5)
    slopes = 0.5 ** (1 + np.arange(CONFIG.num_attention_heads))
    expected = np.where(distances < 0, -1e9, -slopes[:, None, None] * distances)[None]
    assert isinstance(masked, ir.Value)
    assert np.array_equal(found, expected.astype(np.float32))

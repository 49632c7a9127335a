"""Operator tables: equal to the committed ones, and their main counts equal to formulas of config and facts."""

from __future__ import annotations

import functools

import onnx_ir as ir
import pytest

from tests.golden_ops import Table, committed, differences, table, words
from workbench.config.model_config import ModelConfig
from workbench.ep import ExecutionProvider, get_ep
from workbench.ep.base import (
    ATTENTION,
    GELU,
    GQA,
    LAYER_NORM,
    MOE,
    MS_ROTARY,
    RMS_NORM,
    ROTARY,
    SKIP_LAYER_NORM,
    SKIP_RMS_NORM,
)
from workbench.models import SPECS, lookup
from workbench.types import FLOAT_DTYPES, OpId

FAMILIES = [spec.model_type for spec in SPECS]
DECODERS = [spec.model_type for spec in SPECS if spec.task == "text-generation"]
TABLE_MULTIPLE = 8  # GroupQueryAttention wants RoPE tables of such a width
PRE_FIRST_SUM = ("learned",)  # token and position embeddings are a sum that the first norm takes


@functools.cache
def _table(model_type: str) -> Table:
    return table(lookup(model_type))


@pytest.mark.parametrize("model_type", FAMILIES)
def test_tables_are_those_on_record(model_type: str) -> None:
    changed = list(differences(committed(lookup(model_type)), _table(model_type)))
    assert changed == [], "python -m tests.golden_ops --write --reason '...'"


@pytest.mark.parametrize("model_type", DECODERS)
def test_main_counts_follow_from_config_and_facts(model_type: str) -> None:
    config = lookup(model_type).read(words(lookup(model_type)))
    assert isinstance(config, ModelConfig)
    for name, by_dtype in _table(model_type).items():
        for word, found in by_dtype.items():
            expected = _expected(config, get_ep(name), FLOAT_DTYPES[word])
            assert {op: found.get(op, 0) for op in expected} == expected, f"{name} {word}"


def _has(ep: ExecutionProvider, use: OpId, dtype: ir.DataType, feature: str) -> bool:
    return ep.runs(OpId(use.op_type, use.domain, feature), dtype)


def _grouped(config: ModelConfig, ep: ExecutionProvider, dtype: ir.DataType, layer: int) -> bool:
    """Whether a layer's attention becomes GroupQueryAttention."""
    if not ep.runs(GQA, dtype) or config.position_embedding == "alibi":
        return False
    caps = not config.attn_logit_softcapping or _has(ep, GQA, dtype, "softcap")
    return caps and (not config.window(layer) or _has(ep, GQA, dtype, "local_window"))


def _rotates_inside(config: ModelConfig, ep: ExecutionProvider, dtype: ir.DataType, layer: int) -> bool:
    rope = config.rope_of(layer)
    if rope is None or not _grouped(config, ep, dtype, layer) or rope.rope_type == "dynamic":
        return False
    return _has(ep, GQA, dtype, "do_rotary") and (config.rotated(rope) // 2) % TABLE_MULTIPLE == 0


def _expected(config: ModelConfig, ep: ExecutionProvider, dtype: ir.DataType) -> dict[str, int]:
    layers = range(config.num_hidden_layers)
    grouped = [i for i in layers if _grouped(config, ep, dtype, i)]
    outside = [i for i in layers if config.rope_of(i) and not _rotates_inside(config, ep, dtype, i)]
    keeps = _keeps_attention(config, ep, dtype)
    lowered = 0 if keeps else len(layers) - len(grouped)
    return {
        str(GQA): len(grouped),
        "Attention": len(layers) - len(grouped) if keeps else 0,
        "Softmax": lowered + (0 if ep.runs(MOE, dtype) else sum(config.has_experts(i) for i in layers)),
        str(MOE): sum(config.has_experts(i) for i in layers) if ep.runs(MOE, dtype) else 0,
        "RotaryEmbedding": 2 * len(outside) if ep.runs(ROTARY, dtype) else 0,
        str(MS_ROTARY): 0 if ep.runs(ROTARY, dtype) else 2 * len(outside),
        "Gather": 1 + (config.position_embedding == "learned"),
        "MatMul": _matmuls(config, ep, dtype, grouped) + 2 * lowered,
    } | _norms(config, ep, dtype)


def _keeps_attention(config: ModelConfig, ep: ExecutionProvider, dtype: ir.DataType) -> bool:
    """Whether the standard's Attention may stay: with a cache, and with a cap where the model has one."""
    wanted = ["cache"] + (["softcap"] if config.attn_logit_softcapping else [])
    return ep.runs(ATTENTION, dtype) and all(_has(ep, ATTENTION, dtype, feature) for feature in wanted)


def _matmuls(config: ModelConfig, ep: ExecutionProvider, dtype: ir.DataType, grouped: list[int]) -> int:
    """Projections: three of query, key and value unless packed, one after; the feed-forward's; the head."""
    total = 1
    for layer in range(config.num_hidden_layers):
        rotates = config.rope_of(layer) is not None
        inside = _rotates_inside(config, ep, dtype, layer) or not rotates
        packs = layer in grouped and inside and config.qk_norm is None and _has(ep, GQA, dtype, "packed_qkv")
        total += (1 if packs else 3) + 1
        experts = config.has_experts(layer)
        total += (1 if ep.runs(MOE, dtype) else 3) if experts else 3 if config.gated_mlp else 2
    return total


def _norms(config: ModelConfig, ep: ExecutionProvider, dtype: ir.DataType) -> dict[str, int]:
    """Norms of residual sums are fused where the provider has the fused form."""
    layers = config.num_hidden_layers
    per_layer = {"pre": 2, "sandwich": 4, "post": 2}[config.norm_placement]
    if config.parallel_residual and config.shared_norm:
        per_layer = 1
    sums = {"pre": 2 * layers, "sandwich": 2 * layers, "post": 1}[config.norm_placement]
    if config.parallel_residual:
        sums = layers
    sums += config.position_embedding in PRE_FIRST_SUM
    rms = config.norm_type == "rms_norm"
    fused_op = SKIP_RMS_NORM if rms else SKIP_LAYER_NORM
    fused = sums if ep.runs(fused_op, dtype) else 0
    plain = per_layer * layers + 1 + config.embedding_norm - fused + _qk_norms(config, ep, dtype, rms)
    name = "RMSNormalization" if rms else "LayerNormalization"
    kept = plain if ep.runs(RMS_NORM if rms else LAYER_NORM, dtype) else 0
    simplified = plain if rms and not kept and ep.runs(OpId("SimplifiedLayerNormalization"), dtype) else 0
    return {str(fused_op): fused, name: kept, "SimplifiedLayerNormalization": simplified, **_gelus(config, ep, dtype)}


def _qk_norms(config: ModelConfig, ep: ExecutionProvider, dtype: ir.DataType, rms: bool) -> int:
    """Norms of query and key that stay outside the attention: the kernel takes one of each head where it rotates."""
    if not config.qk_norm or (config.qk_norm_type == "rms_norm") != rms:
        return 0
    takes = config.qk_norm == "head" and rms and not config.qk_norm_per_head_weight
    takes = takes and ep.runs(GQA, dtype) and _has(ep, GQA, dtype, "qk_norm")
    layers = range(config.num_hidden_layers)
    return 2 * sum(not (takes and _rotates_inside(config, ep, dtype, layer)) for layer in layers)


def _gelus(config: ModelConfig, ep: ExecutionProvider, dtype: ir.DataType) -> dict[str, int]:
    """Every Gelu under whichever name the provider has it."""
    if "gelu" not in config.hidden_act or not ep.runs(GELU, dtype):
        return {}
    biased = config.mlp_bias and not config.gated_mlp
    tanh = config.hidden_act != "gelu"
    op = OpId("FastGelu" if tanh else "BiasGelu", "com.microsoft")
    if biased and ep.runs(op, dtype):
        return {str(op): config.num_hidden_layers, "Gelu": 0}
    return {"Gelu": config.num_hidden_layers}

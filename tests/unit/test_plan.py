"""The plan of each execution provider and dtype, written out by hand from the facts; and that nothing is left over."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import onnx_ir as ir
import pytest

from tests.unit.rules.graphs import config, llama
from workbench import UnsupportedError, execution_providers, get_ep
from workbench.ep.base import ATTENTION, RMS_NORM, ROTARY
from workbench.optimize import run_plan
from workbench.passes.fold import fold
from workbench.rules import RULES
from workbench.rules.base import Rewrite, Rule, Site
from workbench.rules.plan import Plan, plan
from workbench.types import FLOAT_DTYPES, WB_DOMAIN, GraphOptions, OpId, Role, Stage

F32, F16, BF16 = "float32", "float16", "bfloat16"
# What other graphs hold and a provider lacks is written out as what it computes.
GQA_BODY, MS_BODY, QK_NORM = "lower/gqa_to_standard", "lower/ms_to_standard", "lower/separate_qk_norm"
TABLE = "lower/one_rope_table"  # what TensorRT-RTX's kernel does with two tables in one, no other is told to
NORMS = ["fuse/skip_rms_norm", "fuse/skip_layer_norm"]
GELUS = ["fuse/gelu", "fuse/bias_gelu"]
CPU = ["fuse/gqa", "fuse/pack_qkv", *NORMS, *GELUS]
CPU_F32 = ["fuse/gqa", "fuse/pack_qkv", "fuse/moe", *NORMS, *GELUS]
# Softcap is no fact about CUDA's Attention, and float32 none about its GroupQueryAttention.
CUDA = [
    "fuse/gqa (without attention_bias)", "fuse/qk_norm", "fuse/pack_qkv", "fuse/moe", *NORMS, *GELUS, TABLE, QK_NORM,
    GQA_BODY, "lower/attention",
]  # fmt: skip
# DirectML has no Gelu of the standard, so none is made of arithmetic; BiasGelu and its own Gelus it has.
DML_FUSE = [*NORMS, "fuse/bias_gelu"]
DML_LOWER = [
    "lower/attention", "lower/rotary_to_ms", "lower/simplify_rms_norm", "lower/gelu_to_ms", "lower/if_to_where",
]  # fmt: skip
# Its kernel ignores softcap, and no Shape may remain: lengths are counted in the body.
WEBGPU = [
    "fuse/gqa (without softcap)", "fuse/qk_norm", "fuse/pack_qkv", *NORMS, *GELUS,
    TABLE, QK_NORM, f"{GQA_BODY} (without shape)", MS_BODY, "lower/attention", "lower/if_to_where",
    "lower/eliminate_shape",
]  # fmt: skip
TRT_LOWER = [GQA_BODY, MS_BODY, "lower/attention", "lower/skip_norms", "lower/rms_norm", "lower/if_to_where"]
TRT = ["fuse/gqa (without attention_bias)", "fuse/pack_qkv", "fuse/gelu", "lower/split_if", QK_NORM, *TRT_LOWER]
# On graphs from elsewhere: arithmetic to Gelu, operators of other domains to those of the standard.
STANDARD = ["fuse/gelu", TABLE, GQA_BODY, MS_BODY, "lower/skip_norms", "lower/rms_norm"]
REFUSED: list[str] = ["refused"]

DECODER: dict[tuple[str, str], list[str]] = {
    ("cpu", F32): [*CPU_F32, TABLE, QK_NORM],
    ("cpu", F16): [*CPU, TABLE, QK_NORM, MS_BODY],  # MultiHeadAttention of other graphs has a kernel in float32 only
    ("cpu", BF16): REFUSED,
    # In float32 the kernel table and ORT GenAI's practice disagree about GroupQueryAttention: it is not acted on.
    ("cuda", F32): ["fuse/moe", *NORMS, *GELUS, TABLE, GQA_BODY, "lower/attention"],
    ("cuda", F16): CUDA,
    ("cuda", BF16): CUDA,
    ("dml", F32): [*DML_FUSE, TABLE, GQA_BODY, MS_BODY, *DML_LOWER],
    ("dml", F16): [
        "fuse/gqa (without attention_bias, do_rotary)", *DML_FUSE,
        TABLE, "lower/unpack_qkv", QK_NORM, "lower/separate_rope", GQA_BODY, MS_BODY, *DML_LOWER,
    ],
    ("dml", BF16): REFUSED,
    ("webgpu", F32): WEBGPU,
    ("webgpu", F16): WEBGPU,
    ("webgpu", BF16): REFUSED,
    ("trt-rtx", F32): ["fuse/gelu", TABLE, *TRT_LOWER],
    ("trt-rtx", F16): TRT,
    ("trt-rtx", BF16): TRT,
    **{(name, dtype): STANDARD for name in ("default", "onnx-standard") for dtype in (F32, F16, BF16)},
}  # fmt: skip

RUNNABLE = [pair for pair, found in DECODER.items() if found is not REFUSED]


def planned(name: str, dtype: str, role: Role = Role.DECODER) -> Plan:
    return plan(get_ep(name), FLOAT_DTYPES[dtype], role, RULES)


def steps(name: str, dtype: str) -> list[str]:
    try:
        return [str(step) for step in planned(name, dtype).steps]
    except UnsupportedError:
        return REFUSED


def test_the_table() -> None:
    pairs = itertools.product(execution_providers(), FLOAT_DTYPES)
    assert {pair: steps(*pair) for pair in pairs} == DECODER


def test_a_refusal_says_what_is_possible() -> None:
    with pytest.raises(UnsupportedError) as refused:
        planned("webgpu", BF16)
    assert str(refused.value) == (
        "Execution provider 'webgpu' cannot compute in bfloat16: it has no MatMul for it. It computes in float16, "
        "float32; choose one of these with dtype=, or another execution provider."
    )


def test_each_step_has_its_reason() -> None:
    reasons = {step.rule.name: step.because for step in planned("dml", F16).steps}
    assert reasons == {
        "fuse/gqa": "dml runs com.microsoft.GroupQueryAttention in float16",
        "fuse/skip_rms_norm": "dml runs com.microsoft.SkipSimplifiedLayerNormalization in float16",
        "lower/unpack_qkv": "dml does not run com.microsoft.GroupQueryAttention+packed_qkv in float16",
        "lower/separate_rope": "dml does not run com.microsoft.GroupQueryAttention+do_rotary in float16",
        "fuse/skip_layer_norm": "dml runs com.microsoft.SkipLayerNormalization in float16",
        "fuse/bias_gelu": "dml runs com.microsoft.BiasGelu, com.microsoft.FastGelu in float16",
        "lower/gqa_to_standard": "dml does not run com.microsoft.GroupQueryAttention+attention_bias, "
        "com.microsoft.GroupQueryAttention+head_sink, com.microsoft.GroupQueryAttention+smooth_softmax in float16",
        "lower/one_rope_table": "dml does not run com.microsoft.GroupQueryAttention+two_tables in float16",
        "lower/separate_qk_norm": "dml does not run com.microsoft.GroupQueryAttention+packed_qk_norm, "
        "com.microsoft.GroupQueryAttention+qk_norm, com.microsoft.GroupQueryAttention+unrotated_qk_norm in float16",
        "lower/ms_to_standard": "dml does not run com.microsoft.Attention+attention_bias, com.microsoft.MoE in float16",
        "lower/attention": "dml does not run Attention in float16",
        "lower/gelu_to_ms": "dml does not run Gelu in float16",
        "lower/if_to_where": "dml does not run If in float16",
        "lower/rotary_to_ms": "dml does not run RotaryEmbedding in float16",
        "lower/simplify_rms_norm": "dml does not run RMSNormalization in float16",
    }


def test_each_rule_that_is_left_out_has_its_reason() -> None:
    assert dict(planned("dml", F32).skipped) == {
        "fuse/gqa": "dml does not run com.microsoft.GroupQueryAttention in float32",
        "fuse/pack_qkv": "dml does not run com.microsoft.GroupQueryAttention+packed_qkv in float32",
        "lower/unpack_qkv": "dml does not run com.microsoft.GroupQueryAttention in float32",
        "lower/separate_rope": "dml does not run com.microsoft.GroupQueryAttention in float32",
        "lower/split_if": "dml does not run com.microsoft.GroupQueryAttention+two_tables in float32",
        "fuse/qk_norm": "dml does not run com.microsoft.GroupQueryAttention+qk_norm in float32",
        "lower/separate_qk_norm": "dml does not run com.microsoft.GroupQueryAttention in float32",
        "fuse/mha": "not for graphs of the role decoder",
        "fuse/packed_attention": "not for graphs of the role decoder",
        "fuse/moe": "dml does not run com.microsoft.MoE in float32",
        "fuse/gelu": "dml does not run Gelu in float32",
        "lower/skip_norms": "nothing it removes has to go",
        "lower/rms_norm": "nothing it removes has to go",
        "lower/layer_norm": "nothing it removes has to go",
        "lower/eliminate_shape": "nothing it removes has to go",
    }
    assert dict(planned("onnx-standard", F32).skipped)["lower/attention"] == "nothing it removes has to go"


@pytest.mark.parametrize("pair", RUNNABLE)
def test_a_plan_accounts_for_every_rule(pair: tuple[str, str]) -> None:
    found = planned(*pair)
    names = [step.rule.name for step in found.steps] + [name for name, _ in found.skipped]
    assert sorted(names) == sorted(rule.name for rule in RULES)
    stages = [step.rule.stage for step in found.steps]
    assert stages == sorted(stages)
    assert found.inline is (pair[0] != "default")  # only the portable form keeps functions


def test_an_encoder_has_no_cache_to_fuse() -> None:
    found = planned("cpu", F32, Role.ENCODER)
    assert [str(step) for step in found.steps] == [
        "fuse/mha",
        "fuse/packed_attention",
        "fuse/moe",
        *NORMS,
        *GELUS,
        TABLE,
        QK_NORM,
    ]
    assert dict(found.skipped)["fuse/gqa"] == "not for graphs of the role encoder"


def _nothing(site: Site) -> Rewrite:
    raise AssertionError("never run")


def _rule(name: str, stage: Stage, removes: str, produces: str, **more: Any) -> Rule:
    return Rule(
        name, stage, (OpId(removes),), frozenset({OpId(removes)}), frozenset({OpId(produces)}), _nothing, "", **more
    )


@dataclasses.dataclass(frozen=True)
class Toy:
    """A provider that runs what its name says."""

    name: str
    computes: frozenset[ir.DataType] = frozenset({ir.DataType.FLOAT})
    domains: frozenset[str] = frozenset({""})

    def runs(self, use: OpId, dtype: ir.DataType) -> bool:
        return use.op_type in self.name


def test_nothing_is_fused_that_would_have_to_be_lowered() -> None:
    fuse, lower = _rule("fuse/c", Stage.FUSE, "A", "C"), _rule("lower/c", Stage.LOWER, "C", "A")
    runs_a, runs_both = (plan(Toy(n), ir.DataType.FLOAT, Role.DECODER, (lower, fuse)) for n in ("A", "AC"))
    assert [str(step) for step in runs_a.steps] == ["lower/c"]
    assert [str(step) for step in runs_both.steps] == ["fuse/c"]


def test_a_rule_follows_only_what_is_planned() -> None:
    first, second = _rule("fuse/c", Stage.FUSE, "A", "C"), _rule("fuse/d", Stage.FUSE, "C", "A", after=("fuse/c",))
    found = plan(Toy("A"), ir.DataType.FLOAT, Role.DECODER, (first, second))
    assert dict(found.skipped)["fuse/d"] == "it follows fuse/c, which is not planned"


def test_what_one_lowering_removes_needs_no_second() -> None:
    first, second = _rule("lower/x", Stage.LOWER, "C", "A"), _rule("lower/y", Stage.LOWER, "C", "B")
    found = plan(Toy("AB"), ir.DataType.FLOAT, Role.DECODER, (first, second))
    assert ([str(step) for step in found.steps], dict(found.skipped)) == (
        ["lower/x"], {"lower/y": "nothing it removes has to go"},
    )  # fmt: skip


# --- nothing is left to another provider in silence -----------------------------------------------------
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "everything": {
        "attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True, "sliding_window": 4,
        "attn_logit_softcapping": 2.0, "hidden_act": "gelu_pytorch_tanh",
    },
    "mixed layers": {"sliding_window": 4, "layer_types": ("full_attention", "sliding_attention"), "hidden_act": "gelu"},
    "no RoPE": {"rope": None, "hidden_act": "relu"},
}  # fmt: skip


def _emitted(options: GraphOptions) -> set[OpId]:
    """Every operator that a component can emit, bodies of functions included."""
    found: set[OpId] = set()
    for changes in VARIANTS.values():
        model = llama(config(**changes), options=options)
        for graph in (model.graph, *(function.graph for function in model.functions.values())):
            found |= {OpId(node.op_type, node.domain) for node in graph}
    return found


@pytest.mark.parametrize("pair", RUNNABLE)
def test_every_operator_has_a_kernel_or_a_lowering(pair: tuple[str, str]) -> None:
    ep, dtype = get_ep(pair[0]), FLOAT_DTYPES[pair[1]]
    found = planned(*pair)
    lowered = {use for step in found.steps if step.rule.stage is Stage.LOWER for use in step.rule.removes}
    emitted = _emitted(ep.graph_options())
    assert {ATTENTION, ROTARY, RMS_NORM} < emitted
    functions = {use for use in emitted if use.domain == WB_DOMAIN}
    assert len(functions) == 2  # CausalMask and SlidingWindowMask
    left = {use for use in emitted - functions if not ep.runs(use, dtype) and use not in lowered}
    assert left == set()


@pytest.mark.parametrize("name", ["cpu", "cuda", "dml", "webgpu", "trt-rtx"])
def test_operators_that_matter_are_listed_one_by_one(name: str) -> None:
    """An operator that is not listed counts as run: silence must not speak for those that providers often lack."""
    assert {ATTENTION, ROTARY, RMS_NORM} <= set(get_ep(name).kernels)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("pair", RUNNABLE)
@pytest.mark.parametrize("padding", ["right", "any"])
def test_legality_finds_nothing_left(variant: str, pair: tuple[str, str], padding: Any) -> None:
    """Node by node, with the dtypes that the nodes really have."""
    ep, dtype = get_ep(pair[0]), FLOAT_DTYPES[pair[1]]
    model = llama(config(**VARIANTS[variant]), dtype=dtype, options=ep.graph_options())
    made = run_plan(model, plan(ep, dtype, Role.DECODER, RULES, padding), ep, drop_unused_inputs=True)
    assert made.report.diagnostics == ()
    inlined = made.model.clone()
    fold(inlined, inline=True)
    assert {node.domain for node in inlined.graph} <= ep.domains


@pytest.mark.parametrize("dtype", [F32, F16])
def test_webgpu_has_no_shape_and_no_int64_input_of_its_own(dtype: str) -> None:
    ep = get_ep("webgpu")
    for changes in VARIANTS.values():
        model = llama(config(**changes), dtype=FLOAT_DTYPES[dtype], options=ep.graph_options())
        made = run_plan(model, planned("webgpu", dtype), ep, drop_unused_inputs=True).model
        assert "Shape" not in {node.op_type for node in made.graph}
        assert ir.DataType.INT64 not in {value.dtype for value in made.graph.inputs}

"""The branch points as rows: which rule answers each, on which small model it is shown, and which test proves it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

GPU = ("cuda", "dml", "webgpu", "trt-rtx")
FUSED = ("cpu", *GPU)
PORTABLE = ("default", "onnx-standard")
Count = Callable[[Any], int]


@dataclasses.dataclass(frozen=True)
class Shown:
    """A rule on a small model: how often it fires where it is planned, by a formula of the config.

    ``fused_on`` names the provider whose graph it starts from; empty: the generic graph.
    """

    rule: str
    family: str
    formula: str
    count: Count
    providers: tuple[str, ...] = FUSED
    fused_on: str = ""
    more: tuple[tuple[str, Any], ...] = ()


@dataclasses.dataclass(frozen=True)
class Point:
    """One branch point. ``note`` says what is not built, or where a decision stands that is no rule."""

    number: str
    what: str
    test: str
    shown: tuple[Shown, ...] = ()
    note: str = ""


def layers(config: Any) -> int:
    return int(config.num_hidden_layers)


def _of(rule: str, family: str, formula: str, count: Count, *providers: str, fused_on: str = "") -> Shown:
    return Shown(rule, family, formula, count, providers or FUSED, fused_on)


LONG: tuple[tuple[str, Any], ...] = (
    ("original_max_position_embeddings", 8),
    ("rope_parameters", {
        "rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0] * 16, "long_factor": [2.0] * 16,
    }),
)  # fmt: skip
"""Rows of 7 and 13 tokens are on both sides of what the short table is for."""
FOREIGN = "graphs from elsewhere; here one that was fused for cpu"
POINTS = (
    Point(
        "1", "dtype of inputs and outputs", "unit/test_support.py::test_the_default_dtype_is_the_providers",
        note="a fact (default_dtype) and dtype=",
    ),
    Point(
        "2", "dtype of the cache", "unit/test_branch_point_facts.py",
        note="that of the model; a quantized cache is not built",
    ),
    Point(
        "3", "float32 inside attention", "unit/rules/test_gqa.py::test_a_near_miss_is_left_alone_with_the_reason",
        note="softmax_precision is kept or refused",
    ),
    Point(
        "4", "grouped or multi-head attention", "unit/rules/test_gqa.py, unit/rules/test_mha.py",
        (_of("fuse/gqa", "llama", "L", layers), _of("fuse/mha", "bert", "L", layers, "cpu", "cuda", "dml", "webgpu")),
    ),
    Point(
        "5", "packed attention", "unit/rules/test_mha.py",
        (_of("fuse/packed_attention", "bert", "L", layers, "cpu", "cuda", "dml"),),
        "PackedMultiHeadAttention is not built: no family of ours has ragged vision attention",
    ),
    Point(
        "6", "rotation inside the attention or before it", "unit/rules/test_lower_rope.py",
        (_of("lower/separate_rope", "llama", "L", layers, "dml", fused_on="cpu"),), FOREIGN,
    ),
    Point(
        "7", "one projection for query, key and value", "unit/rules/test_pack_qkv.py, unit/rules/test_lower_rope.py",
        (
            _of("fuse/pack_qkv", "llama", "L", layers, "cpu", "cuda", "webgpu", "trt-rtx"),
            _of("lower/unpack_qkv", "llama", "L", layers, "dml", fused_on="cpu"),
        ),
        "quantized weights are not packed",
    ),
    Point(
        "8", "layout of the cache", "unit/test_variants.py::test_past_and_present_have_the_fixed_length",
        note="the exporter derives it from the operators left",
    ),
    Point(
        "9", "form of the mask", "parity/test_execution_providers.py::test_left_padding_is_refused_with_the_reason",
        note="one KeyLengths a graph, made by fuse/gqa",
    ),
    Point(
        "10", "If", "unit/rules/test_if_to_where.py, unit/rules/test_rope_tables.py",
        (Shown("lower/if_to_where", "phi3", "2 tables", lambda _: 2, ("dml", "webgpu", "trt-rtx"), "", LONG),),
    ),
    Point(
        "11", "concrete dimensions", "unit/test_optimize.py::test_graph_capture_fixes_the_dimensions_where_it_exists",
        note="graph_capture=True, where a provider needs it",
    ),
    Point(
        "12", "int32 inputs", "unit/test_plan.py::test_webgpu_has_no_shape_and_no_int64_input_of_its_own",
        note="a fact (index_dtype)",
    ),
    Point(
        "13", "Shape", "unit/rules/test_lower_shape_and_norm.py",
        (_of("lower/eliminate_shape", "llama", "1", lambda _: 1, "webgpu"),),
    ),
    Point(
        "14", "If split in two", "unit/rules/test_if_to_where.py",
        note="both branches are computed and one is chosen; concatenated caches with an offset are not built",
    ),
    Point(
        "15", "no control flow in a captured graph",
        "unit/test_branch_point_facts.py::test_no_control_flow_in_a_captured_graph",
        note="a check of legality",
    ),
    Point("16", "operators of quantized weights", "", note="not built"),
    Point("17", "block sizes", "", note="not built"),
    Point("18", "zero points", "", note="not built"),
    Point("19", "layout of quantized experts", "", note="not built"),
    Point("20", "accuracy level", "", note="not built"),
    Point(
        "21", "norms with a skip input",
        "unit/rules/test_skip_rms_norm.py, unit/rules/test_skip_layer_norm.py, unit/rules/test_lower_norms.py",
        (
            _of("fuse/skip_rms_norm", "llama", "2 L", lambda c: 2 * layers(c), "cpu", "cuda", "dml", "webgpu"),
            _of("fuse/skip_layer_norm", "bert", "2 L + 1", lambda c: 2 * layers(c) + 1, "cpu", "cuda", "dml", "webgpu"),
            _of("lower/skip_norms", "llama", "2 L", lambda c: 2 * layers(c), "trt-rtx", *PORTABLE, fused_on="cpu"),
        ),
    ),
    Point(
        "22", "experts in one node", "unit/rules/test_moe.py",
        (
            _of("fuse/moe", "mixtral", "L", layers, "cpu", "cuda"),
            _of("lower/ms_to_standard", "mixtral", "L", layers, *PORTABLE, "dml", "webgpu", "trt-rtx", fused_on="cuda"),
        ),
        "the dense form stays on dml, webgpu and trt-rtx; QMoE is not built",
    ),
    Point(
        "23", "norms in primitives", "unit/rules/test_lower_norms.py",
        (_of("lower/rms_norm", "llama", "2 L + 1", lambda c: 2 * layers(c) + 1, "trt-rtx"),),
        "LayerNormalization has a lowering, which no provider's facts plan",
    ),
    Point(
        "24", "fields of genai_config", "unit/export/test_export.py::test_a_folder_for_each_provider",
        note="facts, written by the exporter",
    ),
    Point(
        "25", "caches of a window", "unit/export/test_lint.py::test_a_window_that_nobody_tells",
        note="the lint refuses what disagrees",
    ),
    Point(
        "26", "options of session and provider", "unit/ep/test_registry.py::test_every_option_names_its_source",
        note="facts with their sources",
    ),
    Point(
        "27", "forced choices", "unit/test_plan.py::test_each_step_has_its_reason",
        note="none: plans are derived from facts",
    ),
    Point(
        "28", "what works at all", "unit/test_support.py::test_every_family_has_a_verdict_that_building_agrees_with",
        note="support(model, execution_provider, dtype)",
    ),
    Point("later", "query and key normalised inside the attention", "unit/rules/test_gqa.py",
          note="no fusion is built; such an attention of another graph becomes its body where the kernel has none"),
    Point(
        "later", "attention sinks", "unit/test_branch_point_facts.py",
        note="no family has them; of other graphs kept where the kernel does them, else the body",
    ),
    Point(
        "bodies", "com.microsoft operators written out", "unit/functions/test_contrib_bodies.py, "
        "parity/test_lower_undoes_fuse.py",
        (
            _of("lower/gqa_to_standard", "llama", "L", layers, *PORTABLE, fused_on="cpu"),
            _of("lower/ms_to_standard", "bert", "L + gelus", lambda c: 2 * layers(c), *PORTABLE, fused_on="cpu"),
        ),
        FOREIGN,
    ),
)  # fmt: skip

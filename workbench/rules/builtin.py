"""The ordered tuple of our rules. Within a stage order is meaning: what has to come first stands first."""

from __future__ import annotations

from workbench.rules.base import Rule
from workbench.rules.fuse import (
    bias_gelu,
    gelu,
    gqa,
    mha,
    moe,
    pack_qkv,
    packed_attention,
    qk_norm,
    skip_layer_norm,
    skip_rms_norm,
)
from workbench.rules.lower import (
    attention,
    eliminate_shape,
    gelu_to_ms,
    gqa_to_standard,
    if_to_where,
    layer_norm,
    ms_to_standard,
    one_rope_table,
    rms_norm,
    rotary_to_ms,
    separate_qk_norm,
    separate_rope,
    simplify_rms_norm,
    skip_norms,
    split_if,
    unpack_qkv,
)

RULES: tuple[Rule, ...] = (
    gqa.RULE,
    qk_norm.RULE,
    pack_qkv.RULE,
    mha.RULE,
    packed_attention.RULE,
    moe.RULE,
    skip_rms_norm.RULE,
    skip_layer_norm.RULE,
    gelu.RULE,
    bias_gelu.RULE,
    one_rope_table.RULE,
    split_if.RULE,
    unpack_qkv.RULE,
    separate_qk_norm.RULE,
    separate_rope.RULE,
    gqa_to_standard.RULE,
    ms_to_standard.RULE,
    attention.RULE,
    rotary_to_ms.RULE,
    skip_norms.RULE,
    simplify_rms_norm.RULE,
    rms_norm.RULE,
    layer_norm.RULE,
    gelu_to_ms.RULE,
    if_to_where.RULE,
    eliminate_shape.RULE,
)

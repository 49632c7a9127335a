"""The ordered tuple of rules. Within a stage order is meaning: what has to come first stands first."""

from __future__ import annotations

from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.fuse import gqa, pack_qkv, skip_rms_norm
from workbench.rules.lower import attention, eliminate_shape, rotary_to_ms, separate_rope, simplify_rms_norm, unpack_qkv

__all__ = ["RULES", "Refusal", "Rewrite", "Rule", "Site"]

RULES: tuple[Rule, ...] = (
    gqa.RULE,
    pack_qkv.RULE,
    skip_rms_norm.RULE,
    unpack_qkv.RULE,
    separate_rope.RULE,
    attention.RULE,
    rotary_to_ms.RULE,
    simplify_rms_norm.RULE,
    eliminate_shape.RULE,
)

"""Which motifs a graph is drawn from: any, or with one that holds what a rule looks for."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import onnx_ir as ir

from tests.property import blocks
from tests.property import sketch as motifs
from tests.property.sketch import Motif, Sketch

AIMS: dict[str, tuple[Motif, ...]] = {
    "fuse/gqa": (motifs.attention,),
    "fuse/pack_qkv": (motifs.attention,),
    "fuse/qk_norm": (motifs.normed_attention,),
    "fuse/mha": (blocks.encoder_attention,),
    "fuse/packed_attention": (blocks.biased_attention,),
    "fuse/moe": (blocks.experts,),
    "fuse/skip_rms_norm": (motifs.skip_rms_norm,),
    "fuse/skip_layer_norm": (motifs.skip_layer_norm,),
    "fuse/gelu": (motifs.gelu,),
    "fuse/bias_gelu": (motifs.bias_gelu,),
    "lower/separate_qk_norm": (motifs.attention_norming_inside,),
    "lower/split_if": (motifs.long_attention,),
    "lower/one_rope_table": (motifs.turned_attention,),
    "lower/unpack_qkv": (motifs.packed_attention,),
    "lower/separate_rope": (motifs.fused_attention,),
    "lower/gqa_to_standard": (motifs.fused_attention,),
    "lower/ms_to_standard": (
        blocks.fused_encoder_attention, blocks.fused_experts, blocks.fused_gelu, blocks.fused_rotary,
    ),
    "lower/attention": (motifs.attention, blocks.encoder_attention),
    "lower/rotary_to_ms": (motifs.rotary, motifs.attention),
    "lower/skip_norms": (motifs.fused_norm,),
    "lower/simplify_rms_norm": (motifs.rms_norm,),
    "lower/rms_norm": (motifs.rms_norm, motifs.simplified_norm),
    "lower/layer_norm": (motifs.layer_norm,),
    "lower/gelu_to_ms": (motifs.one_gelu,),
    "lower/if_to_where": (motifs.long_rope,),
    "lower/eliminate_shape": (motifs.length, motifs.attention),
}  # fmt: skip
"""For each rule the motifs that it may fire on; a test holds that no rule is missing."""
RARE = (
    *["fuse/qk_norm"] * 3, *["fuse/packed_attention"] * 2, *["fuse/moe"] * 2, "fuse/gelu", *["lower/skip_norms"] * 2,
    "lower/layer_norm", "lower/separate_qk_norm", *["lower/split_if"] * 2, "lower/layer_norm", "lower/gelu_to_ms",
    "lower/unpack_qkv",
)  # fmt: skip
"""Rules that refuse often, or that few providers' plans hold: aimed at more than once in a round."""
TARGETS = (*AIMS, *RARE)
MOTIFS = tuple(dict.fromkeys([*(motif for some in AIMS.values() for motif in some), motifs.plain]))


def sketch(rng: random.Random, planned: Sequence[str] = (), aim: str = "") -> tuple[ir.Model, dict[str, np.ndarray]]:
    """A graph of three to five motifs, and what to run it on.

    Two motifs are for the rule ``aim``; of the others half are for rules that are ``planned``.
    """
    made = Sketch(rng)
    chosen = [_drawn(rng, planned) for _ in range(rng.randint(3, 5))]
    if aim:
        for place in rng.sample(range(len(chosen)), 2):
            chosen[place] = rng.choice(AIMS[aim])
    value = made.x
    for motif in chosen:
        value = motif(made, value)
    return made.model(value), made.arrays


def _drawn(rng: random.Random, planned: Sequence[str]) -> Motif:
    if planned and rng.random() < 0.5:
        return rng.choice(AIMS[rng.choice(planned)])
    return rng.choice(MOTIFS)

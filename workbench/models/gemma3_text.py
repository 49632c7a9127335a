"""Gemma 3 (text): QK-norm, and a second RoPE for the layers with a window."""

from __future__ import annotations

from workbench.config.from_hf import HfConfig, common, layer_types, rope_from_hf
from workbench.config.model_config import ModelConfig, RopeConfig
from workbench.models.gemma2 import NORMS
from workbench.models.spec import ModelSpec
from workbench.models.weight_table import plus_one

_ATTENTION = "model.layers.{i}.self_attn."


def config(hf: HfConfig) -> ModelConfig:
    """Hugging Face ignores this family's ``attn_logit_softcapping``, and so does this."""
    full, sliding = _ropes(hf)
    return common(
        hf, mlp_bias=False, norm_placement="sandwich", qk_norm="head", rope=full, sliding_rope=sliding,
        embedding_multiplier=hf["hidden_size"] ** 0.5,
        attention_scale=hf["query_pre_attn_scalar"] ** -0.5,
        final_logit_softcapping=hf.get("final_logit_softcapping"),
        sliding_window=hf["sliding_window"], layer_types=layer_types(hf) or _pattern(hf),
    )  # fmt: skip


def _ropes(hf: HfConfig) -> tuple[RopeConfig, RopeConfig]:
    """Tables of full and of sliding layers: one entry each (transformers 5), or ``rope_local_base_freq`` before it."""
    full = rope_from_hf(hf, "full_attention", rope_theta=1_000_000.0)
    if "sliding_attention" in (hf.get("rope_parameters") or {}):
        return full, rope_from_hf(hf, "sliding_attention", rope_theta=10_000.0)
    return full, RopeConfig(rope_theta=float(hf.get("rope_local_base_freq", 10_000.0)))


def _pattern(hf: HfConfig) -> tuple[str, ...]:
    """Every ``sliding_window_pattern``-th layer sees everything."""
    every = hf.get("sliding_window_pattern", 6)
    return tuple(
        "full_attention" if (i + 1) % every == 0 else "sliding_attention" for i in range(hf["num_hidden_layers"])
    )


SPEC = ModelSpec(
    model_type="gemma3_text",
    config=config,
    defaults={
        "bos_token_id": 2,
        "eos_token_id": 1,
        "head_dim": 256,
        "hidden_activation": "gelu_pytorch_tanh",
        "intermediate_size": 9216,
        "max_position_embeddings": 131072,
        "num_key_value_heads": 4,
        "pad_token_id": 0,
        "query_pre_attn_scalar": 256,
        "sliding_window": 4096,
        "tie_word_embeddings": True,
    },
    weights=(*NORMS, plus_one(_ATTENTION + "q_norm"), plus_one(_ATTENTION + "k_norm")),
    tiny={"num_hidden_layers": 2, "layer_types": ["sliding_attention", "full_attention"], "query_pre_attn_scalar": 16},
    exercise={
        "num_hidden_layers": 3,
        "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
        "sliding_window": 8,
        "query_pre_attn_scalar": 24,
        "attention_bias": True,
        "final_logit_softcapping": 3.0,
        "rope_parameters": {
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        },
    },  # fmt: skip
)

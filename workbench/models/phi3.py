"""Phi-3 and Phi-4-mini: packed projections in the checkpoint, a window, longrope and partial RoPE by config."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.config.from_hf import HfConfig, common
from workbench.config.model_config import ModelConfig
from workbench.models.spec import ModelSpec
from workbench.models.weight_table import split_rows

_LAYER = "model.layers.{i}."


def config(hf: HfConfig) -> ModelConfig:
    """``original_max_position_embeddings`` stands beside the RoPE parameters."""
    return common(
        hf, attention_bias=False, attention_out_bias=False, mlp_bias=False,
        sliding_window=hf.get("sliding_window"),
    )  # fmt: skip


def qkv_rows(config: ModelConfig) -> Sequence[int]:
    """Rows of query, key and value in a packed projection."""
    kv = config.num_key_value_heads * config.head_dim
    return (config.num_attention_heads * config.head_dim, kv, kv)


SPEC = ModelSpec(
    model_type="phi3",
    config=config,
    defaults={
        "bos_token_id": 1,
        "eos_token_id": 32000,
        "intermediate_size": 8192,
        "max_position_embeddings": 4096,
        "original_max_position_embeddings": 4096,
        "pad_token_id": 32000,
        "rms_norm_eps": 1e-05,
    },
    weights=(
        split_rows(
            _LAYER + "self_attn.qkv_proj",
            [_LAYER + f"self_attn.{name}_proj" for name in ("q", "k", "v")],
            qkv_rows,
        ),
        split_rows(
            _LAYER + "mlp.gate_up_proj",
            [_LAYER + "mlp.gate_proj", _LAYER + "mlp.up_proj"],
            lambda config: (config.intermediate_size, config.intermediate_size),
        ),
    ),
    tiny={"sliding_window": None},
    exercise={
        "sliding_window": 8,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 32,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5},
    },  # fmt: skip
)

"""Qwen3: each query and key head is normalised before RoPE."""

from __future__ import annotations

from workbench.config.from_hf import HfConfig, common
from workbench.config.model_config import ModelConfig
from workbench.models.qwen2 import types
from workbench.models.spec import ModelSpec


def config(hf: HfConfig) -> ModelConfig:
    """Biases by ``attention_bias``; the window as in Qwen2."""
    window = hf.get("sliding_window") if hf["use_sliding_window"] else None
    return common(hf, mlp_bias=False, qk_norm="head", sliding_window=window, layer_types=types(hf) if window else None)


SPEC = ModelSpec(
    model_type="qwen3",
    config=config,
    defaults={
        "head_dim": 128,
        "intermediate_size": 22016,
        "max_position_embeddings": 32768,
        "num_key_value_heads": 32,
        "use_sliding_window": False,
    },
    exercise={
        "attention_bias": True,
        "use_sliding_window": True,
        "sliding_window": 6,
        "max_window_layers": 1,
        "num_hidden_layers": 3,
        "head_dim": 32,
    },  # fmt: skip
)

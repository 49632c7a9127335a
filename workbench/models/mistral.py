"""Mistral: llama with a sliding window on every layer, where the config sets one."""

from __future__ import annotations

from workbench.config.from_hf import HfConfig, common
from workbench.config.model_config import ModelConfig
from workbench.models.spec import ModelSpec


def config(hf: HfConfig) -> ModelConfig:
    """No biases; the window holds for all layers."""
    return common(
        hf, attention_bias=False, attention_out_bias=False, mlp_bias=False, sliding_window=hf["sliding_window"]
    )


SPEC = ModelSpec(
    model_type="mistral",
    config=config,
    defaults={
        "bos_token_id": 1,
        "eos_token_id": 2,
        "intermediate_size": 14336,
        "max_position_embeddings": 131072,
        "num_key_value_heads": 8,
        "sliding_window": 4096,
    },
    tiny={"sliding_window": None},
    exercise={"sliding_window": 8, "head_dim": 32, "rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}},
)

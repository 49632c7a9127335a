"""OLMo 2: norms after attention and feed-forward instead of before, and over whole queries and keys."""

from __future__ import annotations

from workbench.config.from_hf import HfConfig, common
from workbench.config.model_config import ModelConfig
from workbench.models.spec import ModelSpec


def config(hf: HfConfig) -> ModelConfig:
    """Post-norm placement and full QK-norm."""
    return common(hf, mlp_bias=False, norm_placement="post", qk_norm="full")


SPEC = ModelSpec(
    model_type="olmo2",
    config=config,
    defaults={"eos_token_id": 50279, "intermediate_size": 11008, "pad_token_id": 1, "rms_norm_eps": 1e-05},
    exercise={"attention_bias": True, "tie_word_embeddings": True, "rms_norm_eps": 1e-3},
)

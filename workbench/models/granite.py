"""Granite: multipliers on embeddings, residuals, scores and logits."""

from __future__ import annotations

from workbench.config.from_hf import HfConfig, common
from workbench.config.model_config import ModelConfig
from workbench.models.spec import ModelSpec


def config(hf: HfConfig) -> ModelConfig:
    """``logits_scaling`` divides."""
    return common(
        hf,
        attention_scale=float(hf["attention_multiplier"]),
        embedding_multiplier=float(hf["embedding_multiplier"]),
        residual_multiplier=float(hf["residual_multiplier"]),
        logits_multiplier=1.0 / float(hf["logits_scaling"]),
    )


SPEC = ModelSpec(
    model_type="granite",
    config=config,
    defaults={
        "attention_multiplier": 1.0,
        "bos_token_id": 1,
        "embedding_multiplier": 1.0,
        "eos_token_id": 2,
        "intermediate_size": 11008,
        "logits_scaling": 1.0,
        "residual_multiplier": 1.0,
    },
    tiny={"attention_multiplier": 0.25},  # the default of 1 drives every softmax of a tiny model to its corners
    exercise={
        "attention_multiplier": 0.3,
        "embedding_multiplier": 6.0,
        "residual_multiplier": 0.2,
        "logits_scaling": 4.0,
        "attention_bias": True,
        "mlp_bias": True,
    },  # fmt: skip
)

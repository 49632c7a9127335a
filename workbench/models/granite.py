"""Granite: multipliers on embeddings, residuals, scores and logits."""

from __future__ import annotations

from workbench.config.from_hf import HfConfig, common
from workbench.config.model_config import ModelConfig
from workbench.models.spec import ModelSpec


def config(hf: HfConfig) -> ModelConfig:
    """``logits_scaling`` divides."""
    return common(
        hf,
        attention_scale=float(hf.get("attention_multiplier", 1.0)),
        embedding_multiplier=float(hf.get("embedding_multiplier", 1.0)),
        residual_multiplier=float(hf.get("residual_multiplier", 1.0)),
        logits_multiplier=1.0 / float(hf.get("logits_scaling", 1.0)),
    )


SPEC = ModelSpec(
    model_type="granite",
    config=config,
    tiny={"attention_multiplier": 0.25},  # the default of 1 drives every softmax of a tiny model to its corners
    exercise={
        "attention_multiplier": 0.3, "embedding_multiplier": 6.0, "residual_multiplier": 0.2, "logits_scaling": 4.0,
        "attention_bias": True, "mlp_bias": True,
    },  # fmt: skip
)

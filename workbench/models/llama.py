"""Llama: the plain case. SmolLM2 is one."""

from __future__ import annotations

from workbench.config.from_hf import llama
from workbench.models.spec import ModelSpec

SPEC = ModelSpec(
    model_type="llama",
    config=llama,
    defaults={"bos_token_id": 1, "eos_token_id": 2, "intermediate_size": 11008},
    exercise={
        "attention_bias": True,
        "mlp_bias": True,
        "tie_word_embeddings": True,
        "head_dim": 32,
        "rope_parameters": {
            "rope_type": "llama3",
            "rope_theta": 10000.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 32,
        },
    },  # fmt: skip
)

"""Mixtral: mistral whose feed-forward is a mixture of experts."""

from __future__ import annotations

from workbench.config.from_hf import HfConfig, common
from workbench.config.model_config import ModelConfig, MoeConfig
from workbench.models.spec import ModelSpec
from workbench.models.weight_table import gate_up_experts, rename, stacked

_HUB, _OURS = "model.layers.{i}.block_sparse_moe.", "model.layers.{i}.mlp."


def config(hf: HfConfig) -> ModelConfig:
    """Every layer has experts; the chosen weights sum to 1."""
    return common(
        hf, attention_bias=False, attention_out_bias=False,
        sliding_window=hf.get("sliding_window"),
        moe=MoeConfig(
            num_experts=hf["num_local_experts"], num_experts_per_tok=hf["num_experts_per_tok"],
            moe_intermediate_size=hf["intermediate_size"],
        ),
    )  # fmt: skip


SPEC = ModelSpec(
    model_type="mixtral",
    config=config,
    defaults={
        "bos_token_id": 1,
        "eos_token_id": 2,
        "intermediate_size": 14336,
        "max_position_embeddings": 131072,
        "num_experts_per_tok": 2,
        "num_key_value_heads": 8,
        "num_local_experts": 8,
        "rms_norm_eps": 1e-05,
        "rope_theta": 1000000.0,
    },
    weights=(
        rename(_HUB + "gate", _OURS + "gate"),
        gate_up_experts(_HUB + "experts.{e}.w1.weight", _HUB + "experts.{e}.w3.weight", _OURS + "experts.gate_up_proj"),
        stacked(_HUB + "experts.{e}.w2.weight", _OURS + "experts.down_proj"),
    ),
    tiny={"num_local_experts": 4},
    exercise={"num_local_experts": 5, "num_experts_per_tok": 3, "sliding_window": 8},
)

"""Qwen3-MoE: Qwen3 with experts on most layers."""

from __future__ import annotations

from workbench.config.from_hf import HfConfig, common, first
from workbench.config.model_config import ModelConfig, MoeConfig
from workbench.models.spec import ModelSpec
from workbench.models.weight_table import gate_up_experts, stacked

_MLP = "model.layers.{i}.mlp."


def config(hf: HfConfig) -> ModelConfig:
    """Layers in ``mlp_only_layers``, and all but every ``decoder_sparse_step``-th, have a plain feed-forward."""
    window = hf.get("sliding_window") if hf["use_sliding_window"] else None
    return common(
        hf, mlp_bias=False, qk_norm="head", sliding_window=window,
        moe=MoeConfig(
            num_experts=first(hf, "num_experts", "num_local_experts", default=128),
            num_experts_per_tok=hf["num_experts_per_tok"],
            moe_intermediate_size=hf["moe_intermediate_size"],
            norm_topk_prob=bool(hf["norm_topk_prob"]), layers=_sparse(hf),
        ),
    )  # fmt: skip


def _sparse(hf: HfConfig) -> tuple[bool, ...]:
    dense, step = hf.get("mlp_only_layers") or [], hf["decoder_sparse_step"]
    return tuple(i not in dense and (i + 1) % step == 0 for i in range(hf["num_hidden_layers"]))


SPEC = ModelSpec(
    model_type="qwen3_moe",
    config=config,
    defaults={
        "decoder_sparse_step": 1,
        "intermediate_size": 6144,
        "max_position_embeddings": 32768,
        "moe_intermediate_size": 768,
        "norm_topk_prob": False,
        "num_experts_per_tok": 8,
        "num_key_value_heads": 4,
        "use_sliding_window": False,
    },
    weights=(
        gate_up_experts(
            _MLP + "experts.{e}.gate_proj.weight", _MLP + "experts.{e}.up_proj.weight", _MLP + "experts.gate_up_proj"
        ),
        stacked(_MLP + "experts.{e}.down_proj.weight", _MLP + "experts.down_proj"),
    ),
    tiny={"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32},
    exercise={
        "num_hidden_layers": 3,
        "num_experts": 5,
        "num_experts_per_tok": 3,
        "moe_intermediate_size": 48,
        "norm_topk_prob": True,
        "mlp_only_layers": [1],
        "attention_bias": True,
        "use_sliding_window": True,
        "sliding_window": 8,
    },  # fmt: skip
)

"""StableLM: layer norms, partial RoPE, and by config a parallel residual and a norm for each query and key head."""

from __future__ import annotations

from workbench.config.from_hf import HfConfig, common
from workbench.config.model_config import ModelConfig
from workbench.models.spec import ModelSpec
from workbench.models.weight_table import stacked

_ATTENTION = "model.layers.{i}.self_attn."


def config(hf: HfConfig) -> ModelConfig:
    """The parallel form has one norm for both branches."""
    parallel = bool(hf["use_parallel_residual"])
    return common(
        hf, norm_type="layer_norm", norm_bias=True, parallel_residual=parallel, shared_norm=parallel,
        attention_bias=bool(hf["use_qkv_bias"]), attention_out_bias=False, mlp_bias=False,
        qk_norm="head" if hf["qk_layernorm"] else None, qk_norm_type="layer_norm", qk_norm_per_head_weight=True,
    )  # fmt: skip


SPEC = ModelSpec(
    model_type="stablelm",
    config=config,
    defaults={
        "bos_token_id": 0,
        "eos_token_id": 0,
        "intermediate_size": 6912,
        "layer_norm_eps": 1e-05,
        "max_position_embeddings": 4096,
        "num_key_value_heads": 32,
        "qk_layernorm": False,
        "use_parallel_residual": False,
        "use_qkv_bias": False,
        "partial_rotary_factor": 0.25,
    },
    weights=(
        stacked(_ATTENTION + "q_layernorm.norms.{e}", _ATTENTION + "q_norm"),
        stacked(_ATTENTION + "k_layernorm.norms.{e}", _ATTENTION + "k_norm"),
    ),
    tiny={"hidden_size": 128},
    exercise={
        "hidden_size": 128,
        "use_parallel_residual": True,
        "use_qkv_bias": True,
        "qk_layernorm": True,
        "layer_norm_eps": 1e-3,
        "tie_word_embeddings": True,
    },  # fmt: skip
)

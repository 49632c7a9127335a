"""Phi (1, 1.5, 2): attention and feed-forward in parallel behind one layer norm, partial RoPE, biases everywhere."""

from __future__ import annotations

from workbench.config.from_hf import HfConfig, common
from workbench.config.model_config import ModelConfig
from workbench.models.spec import ModelSpec
from workbench.models.weight_table import rename

_LAYER = "model.layers.{i}."


def config(hf: HfConfig) -> ModelConfig:
    """The layer norm's epsilon is 1e-5 where the config is silent."""
    return common(
        hf, norm_type="layer_norm", norm_bias=True, parallel_residual=True, shared_norm=True,
        gated_mlp=False, mlp_bias=True, attention_bias=True,
        attention_out_bias=True, lm_head_bias=True,
        qk_norm="head" if hf["qk_layernorm"] else None, qk_norm_type="layer_norm", qk_norm_bias=True,
    )  # fmt: skip


SPEC = ModelSpec(
    model_type="phi",
    config=config,
    defaults={
        "bos_token_id": 1,
        "eos_token_id": 2,
        "hidden_act": "gelu_new",
        "intermediate_size": 8192,
        "layer_norm_eps": 1e-05,
        "qk_layernorm": False,
        "partial_rotary_factor": 0.5,
    },
    weights=(
        rename(_LAYER + "self_attn.dense", _LAYER + "self_attn.o_proj"),
        rename(_LAYER + "self_attn.q_layernorm", _LAYER + "self_attn.q_norm"),
        rename(_LAYER + "self_attn.k_layernorm", _LAYER + "self_attn.k_norm"),
        rename(_LAYER + "mlp.fc1", _LAYER + "mlp.up_proj"),
        rename(_LAYER + "mlp.fc2", _LAYER + "mlp.down_proj"),
        rename("model.final_layernorm", "model.norm"),
    ),
    tiny={"head_dim": None, "hidden_size": 128},
    exercise={"head_dim": None, "hidden_size": 128, "qk_layernorm": True, "layer_norm_eps": 1e-3},
)

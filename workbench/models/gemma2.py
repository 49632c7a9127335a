"""Gemma 2: sandwich norms that multiply with 1 + weight, capped scores and logits, a window on every other layer."""

from __future__ import annotations

from workbench.config.from_hf import HfConfig, common, layer_types
from workbench.config.model_config import ModelConfig
from workbench.models.spec import ModelSpec
from workbench.models.weight_table import WeightTable, plus_one

_LAYER = "model.layers.{i}."
NORMS: WeightTable = (
    *(
        plus_one(f"{_LAYER}{place}_layernorm")
        for place in ("input", "post_attention", "pre_feedforward", "post_feedforward")
    ),
    plus_one("model.norm"),
)


def config(hf: HfConfig) -> ModelConfig:
    """Embeddings grow by the root of the width; scores shrink by ``query_pre_attn_scalar``."""
    return common(
        hf, mlp_bias=False, norm_placement="sandwich",
        embedding_multiplier=hf["hidden_size"] ** 0.5,
        attention_scale=hf["query_pre_attn_scalar"] ** -0.5,
        attn_logit_softcapping=hf["attn_logit_softcapping"],
        final_logit_softcapping=hf["final_logit_softcapping"],
        sliding_window=hf["sliding_window"], layer_types=layer_types(hf) or _every_other(hf),
    )  # fmt: skip


def _every_other(hf: HfConfig) -> tuple[str, ...]:
    return tuple("full_attention" if i % 2 else "sliding_attention" for i in range(hf["num_hidden_layers"]))


SPEC = ModelSpec(
    model_type="gemma2",
    config=config,
    defaults={
        "attn_logit_softcapping": 50.0,
        "bos_token_id": 2,
        "eos_token_id": 1,
        "final_logit_softcapping": 30.0,
        "head_dim": 256,
        "hidden_activation": "gelu_pytorch_tanh",
        "intermediate_size": 9216,
        "max_position_embeddings": 8192,
        "num_key_value_heads": 4,
        "pad_token_id": 0,
        "query_pre_attn_scalar": 256,
        "sliding_window": 4096,
        "tie_word_embeddings": True,
    },
    weights=NORMS,
    tiny={"num_hidden_layers": 2, "sliding_window": 64, "query_pre_attn_scalar": 16},
    exercise={
        "num_hidden_layers": 4,
        "sliding_window": 8,
        "attn_logit_softcapping": 2.0,
        "final_logit_softcapping": 3.0,
        "query_pre_attn_scalar": 24,
        "attention_bias": True,
    },  # fmt: skip
)

"""Bloom: ALiBi instead of position embeddings, a norm behind the embeddings, query, key and value side by side."""

from __future__ import annotations

from workbench.config.from_hf import HfConfig, common
from workbench.config.model_config import ModelConfig
from workbench.models.spec import ModelSpec
from workbench.models.weight_table import rename, split_heads

_THEIRS, _OURS = "transformer.h.{i}.", "model.layers.{i}."


def config(hf: HfConfig) -> ModelConfig:
    """Residuals may start after the norm (``apply_residual_connection_post_layernorm``)."""
    return common(
        hf, norm_type="layer_norm", norm_bias=True, position_embedding="alibi",
        embedding_norm=True, hidden_act="gelu_new", gated_mlp=False, mlp_bias=True, attention_bias=True,
        attention_out_bias=True,
        residual_from_norm=bool(hf["apply_residual_connection_post_layernorm"]),
    )  # fmt: skip


SPEC = ModelSpec(
    model_type="bloom",
    config=config,
    defaults={
        "apply_residual_connection_post_layernorm": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "layer_norm_epsilon": 1e-05,
        "tie_word_embeddings": True,
    },
    weights=(
        rename("transformer.word_embeddings", "model.embed_tokens"),
        rename("transformer.word_embeddings_layernorm", "model.embed_layernorm"),
        rename("transformer.ln_f", "model.norm"),
        rename(_THEIRS + "input_layernorm", _OURS + "input_layernorm"),
        rename(_THEIRS + "post_attention_layernorm", _OURS + "post_attention_layernorm"),
        split_heads(
            _THEIRS + "self_attention.query_key_value", [_OURS + f"self_attn.{n}_proj" for n in ("q", "k", "v")]
        ),
        rename(_THEIRS + "self_attention.dense", _OURS + "self_attn.o_proj"),
        rename(_THEIRS + "mlp.dense_h_to_4h", _OURS + "mlp.up_proj"),
        rename(_THEIRS + "mlp.dense_4h_to_h", _OURS + "mlp.down_proj"),
    ),
    prefix="transformer.",
    exercise={
        "n_head": 6,
        "hidden_size": 96,
        "apply_residual_connection_post_layernorm": True,
        "layer_norm_epsilon": 1e-3,
        "tie_word_embeddings": False,
    },  # fmt: skip
)

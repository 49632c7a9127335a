"""GPT-NeoX and Pythia: parallel residual with two norms, partial RoPE, query, key and value side by side per head."""

from __future__ import annotations

from workbench.config.from_hf import HfConfig, common
from workbench.config.model_config import ModelConfig
from workbench.models.spec import ModelSpec
from workbench.models.weight_table import rename, split_heads

_THEIRS, _OURS = "gpt_neox.layers.{i}.", "model.layers.{i}."


def config(hf: HfConfig) -> ModelConfig:
    """``rotary_pct`` and ``rotary_emb_base`` are older words for RoPE's."""
    older = {"partial_rotary_factor": hf.get("rotary_pct"), "rope_theta": hf.get("rotary_emb_base")}
    words = {**hf, **{word: value for word, value in older.items() if value is not None}}
    return common(
        words, norm_type="layer_norm", norm_bias=True, gated_mlp=False, mlp_bias=True,
        parallel_residual=bool(hf["use_parallel_residual"]),
    )  # fmt: skip


SPEC = ModelSpec(
    model_type="gpt_neox",
    config=config,
    defaults={
        "attention_bias": True,
        "bos_token_id": 0,
        "eos_token_id": 2,
        "hidden_act": "gelu",
        "intermediate_size": 24576,
        "layer_norm_eps": 1e-05,
        "use_parallel_residual": True,
        "partial_rotary_factor": 0.25,
    },
    weights=(
        rename("gpt_neox.embed_in", "model.embed_tokens"),
        rename("gpt_neox.final_layer_norm", "model.norm"),
        rename("embed_out", "lm_head"),
        rename(_THEIRS + "input_layernorm", _OURS + "input_layernorm"),
        rename(_THEIRS + "post_attention_layernorm", _OURS + "post_attention_layernorm"),
        split_heads(_THEIRS + "attention.query_key_value", [_OURS + f"self_attn.{n}_proj" for n in ("q", "k", "v")]),
        rename(_THEIRS + "attention.dense", _OURS + "self_attn.o_proj"),
        rename(_THEIRS + "mlp.dense_h_to_4h", _OURS + "mlp.up_proj"),
        rename(_THEIRS + "mlp.dense_4h_to_h", _OURS + "mlp.down_proj"),
    ),
    ignored=(r"attention\.bias$", r"attention\.masked_bias$", r"rotary_emb\.inv_freq$"),
    prefix="gpt_neox.",
    tiny={"hidden_size": 128},
    exercise={"hidden_size": 128, "use_parallel_residual": False, "attention_bias": False, "layer_norm_eps": 1e-3},
)

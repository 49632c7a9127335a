"""GPT-NeoX and Pythia: parallel residual with two norms, partial RoPE, query, key and value side by side per head."""

from __future__ import annotations

from workbench.config.from_hf import HfConfig, common, rope_from_hf
from workbench.config.model_config import ModelConfig
from workbench.models.spec import ModelSpec
from workbench.models.weight_table import rename, split_heads

_THEIRS, _OURS = "gpt_neox.layers.{i}.", "model.layers.{i}."


def config(hf: HfConfig) -> ModelConfig:
    """``rotary_pct`` and ``rotary_emb_base`` are the older words for RoPE."""
    words = dict(hf)
    words.setdefault("partial_rotary_factor", hf.get("rotary_pct", 0.25))
    words.setdefault("rope_theta", hf.get("rotary_emb_base", 10000.0))
    bias = bool(hf.get("attention_bias", True))
    return common(
        hf, norm_eps=1e-5, norm_type="layer_norm", norm_bias=True,
        parallel_residual=bool(hf.get("use_parallel_residual", True)), hidden_act=hf.get("hidden_act", "gelu"),
        gated_mlp=False, mlp_bias=True, attention_bias=bias, attention_out_bias=bias, rope=rope_from_hf(words),
    )  # fmt: skip


SPEC = ModelSpec(
    model_type="gpt_neox",
    config=config,
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

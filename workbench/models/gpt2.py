"""GPT-2: learned positions, layer norms, plain feed-forward, matrices stored [in, out]."""

from __future__ import annotations

from workbench.config.from_hf import HfConfig, common, sizes
from workbench.config.model_config import ModelConfig
from workbench.models.phi3 import qkv_rows
from workbench.models.spec import ModelSpec
from workbench.models.weight_table import rename, split_rows, turned

_THEIRS, _OURS = "transformer.h.{i}.", "model.layers.{i}."


def config(hf: HfConfig) -> ModelConfig:
    """Scores may shrink with the layer's number (``scale_attn_by_inverse_layer_idx``)."""
    found = sizes(hf)
    scale = found["head_dim"] ** -0.5 if hf["scale_attn_weights"] else 1.0
    by_layer = hf["scale_attn_by_inverse_layer_idx"]
    return common(
        hf, norm_type="layer_norm", norm_bias=True, position_embedding="learned",
        gated_mlp=False, mlp_bias=True, attention_bias=True,
        attention_out_bias=True,
        attention_scale=tuple(scale / (i + 1 if by_layer else 1) for i in range(found["num_hidden_layers"])),
    )  # fmt: skip


SPEC = ModelSpec(
    model_type="gpt2",
    config=config,
    defaults={
        "activation_function": "gelu_new",
        "bos_token_id": 50256,
        "eos_token_id": 50256,
        "layer_norm_epsilon": 1e-05,
        "n_positions": 1024,
        "scale_attn_by_inverse_layer_idx": False,
        "scale_attn_weights": True,
        "tie_word_embeddings": True,
    },
    weights=(
        rename("transformer.wte", "model.embed_tokens"),
        rename("transformer.wpe", "model.embed_positions"),
        rename("transformer.ln_f", "model.norm"),
        rename(_THEIRS + "ln_1", _OURS + "input_layernorm"),
        rename(_THEIRS + "ln_2", _OURS + "post_attention_layernorm"),
        split_rows(
            _THEIRS + "attn.c_attn", [_OURS + f"self_attn.{n}_proj" for n in ("q", "k", "v")], qkv_rows, turn=True
        ),
        turned(_THEIRS + "attn.c_proj", _OURS + "self_attn.o_proj"),
        turned(_THEIRS + "mlp.c_fc", _OURS + "mlp.up_proj"),
        turned(_THEIRS + "mlp.c_proj", _OURS + "mlp.down_proj"),
    ),
    ignored=(r"\.attn\.bias$", r"\.attn\.masked_bias$"),
    prefix="transformer.",
    exercise={
        "scale_attn_by_inverse_layer_idx": True,
        "n_inner": 112,
        "layer_norm_epsilon": 1e-3,
        "activation_function": "gelu",
        "tie_word_embeddings": False,
    },  # fmt: skip
)

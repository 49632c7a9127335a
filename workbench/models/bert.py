"""BERT: the first encoder. MiniLM is one."""

from __future__ import annotations

from workbench.components.encoder import Encoder
from workbench.config.encoder_config import EncoderConfig
from workbench.config.from_hf import HfConfig
from workbench.errors import UnsupportedError
from workbench.models.spec import ModelSpec
from workbench.models.weight_table import rename

_THEIRS, _OURS = "encoder.layer.{i}.", "layers.{i}."


def config(hf: HfConfig) -> EncoderConfig:
    """BERT's words are the standard ones."""
    if hf.get("is_decoder"):
        raise UnsupportedError("is_decoder is True: a BERT that looks back only is not built; this one is an encoder.")
    names = (
        "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "max_position_embeddings", "type_vocab_size", "hidden_act", "pad_token_id",
    )  # fmt: skip
    given = {name: hf[name] for name in names if hf.get(name) is not None}
    return EncoderConfig(model_type=hf["model_type"], norm_eps=hf["layer_norm_eps"], **given)


SPEC = ModelSpec(
    model_type="bert",
    config=config,
    defaults={
        "hidden_act": "gelu",
        "intermediate_size": 3072,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": 512,
        "pad_token_id": 0,
        "type_vocab_size": 2,
    },
    module=Encoder,
    task="feature-extraction",
    weights=(
        rename("embeddings.word_embeddings", "embed_tokens"),
        rename("embeddings.position_embeddings", "embed_positions"),
        rename("embeddings.token_type_embeddings", "embed_token_types"),
        rename("embeddings.LayerNorm", "embed_layernorm"),
        rename(_THEIRS + "attention.self.query", _OURS + "self_attn.q_proj"),
        rename(_THEIRS + "attention.self.key", _OURS + "self_attn.k_proj"),
        rename(_THEIRS + "attention.self.value", _OURS + "self_attn.v_proj"),
        rename(_THEIRS + "attention.output.dense", _OURS + "self_attn.o_proj"),
        rename(_THEIRS + "attention.output.LayerNorm", _OURS + "self_attn_layernorm"),
        rename(_THEIRS + "intermediate.dense", _OURS + "mlp.up_proj"),
        rename(_THEIRS + "output.dense", _OURS + "mlp.down_proj"),
        rename(_THEIRS + "output.LayerNorm", _OURS + "mlp_layernorm"),
    ),
    strip="bert.",
    ignored=(r"^pooler\.", r"^cls\.", r"position_ids$"),
    exercise={"hidden_act": "gelu_new", "type_vocab_size": 3, "layer_norm_eps": 1e-3},
)

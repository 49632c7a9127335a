"""The decoder every text-generation family shares: pre-norm layers, a final norm and an output head."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
from onnxscript import OpBuilder, nn

from workbench.components.attention import Attention, AttentionContext, KeyValue
from workbench.components.embedding import Embedding
from workbench.components.linear import Linear
from workbench.components.masks import Masks
from workbench.components.mlp import GatedMLP
from workbench.components.norm import RMSNorm
from workbench.components.rope import rotary_tables
from workbench.config.model_config import ModelConfig


class DecoderLayer(nn.Module):
    """Attention and feed-forward, each after its norm and added to the residual ``[B, S, E]``."""

    attention_class: type[Attention] = Attention

    def __init__(self, config: ModelConfig, layer: int, dtype: ir.DataType) -> None:
        super().__init__()
        width, eps = config.hidden_size, config.rms_norm_eps
        self.input_layernorm = RMSNorm(width, eps=eps, dtype=dtype)
        self.self_attn = self.attention_class(config, layer, dtype)
        self.post_attention_layernorm = RMSNorm(width, eps=eps, dtype=dtype)
        self.mlp = GatedMLP(width, config.intermediate_size, act=config.hidden_act, bias=config.mlp_bias, dtype=dtype)

    def forward(
        self, op: OpBuilder, hidden: ir.Value, context: AttentionContext, past: KeyValue
    ) -> tuple[ir.Value, KeyValue]:
        attended, present = self.self_attn(op, self.input_layernorm(op, hidden), context, past)
        hidden = op.Add(hidden, attended)
        return op.Add(hidden, self.mlp(op, self.post_attention_layernorm(op, hidden))), present


class Decoder(nn.Module):
    """Token embeddings, the layers, the final norm. Parameter names are Hugging Face's (``model.layers.0...``)."""

    layer_class: type[DecoderLayer] = DecoderLayer

    def __init__(self, config: ModelConfig, dtype: ir.DataType) -> None:
        super().__init__()
        self.config, self.dtype = config, dtype
        self.embed_tokens = Embedding(config.vocab_size, config.hidden_size, dtype=dtype)
        layers: list[nn.Module] = [self.layer_class(config, i, dtype) for i in range(config.num_hidden_layers)]
        self.layers = nn.ModuleList(layers)
        self.norm = RMSNorm(config.hidden_size, eps=config.rms_norm_eps, dtype=dtype)

    def forward(
        self,
        op: OpBuilder,
        input_ids: ir.Value,
        attention_mask: ir.Value,
        position_ids: ir.Value,
        past: Sequence[KeyValue],
    ) -> tuple[ir.Value, list[KeyValue]]:
        """The last hidden states ``[B, S, E]`` and the present of each layer."""
        tables = rotary_tables(op, self.config, self.dtype, position_ids)
        masks = Masks(op, attention_mask, position_ids)
        hidden, presents = self.embed_tokens(op, input_ids), []
        for index, layer in enumerate(self.layers):
            context = AttentionContext(masks.get(self.config.window(index)), position_ids, tables)
            hidden, present = layer(op, hidden, context, past[index])
            presents.append(present)
        return self.norm(op, hidden), presents


class CausalLM(nn.Module):
    """A decoder with its output head: what the text-generation task builds.

    A family that differs sets ``decoder_class`` (or, below it, ``layer_class`` and ``attention_class``).
    """

    decoder_class: type[Decoder] = Decoder

    def __init__(self, config: ModelConfig, dtype: ir.DataType = ir.DataType.FLOAT) -> None:
        super().__init__()
        self.config, self.dtype = config, dtype
        self.model = self.decoder_class(config, dtype)
        tied = config.tie_word_embeddings
        self.lm_head = None if tied else Linear(config.hidden_size, config.vocab_size, dtype=dtype)

    def forward(
        self,
        op: OpBuilder,
        input_ids: ir.Value,
        attention_mask: ir.Value,
        position_ids: ir.Value,
        past: Sequence[KeyValue],
    ) -> tuple[ir.Value, list[KeyValue]]:
        """``logits [B, S, V]`` and the present keys and values of each layer."""
        hidden, presents = self.model(op, input_ids, attention_mask, position_ids, past)
        return self.head(op, hidden), presents

    def head(self, op: OpBuilder, hidden: ir.Value) -> ir.Value:
        """Logits of the last hidden states, by the embedding's own weight where they are tied."""
        if self.lm_head is not None:
            return self.lm_head(op, hidden)
        op.builder.push_module("lm_head")
        logits = self.model.embed_tokens.project(op, hidden)
        op.builder.pop_module()
        return logits

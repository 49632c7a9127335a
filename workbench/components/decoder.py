"""The decoder every text-generation family shares; a config says which norms, positions and blocks it has."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
from onnxscript import OpBuilder, nn

from workbench import functions
from workbench.components.alibi import alibi_mask
from workbench.components.attention import Attention, AttentionContext, KeyValue
from workbench.components.embedding import Embedding
from workbench.components.graph import dim
from workbench.components.linear import Linear
from workbench.components.masks import Masks
from workbench.components.mlp import GatedMLP, PlainMLP
from workbench.components.moe import SparseMoe
from workbench.components.norm import make_norm
from workbench.components.rope import Rotaries
from workbench.config.model_config import ModelConfig
from workbench.functions import LAST_TOKEN


def scaled(op: OpBuilder, x: ir.Value, factor: float) -> ir.Value:
    """``x`` times a number of the config; nothing for 1."""
    return x if factor == 1.0 else op.Mul(x, float(factor))


class DecoderLayer(nn.Module):
    """Attention and feed-forward on the residual ``[B, S, E]``; norms stand where the config places them."""

    attention_class: type[Attention] = Attention

    def __init__(self, config: ModelConfig, layer: int, dtype: ir.DataType) -> None:
        super().__init__()
        self.config = config
        before, after = config.norm_placement != "post", config.norm_placement != "pre"
        own = before and not (config.parallel_residual and config.shared_norm)
        sandwich = config.norm_placement == "sandwich"
        self.input_layernorm = self._norm(before, dtype)
        self.self_attn = self.attention_class(config, layer, dtype)
        self.post_attention_layernorm = self._norm(after or own, dtype)
        self.pre_feedforward_layernorm = self._norm(sandwich, dtype)
        self.mlp = self._mlp(layer, dtype)
        self.post_feedforward_layernorm = self._norm(after, dtype)

    def _norm(self, wanted: bool, dtype: ir.DataType) -> nn.Module | None:
        return make_norm(self.config, self.config.hidden_size, dtype) if wanted else None

    def _mlp(self, layer: int, dtype: ir.DataType) -> nn.Module:
        if self.config.moe is not None and self.config.has_experts(layer):
            return SparseMoe(self.config, self.config.moe, dtype)
        return GatedMLP(self.config, dtype) if self.config.gated_mlp else PlainMLP(self.config, dtype)

    def forward(
        self, op: OpBuilder, hidden: ir.Value, context: AttentionContext, past: KeyValue
    ) -> tuple[ir.Value, KeyValue]:
        normal = hidden if self.input_layernorm is None else self.input_layernorm(op, hidden)
        attended, present = self.self_attn(op, normal, context, past)
        if self.config.parallel_residual:
            return self._parallel(op, hidden, normal, attended), present
        if self.config.norm_placement != "pre" and self.post_attention_layernorm is not None:
            attended = self.post_attention_layernorm(op, attended)
        start = normal if self.config.residual_from_norm else hidden
        return self._feed_forward(op, op.Add(start, self._weighed(op, attended))), present

    def _weighed(self, op: OpBuilder, x: ir.Value) -> ir.Value:
        return scaled(op, x, self.config.residual_multiplier)

    def _parallel(self, op: OpBuilder, hidden: ir.Value, normal: ir.Value, attended: ir.Value) -> ir.Value:
        second = self.post_attention_layernorm
        fed = self.mlp(op, normal if second is None else second(op, hidden))
        return op.Add(hidden, self._weighed(op, op.Add(attended, fed)))

    def _feed_forward(self, op: OpBuilder, hidden: ir.Value) -> ir.Value:
        first = self.pre_feedforward_layernorm
        if first is None and self.config.norm_placement == "pre":
            first = self.post_attention_layernorm
        normal = hidden if first is None else first(op, hidden)
        fed = self.mlp(op, normal)
        if self.post_feedforward_layernorm is not None:
            fed = self.post_feedforward_layernorm(op, fed)
        start = normal if self.config.residual_from_norm else hidden
        return op.Add(start, self._weighed(op, fed))


class Decoder(nn.Module):
    """Embeddings, the layers, the final norm. Parameter names are llama's (``model.layers.0...``)."""

    layer_class: type[DecoderLayer] = DecoderLayer

    def __init__(self, config: ModelConfig, dtype: ir.DataType) -> None:
        super().__init__()
        self.config, self.dtype = config, dtype
        width = config.hidden_size
        self.embed_tokens = Embedding(config.vocab_size, width, dtype=dtype)
        learned = config.position_embedding == "learned"
        self.embed_positions = Embedding(config.max_position_embeddings, width, dtype=dtype) if learned else None
        self.embed_layernorm = make_norm(config, width, dtype) if config.embedding_norm else None
        layers: list[nn.Module] = [self.layer_class(config, i, dtype) for i in range(config.num_hidden_layers)]
        self.layers = nn.ModuleList(layers)
        self.norm = make_norm(config, width, dtype)

    def forward(
        self,
        op: OpBuilder,
        input_ids: ir.Value,
        attention_mask: ir.Value,
        position_ids: ir.Value,
        past: Sequence[KeyValue],
    ) -> tuple[ir.Value, list[KeyValue]]:
        """The last hidden states ``[B, S, E]`` and the present of each layer."""
        hidden, presents = self.embed(op, input_ids, position_ids), []
        contexts = self._contexts(op, attention_mask, position_ids)
        for index, layer in enumerate(self.layers):
            hidden, present = layer(op, hidden, contexts[index], past[index])
            presents.append(present)
        return self.norm(op, hidden), presents

    def embed(self, op: OpBuilder, input_ids: ir.Value, position_ids: ir.Value) -> ir.Value:
        """``[B, S, E]`` of tokens, and of positions where the model learned them."""
        hidden = scaled(op, self.embed_tokens(op, input_ids), self.config.embedding_multiplier)
        if self.embed_positions is not None:
            hidden = op.Add(hidden, self.embed_positions(op, position_ids))
        return hidden if self.embed_layernorm is None else self.embed_layernorm(op, hidden)

    def _contexts(self, op: OpBuilder, attention_mask: ir.Value, position_ids: ir.Value) -> list[AttentionContext]:
        """What each layer attends with; layers of one kind share mask and tables."""
        config, masks = self.config, Masks(op, attention_mask, position_ids)
        rotaries = Rotaries(op, config, self.dtype, position_ids)
        biased: dict[ir.Value, ir.Value] = {}
        contexts = []
        for layer in range(config.num_hidden_layers):
            mask = masks.get(config.window(layer))
            if config.position_embedding == "alibi":
                if mask not in biased:
                    heads = config.num_attention_heads
                    biased[mask] = alibi_mask(op, mask, attention_mask, heads, self.dtype)
                mask = biased[mask]
            contexts.append(AttentionContext(mask, position_ids, rotaries.get(config.rope_of(layer))))
        return contexts


class HeadBias(nn.Module):
    """The bias ``[V]`` of a head whose matrix is the embedding's."""

    def __init__(self, vocab_size: int, dtype: ir.DataType) -> None:
        super().__init__("lm_head")
        self.bias = nn.Parameter([vocab_size], dtype=dtype)

    def forward(self, op: OpBuilder, logits: ir.Value) -> ir.Value:
        return op.Add(logits, self.bias)


class CausalLM(nn.Module):
    """A decoder with its output head: what the text-generation task builds.

    A family that differs sets ``decoder_class`` (or, below it, ``layer_class`` and ``attention_class``).
    """

    decoder_class: type[Decoder] = Decoder

    def __init__(self, config: ModelConfig, dtype: ir.DataType = ir.DataType.FLOAT) -> None:
        super().__init__()
        self.config, self.dtype = config, dtype
        self.model = self.decoder_class(config, dtype)
        width, vocab, bias = config.hidden_size, config.vocab_size, config.lm_head_bias
        tied = config.tie_word_embeddings
        self.lm_head = None if tied else Linear(width, vocab, bias=bias, dtype=dtype)
        self.head_bias = HeadBias(vocab, dtype) if tied and bias else None

    def forward(
        self,
        op: OpBuilder,
        input_ids: ir.Value,
        attention_mask: ir.Value,
        position_ids: ir.Value,
        past: Sequence[KeyValue],
        *,
        last_token: bool = False,
    ) -> tuple[ir.Value, list[KeyValue]]:
        """``logits [B, S, V]`` (``[B, 1, V]``: of each row's last token) and each layer's present keys and values."""
        hidden, presents = self.model(op, input_ids, attention_mask, position_ids, past)
        if last_token:
            hidden = self._last(op, hidden, input_ids, attention_mask)
        return self.head(op, hidden), presents

    def _last(self, op: OpBuilder, hidden: ir.Value, input_ids: ir.Value, attention_mask: ir.Value) -> ir.Value:
        function = functions.function(LAST_TOKEN, op.builder.graph.opset_imports[""])
        last: ir.Value = op.call(function, hidden, input_ids, attention_mask, _outputs=1)
        last.type, last.shape = hidden.type, ir.Shape([dim(hidden, 0), 1, self.config.hidden_size])
        return last

    def head(self, op: OpBuilder, hidden: ir.Value) -> ir.Value:
        """Logits of the last hidden states, by the embedding's own weight where they are tied."""
        config = self.config
        logits = self._project(op, hidden)
        logits = scaled(op, logits, config.logits_multiplier)
        if config.final_logit_softcapping:
            cap = float(config.final_logit_softcapping)
            logits = op.Mul(op.Tanh(op.Div(logits, cap)), cap)
        return logits

    def _project(self, op: OpBuilder, hidden: ir.Value) -> ir.Value:
        if self.lm_head is not None:
            return self.lm_head(op, hidden)
        op.builder.push_module("lm_head")
        logits = self.model.embed_tokens.project(op, hidden)
        op.builder.pop_module()
        return logits if self.head_bias is None else self.head_bias(op, logits)

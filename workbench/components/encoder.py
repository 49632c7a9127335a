"""The encoder of the BERT family: every token sees every real one, and norms stand after the residual sums."""

from __future__ import annotations

import onnx_ir as ir
from onnxscript import OpBuilder, nn

from workbench import functions
from workbench.components.embedding import Embedding
from workbench.components.graph import dim
from workbench.components.linear import Linear
from workbench.components.mlp import PlainMLP
from workbench.components.norm import make_norm
from workbench.config.encoder_config import EncoderConfig
from workbench.functions import PADDING_MASK


class EncoderAttention(nn.Module):
    """Self attention without a cache: ``[B, S, E]`` to ``[B, S, E]`` under ``mask [B, 1, S, S]``."""

    def __init__(self, config: EncoderConfig, dtype: ir.DataType) -> None:
        super().__init__()
        self.config = config
        width = config.hidden_size
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            Linear(width, width, bias=True, dtype=dtype) for _ in range(4)
        )

    def forward(self, op: OpBuilder, hidden: ir.Value, mask: ir.Value) -> ir.Value:
        heads = self.config.num_attention_heads
        output = op.Attention(
            self.q_proj(op, hidden), self.k_proj(op, hidden), self.v_proj(op, hidden), mask,
            q_num_heads=heads, kv_num_heads=heads, scale=self.config.head_dim**-0.5,
        )  # fmt: skip
        output.shape = hidden.shape
        return self.o_proj(op, output)


class EncoderLayer(nn.Module):
    """Attention and feed-forward, each added to its input and then normalised."""

    def __init__(self, config: EncoderConfig, dtype: ir.DataType) -> None:
        super().__init__()
        self.self_attn = EncoderAttention(config, dtype)
        self.self_attn_layernorm = make_norm(config, config.hidden_size, dtype)
        self.mlp = PlainMLP(config, dtype)
        self.mlp_layernorm = make_norm(config, config.hidden_size, dtype)

    def forward(self, op: OpBuilder, hidden: ir.Value, mask: ir.Value) -> ir.Value:
        hidden = self.self_attn_layernorm(op, op.Add(self.self_attn(op, hidden, mask), hidden))
        return self.mlp_layernorm(op, op.Add(self.mlp(op, hidden), hidden))


class Encoder(nn.Module):
    """Embeddings of tokens, positions and segments, the layers: ``last_hidden_state [B, S, E]``."""

    def __init__(self, config: EncoderConfig, dtype: ir.DataType = ir.DataType.FLOAT) -> None:
        super().__init__()
        self.config = config
        width = config.hidden_size
        self.embed_tokens = Embedding(config.vocab_size, width, dtype=dtype)
        self.embed_positions = Embedding(config.max_position_embeddings, width, dtype=dtype)
        self.embed_token_types = Embedding(config.type_vocab_size, width, dtype=dtype)
        self.embed_layernorm = make_norm(config, width, dtype)
        layers: list[nn.Module] = [EncoderLayer(config, dtype) for _ in range(config.num_hidden_layers)]
        self.layers = nn.ModuleList(layers)

    def forward(
        self, op: OpBuilder, input_ids: ir.Value, attention_mask: ir.Value, token_type_ids: ir.Value
    ) -> ir.Value:
        hidden = self._embed(op, input_ids, token_type_ids)
        mask = self._mask(op, attention_mask)
        for layer in self.layers:
            hidden = layer(op, hidden, mask)
        return hidden

    def _embed(self, op: OpBuilder, input_ids: ir.Value, token_type_ids: ir.Value) -> ir.Value:
        """Positions count slots from 0; a slot's number is how many ones stand before it."""
        tokens = op.Add(self.embed_tokens(op, input_ids), self.embed_token_types(op, token_type_ids))
        ids = op.Cast(input_ids, to=ir.DataType.INT64)
        ones = op.Add(op.Sub(ids, ids), 1)
        positions = op.Sub(op.CumSum(ones, 1), 1)
        return self.embed_layernorm(op, op.Add(tokens, self.embed_positions(op, positions)))

    def _mask(self, op: OpBuilder, attention_mask: ir.Value) -> ir.Value:
        opset = op.builder.graph.opset_imports[""]
        mask: ir.Value = op.call(functions.function(PADDING_MASK, opset), attention_mask, _outputs=1)
        B, S = dim(attention_mask, 0), dim(attention_mask, 1)
        mask.type, mask.shape = ir.TensorType(ir.DataType.BOOL), ir.Shape([B, 1, S, S])
        return mask

"""Grouped-query attention with a key/value cache, in the one spelling that every rule matches."""

from __future__ import annotations

import dataclasses

import onnx_ir as ir
from onnxscript import OpBuilder, nn

from workbench import functions
from workbench.components.graph import dim
from workbench.components.linear import Linear
from workbench.components.norm import make_qk_norm
from workbench.components.rope import RotaryTables
from workbench.config.model_config import ModelConfig
from workbench.functions import FIXED_CACHE_ATTENTION

KeyValue = tuple[ir.Value, ir.Value]
"""Keys and values of one layer, each ``[B, K, P, D]`` (past) or ``[B, K, T, D]`` (present)."""


@dataclasses.dataclass(frozen=True)
class AttentionContext:
    """What layers share: ``mask [B, 1 or H, S, T]`` of this layer's kind, ``position_ids [B, S]``, RoPE tables."""

    mask: ir.Value
    position_ids: ir.Value
    tables: RotaryTables | None


class Attention(nn.Module):
    """Self attention: ``[B, S, E]`` and the past to ``[B, S, E]`` and the present.

    ``project``, ``rotate`` and ``attend`` are the seams at which a family differs; override one of them.
    """

    def __init__(self, config: ModelConfig, layer: int, dtype: ir.DataType) -> None:
        super().__init__()
        self.config, self.layer = config, layer
        heads, kv_heads, size = config.num_attention_heads, config.num_key_value_heads, config.head_dim
        width, bias = config.hidden_size, config.attention_bias
        self.q_proj = Linear(width, heads * size, bias=bias, dtype=dtype)
        self.k_proj = Linear(width, kv_heads * size, bias=bias, dtype=dtype)
        self.v_proj = Linear(width, kv_heads * size, bias=bias, dtype=dtype)
        self.o_proj = Linear(heads * size, width, bias=config.attention_out_bias, dtype=dtype)
        self.q_norm = make_qk_norm(config, heads, dtype)
        self.k_norm = make_qk_norm(config, kv_heads, dtype)

    def forward(
        self, op: OpBuilder, hidden: ir.Value, context: AttentionContext, past: KeyValue
    ) -> tuple[ir.Value, KeyValue]:
        query, key, value = self.project(op, hidden)
        query, key = self.rotate(op, query, key, context)
        output, present = self.attend(op, query, key, value, context, past)
        return self.o_proj(op, output), present

    def project(self, op: OpBuilder, hidden: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
        """``query [B, S, H*D]``, ``key`` and ``value [B, S, K*D]``, query and key normalised if the model does so."""
        query, key = self.q_proj(op, hidden), self.k_proj(op, hidden)
        if self.config.qk_norm is not None and self.q_norm is not None and self.k_norm is not None:
            query, key = self.q_norm(op, query), self.k_norm(op, key)
        return query, key, self.v_proj(op, hidden)

    def rotate(
        self, op: OpBuilder, query: ir.Value, key: ir.Value, context: AttentionContext
    ) -> tuple[ir.Value, ir.Value]:
        """Give query and key their positions."""
        if context.tables is None:
            return query, key
        query = context.tables.apply(op, query, self.config.num_attention_heads)
        return query, context.tables.apply(op, key, self.config.num_key_value_heads)

    def attend(
        self,
        op: OpBuilder,
        query: ir.Value,
        key: ir.Value,
        value: ir.Value,
        context: AttentionContext,
        past: KeyValue,
    ) -> tuple[ir.Value, KeyValue]:
        """The standard's Attention over past and new tokens; over a cache of fixed length if the past has one."""
        if isinstance(dim(past[0], 2), int):
            return self._attend_fixed(op, query, key, value, context, past)
        config = self.config
        capped = {"softcap": config.attn_logit_softcapping} if config.attn_logit_softcapping else {}
        output, present_key, present_value = op.Attention(
            query, key, value, context.mask, *past,
            q_num_heads=config.num_attention_heads, kv_num_heads=config.num_key_value_heads,
            scale=config.scale(self.layer), _outputs=3, **capped,
        )  # fmt: skip
        B, S, T = dim(query, 0), dim(query, 1), dim(context.mask, 3)
        output.shape = ir.Shape([B, S, config.num_attention_heads * config.head_dim])
        for present in (present_key, present_value):
            present.shape = ir.Shape([B, config.num_key_value_heads, T, config.head_dim])
        return output, (present_key, present_value)

    def _attend_fixed(
        self,
        op: OpBuilder,
        query: ir.Value,
        key: ir.Value,
        value: ir.Value,
        context: AttentionContext,
        past: KeyValue,
    ) -> tuple[ir.Value, KeyValue]:
        config, opset = self.config, op.builder.graph.opset_imports[""]
        output, *present = op.call(
            functions.function(FIXED_CACHE_ATTENTION, opset), query, key, value, context.mask, *past,
            q_num_heads=config.num_attention_heads, kv_num_heads=config.num_key_value_heads,
            scale=float(config.scale(self.layer)), softcap=float(config.attn_logit_softcapping or 0.0), _outputs=3,
        )  # fmt: skip
        output.type = query.type
        output.shape = ir.Shape([dim(query, 0), dim(query, 1), config.num_attention_heads * config.head_dim])
        for made, old in zip(present, past, strict=True):
            made.type, made.shape = old.type, old.shape
        return output, (present[0], present[1])

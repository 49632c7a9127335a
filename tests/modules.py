"""Modules of a user's own: a llama with an ALiBi-style bias, and one that normalises query and key after RoPE.

Both look like attention that a provider has a fused kernel for, and both compute something else.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx_ir as ir
from onnxscript import OpBuilder

from tests.cases import seeded_weights
from workbench.components.attention import Attention, AttentionContext, KeyValue
from workbench.components.decoder import CausalLM, Decoder, DecoderLayer
from workbench.components.norm import RMSNorm
from workbench.config.model_config import ModelConfig

Make = Callable[[ModelConfig, ir.DataType], CausalLM]


def filled(module: type[CausalLM], seed: int) -> Make:
    """A factory for ``build_from_module`` whose modules have seeded weights, the same in every dtype."""

    def make(config: ModelConfig, dtype: ir.DataType) -> CausalLM:
        made = module(config, dtype)
        shapes = {name: tuple(map(int, parameter.shape)) for name, parameter in made.named_parameters()}
        arrays = seeded_weights(shapes, seed)
        made.load_state_dict({name: ir.tensor(array.astype(dtype.numpy())) for name, array in arrays.items()})
        return made

    return make


def _scalar(op: OpBuilder, number: float, dtype: ir.DataType) -> ir.Value:
    return op.Constant(value=ir.tensor(np.array(number, dtype.numpy())))


class AlibiAttention(Attention):
    """Scores lose ``slope x distance``, with a slope per head; distances count visible tokens, so padding is free."""

    def attend(
        self, op: OpBuilder, query: ir.Value, key: ir.Value, value: ir.Value, context: AttentionContext, past: KeyValue
    ) -> tuple[ir.Value, KeyValue]:
        dtype = query.dtype or ir.DataType.FLOAT
        heads = self.config.num_attention_heads
        slopes = (0.5 ** (1 + np.arange(heads))).astype(dtype.numpy()).reshape(1, heads, 1, 1)
        seen = op.Cast(context.mask, to=ir.DataType.FLOAT)
        later = op.CumSum(seen, op.Constant(value_int=3), exclusive=1, reverse=1)  # visible tokens behind each
        distance = op.Cast(later, to=dtype)
        bias = op.Neg(op.Mul(distance, op.Constant(value=ir.tensor(slopes))))
        lowest = _scalar(op, -6e4 if dtype == ir.DataType.FLOAT16 else -1e9, dtype)
        masked = op.Where(context.mask, bias, lowest)
        masked.dtype = dtype
        B, _, S, T = context.mask.shape
        masked.shape = ir.Shape([B, heads, S, T])
        shifted = AttentionContext(masked, context.position_ids, context.tables)
        return super().attend(op, query, key, value, shifted, past)


class NormAfterRopeAttention(Attention):
    """Each head of query and key is normalised after it has been rotated."""

    def __init__(self, config: ModelConfig, layer: int, dtype: ir.DataType) -> None:
        super().__init__(config, layer, dtype)
        self.q_norm = RMSNorm(config.head_dim, eps=config.norm_eps, dtype=dtype)
        self.k_norm = RMSNorm(config.head_dim, eps=config.norm_eps, dtype=dtype)

    def rotate(
        self, op: OpBuilder, query: ir.Value, key: ir.Value, context: AttentionContext
    ) -> tuple[ir.Value, ir.Value]:
        query, key = super().rotate(op, query, key, context)
        return self._normed(op, query, self.q_norm), self._normed(op, key, self.k_norm)

    def _normed(self, op: OpBuilder, x: ir.Value, norm: RMSNorm) -> ir.Value:
        """``[B, S, N*D]`` through a norm over ``D`` and back."""
        split = op.Reshape(x, op.Constant(value_ints=[0, 0, -1, self.config.head_dim]))
        joined = op.Reshape(norm(op, split), op.Constant(value_ints=[0, 0, -1]))
        joined.dtype, joined.shape = x.dtype, x.shape
        return joined


def _llama_with(attention: type[Attention], name: str) -> type[CausalLM]:
    layer = type(f"{name}Layer", (DecoderLayer,), {"attention_class": attention})
    decoder = type(f"{name}Decoder", (Decoder,), {"layer_class": layer})
    return type(f"{name}ForCausalLM", (CausalLM,), {"decoder_class": decoder})


AlibiLlama = _llama_with(AlibiAttention, "AlibiLlama")
NormAfterRopeLlama = _llama_with(NormAfterRopeAttention, "NormAfterRopeLlama")

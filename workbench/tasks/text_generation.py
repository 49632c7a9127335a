"""Text generation: tokens and a key/value cache in, logits and the grown cache out."""

from __future__ import annotations

import onnx_ir as ir
from onnxscript import GraphBuilder, nn

from workbench.components.attention import KeyValue
from workbench.config.model_config import ModelConfig
from workbench.tasks.base import finish, new_builder
from workbench.types import GraphOptions, Role


class TextGeneration:
    """``input_ids [B, S], attention_mask [B, T], position_ids [B, S], past_key_values.{i}.key|value [B, K, P, D]`` to
    ``logits [B, S, V], present.{i}.key|value [B, K, T, D]``, with ``T = P + S``. ``P`` may be 0.

    With a cache of fixed length, past and present are ``[B, K, C, D]`` and the first ``T`` of ``C`` slots are in use.
    """

    name = "text-generation"
    roles = {"model": Role.DECODER}

    def build(
        self, module: nn.Module, config: ModelConfig, dtype: ir.DataType, options: GraphOptions
    ) -> dict[str, ir.Model]:
        """The one generic graph of a decoder."""
        builder = new_builder("decoder")
        ids, mask, positions = self._token_inputs(builder, options)
        past = self._past_inputs(builder, config, dtype, options)
        more = {"last_token": True} if options.last_token_logits else {}  # modules of users need not know of it
        logits, presents = module(builder.op, ids, mask, positions, past, **more)
        B, S = self._batch_and_sequence(options)
        logits.shape = ir.Shape([B, 1 if options.last_token_logits else S, config.vocab_size])
        builder.add_output(logits, "logits")
        for layer, present in enumerate(presents):
            for value, word in zip(present, ("key", "value"), strict=True):
                builder.add_output(value, f"present.{layer}.{word}")
        return {"model": finish(builder)}

    def _batch_and_sequence(self, options: GraphOptions) -> tuple[str | int, str | int]:
        return options.dim("batch_size"), options.dim("sequence_length")

    def _token_inputs(self, builder: GraphBuilder, options: GraphOptions) -> tuple[ir.Value, ir.Value, ir.Value]:
        B, S = self._batch_and_sequence(options)
        T, dtype = options.dim("total_sequence_length"), options.index_dtype
        return (
            builder.input("input_ids", dtype, [B, S]),
            builder.input("attention_mask", dtype, [B, T]),
            builder.input("position_ids", dtype, [B, S]),
        )

    def _past_inputs(
        self, builder: GraphBuilder, config: ModelConfig, dtype: ir.DataType, options: GraphOptions
    ) -> list[KeyValue]:
        B, P = options.dim("batch_size"), options.cache_length or options.dim("past_sequence_length")
        shape = [B, config.num_key_value_heads, P, config.head_dim]
        return [
            (
                builder.input(f"past_key_values.{layer}.key", dtype, shape),
                builder.input(f"past_key_values.{layer}.value", dtype, shape),
            )
            for layer in range(config.num_hidden_layers)
        ]

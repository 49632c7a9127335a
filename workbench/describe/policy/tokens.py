"""Graphs between a proposer and its verifier: the best token of each position, and tokens behind tokens."""

from __future__ import annotations

import onnx_ir as ir
from onnxscript import GraphBuilder

from workbench.tasks.base import finish, new_builder


def best_tokens(dtype: ir.DataType, classes: int | str) -> ir.Model:
    """``logits [B, S, V]`` to ``tokens [B, S]``: the highest score of each position, the first of equals."""
    builder = new_builder("best_tokens")
    logits = builder.input("logits", dtype, ["batch", "sequence", classes])
    return _ended(builder, builder.op.ArgMax(logits, axis=-1, keepdims=0), ["batch", "sequence"])


def joined_tokens() -> ir.Model:
    """``first [B, S]`` and ``then [B, W]`` to ``tokens [B, S + W]``: what the target reads to judge a proposal."""
    builder = new_builder("joined_tokens")
    int64 = ir.DataType.INT64
    first, then = (
        builder.input("first", int64, ["batch", "sequence"]),
        builder.input("then", int64, ["batch", "proposal"]),
    )
    return _ended(builder, builder.op.Concat(first, then, axis=1), ["batch", "sequence + proposal"])


def _ended(builder: GraphBuilder, tokens: ir.Value, shape: list[str]) -> ir.Model:
    tokens.dtype, tokens.shape = ir.DataType.INT64, ir.Shape(shape)
    builder.add_output(tokens, "tokens")
    return finish(builder)


__all__ = ["best_tokens", "joined_tokens"]

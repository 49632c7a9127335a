"""Graphs between a proposer and its verifier: the best token of each position, and tokens behind tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
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


def repeated_tokens(ids: Sequence[int], dtype: ir.DataType, rank: int) -> ir.Model:
    """The same ``tokens [B, W]`` for each row of ``like``, whose first axis has an entry per request."""
    builder = new_builder("repeated_tokens")
    like = builder.input("like", dtype, ["batch", *(f"like.{axis}" for axis in range(1, rank))])
    row = builder.op.Constant(value=ir.tensor(np.array([list(ids)], np.int64)))
    batch = builder.op.Shape(like, start=0, end=1)
    width = builder.op.Constant(value=ir.tensor(np.array([len(ids)], np.int64)))
    tokens = builder.op.Expand(row, builder.op.Concat(batch, width, axis=0))
    return _ended(builder, tokens, ["batch", len(ids)])


def _ended(builder: GraphBuilder, tokens: ir.Value, shape: list[int | str]) -> ir.Model:
    tokens.dtype, tokens.shape = ir.DataType.INT64, ir.Shape(shape)
    builder.add_output(tokens, "tokens")
    return finish(builder)


__all__ = ["best_tokens", "joined_tokens", "repeated_tokens"]

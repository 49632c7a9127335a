"""Rotary position embedding: the tables of a graph, and the node that applies them."""

from __future__ import annotations

import dataclasses

import numpy as np
import onnx_ir as ir
from onnxscript import OpBuilder

from workbench import functions
from workbench.components.frequencies import attention_factor, exponents, inverse_frequencies
from workbench.config.model_config import ModelConfig
from workbench.config.rope_config import RopeConfig
from workbench.functions import DYNAMIC_ROPE_TABLES, LONG_ROPE_TABLE


@dataclasses.dataclass(frozen=True)
class RotaryTables:
    """Cosines and sines ``[positions, rotary_dim / 2]``, the positions that index them, and the size of a head."""

    cos: ir.Value
    sin: ir.Value
    positions: ir.Value
    rotary_dim: int
    head_dim: int

    def apply(self, op: OpBuilder, x: ir.Value, num_heads: int) -> ir.Value:
        """Rotate ``x [B, S, H*D]`` by ``positions [B, S]``; only the first ``rotary_dim`` entries of a head."""
        partial = 0 if self.rotary_dim == self.head_dim else self.rotary_dim
        return op.RotaryEmbedding(
            x, self.cos, self.sin, self.positions, num_heads=num_heads, interleaved=0, rotary_embedding_dim=partial
        )


class Rotaries:
    """Makes the tables of each RoPE that a model has, once per graph.

    Constant tables are computed when somebody reads them, so a skeleton with 131,072 positions costs nothing.
    """

    def __init__(self, op: OpBuilder, config: ModelConfig, dtype: ir.DataType, position_ids: ir.Value) -> None:
        self._op, self._config, self._dtype = op, config, dtype
        self._position_ids = position_ids
        self._positions: ir.Value | None = None
        self._made: dict[RopeConfig, RotaryTables] = {}

    def get(self, rope: RopeConfig | None) -> RotaryTables | None:
        """The tables of a RoPE; None for layers without."""
        if rope is None:
            return None
        if rope not in self._made:
            cos, sin = self._tables(rope)
            dim = self._config.rotated(rope)
            self._made[rope] = RotaryTables(cos, sin, self._int64_positions(), dim, self._config.head_dim)
        return self._made[rope]

    def _int64_positions(self) -> ir.Value:
        """The standard's RotaryEmbedding takes int64 positions and nothing else."""
        if self._positions is None:
            narrow = self._position_ids.dtype != ir.DataType.INT64
            cast = self._op.Cast
            self._positions = cast(self._position_ids, to=ir.DataType.INT64) if narrow else self._position_ids
        return self._positions

    def _tables(self, rope: RopeConfig) -> tuple[ir.Value, ir.Value]:
        if rope.rope_type == "dynamic":
            return self._dynamic(rope)
        if rope.rope_type == "longrope":
            return self._longrope(rope)
        return self._constant(rope, "cos"), self._constant(rope, "sin")

    def _constant(self, rope: RopeConfig, word: str, *, long: bool = False) -> ir.Value:
        config, dtype, dim = self._config, self._dtype, self._config.rotated(rope)
        function = {"cos": np.cos, "sin": np.sin}[word]
        name = f"rotary_emb{'_local' if rope is config.sliding_rope else ''}.{'long_' if long else ''}{word}"

        def compute() -> ir.TensorProtocol:
            positions = np.arange(config.max_position_embeddings, dtype=np.float32)
            angles = np.outer(positions, inverse_frequencies(rope, dim, config.max_position_embeddings, long=long))
            factor = np.float32(attention_factor(rope, config.max_position_embeddings))
            return ir.Tensor((function(angles) * factor).astype(dtype.numpy()), dtype=dtype)

        shape = ir.Shape([config.max_position_embeddings, dim // 2])
        table = ir.LazyTensor(compute, dtype, shape, cache=True, name=name)
        return self._op.builder.initializer(table, name, qualify=False)

    def _longrope(self, rope: RopeConfig) -> tuple[ir.Value, ir.Value]:
        """Tables for short and for long sequences, chosen while running by the largest position."""
        return self._choice(rope, "cos"), self._choice(rope, "sin")

    def _choice(self, rope: RopeConfig, word: str) -> ir.Value:
        short, long = self._constant(rope, word), self._constant(rope, word, long=True)
        function = functions.function(LONG_ROPE_TABLE, self._op.builder.graph.opset_imports[""])
        original = rope.original_max_position_embeddings or self._config.max_position_embeddings
        table: ir.Value = self._op.call(function, self._int64_positions(), short, long, original=original, _outputs=1)
        table.type, table.shape = short.type, short.shape
        return table

    def _dynamic(self, rope: RopeConfig) -> tuple[ir.Value, ir.Value]:
        """Tables whose base grows with the sequence: computed in the graph, as long as the largest position needs."""
        dim = self._config.rotated(rope)
        powers = self._op.builder.initializer(ir.tensor(exponents(dim)), "rotary_emb.exponents", qualify=False)
        function = functions.function(DYNAMIC_ROPE_TABLES, self._op.builder.graph.opset_imports[""])
        cos, sin = self._op.call(
            function, self._int64_positions(), powers, _outputs=2,
            theta=float(rope.rope_theta), factor=float(rope.factor), power=dim / (dim - 2),
            original=float(rope.original_max_position_embeddings or self._config.max_position_embeddings),
        )  # fmt: skip
        for table in (cos, sin):
            table.type, table.shape = ir.TensorType(ir.DataType.FLOAT), ir.Shape([None, dim // 2])
        if self._dtype == ir.DataType.FLOAT:
            return cos, sin
        return self._op.Cast(cos, to=self._dtype), self._op.Cast(sin, to=self._dtype)

"""ALiBi: a bias on the scores that grows with distance, one slope per head, instead of position embeddings.

Source: transformers 5.24, ``modeling_bloom.py`` (``build_alibi_tensor``): positions count real tokens.
"""

from __future__ import annotations

import math

import numpy as np
import onnx_ir as ir
from onnxscript import OpBuilder

from workbench.components.graph import dim

LOWEST = {ir.DataType.FLOAT16: -65504.0}
"""What masked scores get; -3e38 where the dtype has the range."""


def slopes(num_heads: int) -> np.ndarray:
    """``[H]`` float32 slopes: powers of a base, and every second one of the next base beyond a power of two."""
    whole = 2 ** math.floor(math.log2(num_heads))
    base = 2.0 ** -(2.0 ** -(math.log2(whole) - 3))
    found = [base**power for power in range(1, whole + 1)]
    if whole < num_heads:
        extra = 2.0 ** -(2.0 ** -(math.log2(2 * whole) - 3))
        found += [extra**power for power in range(1, 2 * (num_heads - whole) + 1, 2)]
    return np.array(found, np.float32)


def alibi_mask(op: OpBuilder, mask: ir.Value, attention_mask: ir.Value, num_heads: int, dtype: ir.DataType) -> ir.Value:
    """A float mask ``[B, H, S, T]``: slope times the key's position where ``mask [B, 1, S, T]`` is true, else lowest.

    Softmax does not see what all keys of a row share, so the distance to the query is not needed.
    """
    counted = op.CumSum(op.Cast(attention_mask, to=ir.DataType.FLOAT), 1)
    position = op.Unsqueeze(op.Sub(counted, 1.0), [1, 2])  # [B, 1, 1, T]
    slope = op.builder.initializer(ir.tensor(slopes(num_heads).reshape(1, -1, 1, 1)), "alibi_slopes", qualify=False)
    bias = op.Mul(position, slope)
    if dtype != ir.DataType.FLOAT:
        bias = op.Cast(bias, to=dtype)
    made: ir.Value = op.Where(mask, bias, LOWEST.get(dtype, -3.0e38))
    made.shape = ir.Shape([dim(mask, 0), num_heads, dim(mask, 2), dim(mask, 3)])
    return made

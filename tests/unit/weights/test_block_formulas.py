"""Each quantized type by the formula of its block, value by value in plain Python, on random blocks.

Source: ggml ``ggml-common.h`` (layouts) and ``ggml-quants.c`` (formulas), written down here anew.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.unit.weights.test_gguf_weights import f16, random_blocks
from workbench.weights.dequantize import dequantize

BLOCKS = 7
Formula = Callable[[list[int]], list[float]]


def signed(byte: int) -> int:
    return byte - 256 if byte > 127 else byte


def q5_0(block: list[int], *, minimum: bool = False) -> list[float]:
    head = 4 if minimum else 2
    scale, offset = f16(*block[0:2]), f16(*block[2:4]) if minimum else 0.0
    high = int.from_bytes(bytes(block[head : head + 4]), "little")
    low = block[head + 4 :]
    quants = [(low[j] & 15) | ((high >> j) & 1) << 4 for j in range(16)]
    quants += [(low[j] >> 4) | ((high >> (j + 16)) & 1) << 4 for j in range(16)]
    return [scale * (q if minimum else q - 16) + offset for q in quants]


def q5_1(block: list[int]) -> list[float]:
    return q5_0(block, minimum=True)


def k_scale(packed: list[int], j: int) -> tuple[int, int]:
    """Six-bit scale and minimum of sub-block j out of the twelve bytes that hold eight of each."""
    if j < 4:
        return packed[j] & 63, packed[j + 4] & 63
    return (packed[j + 4] & 15) | (packed[j - 4] >> 6) << 4, (packed[j + 4] >> 4) | (packed[j] >> 6) << 4


def q4_k(block: list[int], *, high: list[int] | None = None) -> list[float]:
    d, dmin, packed, low = f16(*block[0:2]), f16(*block[2:4]), block[4:16], block[-128:]
    values = []
    for j in range(8):
        scale, minimum = k_scale(packed, j)
        for i in range(32):
            byte = low[32 * (j // 2) + i]
            quant = byte >> 4 if j % 2 else byte & 15
            quant += ((high[i] >> j) & 1) << 4 if high else 0
            values.append(d * scale * quant - dmin * minimum)
    return values


def q5_k(block: list[int]) -> list[float]:
    return q4_k(block, high=block[16:48])


def q6_k(block: list[int]) -> list[float]:
    low, high, scales, d = block[:128], block[128:192], [signed(s) for s in block[192:208]], f16(*block[208:210])
    values = []
    for position in range(256):
        half, inner = divmod(position, 128)
        quarter, i = divmod(inner, 32)
        byte = low[64 * half + 32 * (quarter % 2) + i]
        quant = (byte >> 4 if quarter > 1 else byte & 15) | ((high[32 * half + i] >> 2 * quarter) & 3) << 4
        values.append(d * scales[position // 16] * (quant - 32))
    return values


def bf16(block: list[int]) -> list[float]:
    return [float(np.frombuffer(bytes([0, 0, *block]), "<f4")[0])]


FORMULAS: dict[str, Formula] = {"Q5_0": q5_0, "Q5_1": q5_1, "Q4_K": q4_k, "Q5_K": q5_k, "Q6_K": q6_k, "BF16": bf16}
BYTES = {"Q5_0": 22, "Q5_1": 24, "Q4_K": 144, "Q5_K": 176, "Q6_K": 210, "BF16": 2}


@pytest.mark.parametrize("kind", FORMULAS)
def test_formula(kind: str) -> None:
    raw = random_blocks(kind, BLOCKS, seed=3)
    assert raw.size == BLOCKS * BYTES[kind]
    expected = [value for block in raw.reshape(BLOCKS, -1).tolist() for value in FORMULAS[kind](block)]
    found = dequantize(raw, kind, len(expected))
    assert np.abs(found).max() > 0
    if kind == "BF16":
        np.testing.assert_array_equal(found, np.float32(expected))
    # Float32 in the product, doubles here: the last bits differ, and where a minimum is subtracted a few more.
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * float(np.abs(expected).max()))


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"])
def test_equals_transformers_own_kernels(kind: str) -> None:
    import gguf
    import torch
    from transformers.integrations.gguf import dequant

    raw = random_blocks(kind, BLOCKS, seed=5)
    theirs = dequant.dequantize(torch.from_numpy(raw.copy()), int(gguf.GGMLQuantizationType[kind])).numpy().reshape(-1)
    np.testing.assert_allclose(dequantize(raw, kind, theirs.size), theirs, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("kind", "steps"), [("Q4_0", 16), ("Q4_1", 15), ("Q5_0", 32), ("Q5_1", 31), ("Q8_0", 254)])
def test_round_trip_is_off_by_half_a_step(kind: str, steps: int) -> None:
    """Of its own block's range: what the type promises."""
    import gguf

    values = np.random.default_rng(0).normal(0, 1, (64, 32)).astype(np.float32)
    number = gguf.GGMLQuantizationType[kind]
    found = dequantize(np.ascontiguousarray(gguf.quantize(values, number)).reshape(-1), kind, values.size)
    extent = np.abs(values).max(axis=1) * 2
    step = extent / (steps - (kind in ("Q4_0", "Q5_0")))  # symmetric types have one more level on one side
    error = np.abs(found.reshape(values.shape) - values).max(axis=1)
    assert (error <= step * (1.1 if kind in ("Q4_0", "Q5_0") else 0.6)).all()

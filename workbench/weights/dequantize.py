"""Blocks of GGUF's quantized types to float32, a cacheful at a time.

The ``gguf`` library does all types; for the three commonest the same arithmetic on larger groups of blocks is
three times as fast here, bit for bit equal (a test), and lets go of the interpreter lock while it works.

Source: ggml's block layouts (``ggml-common.h``): Q4_0 = d f16, 16 bytes; Q4_1 = d, m f16, 16 bytes; Q8_0 = d
f16, 32 bytes. In a nibble block, value i is the low half of byte i, value i + 16 the high half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

_GROUP_VALUES = 1 << 18  # 1 MiB of float32, still in a core's second cache


def dequantize(raw: np.ndarray, kind: str, count: int) -> np.ndarray:
    """All ``count`` values of the stored bytes ``raw`` [nbytes], float32 [count]."""
    out = np.empty(count, np.float32)
    done = 0
    for group in dequantize_groups(raw, kind):
        out[done : done + group.size] = group
        done += group.size
    return out


def dequantize_groups(raw: np.ndarray, kind: str) -> Iterator[np.ndarray]:
    """The values in order, as fresh flat float32 arrays of at most ``_GROUP_VALUES``.

    Raises:
        NotImplementedError: a type that the gguf library cannot dequantize.
    """
    from gguf import dequantize as library
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    number = GGMLQuantizationType[kind]
    values, nbytes = GGML_QUANT_SIZES[number]
    blocks = raw.reshape(-1, nbytes)
    step = max(1, _GROUP_VALUES // values)
    fast = _FAST.get(kind)
    for start in range(0, len(blocks), step):
        group = blocks[start : start + step]
        if fast is not None:
            yield fast(group).reshape(-1)
        else:
            # One block per row would make the library work on 16 blocks at a time: a row may be longer.
            yield np.asarray(library(np.ascontiguousarray(group).reshape(1, -1), number)).reshape(-1)


def supported(kind: str) -> bool:
    """Whether a type can be dequantized at all."""
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    nbytes = GGML_QUANT_SIZES[GGMLQuantizationType[kind]][1]
    try:
        for _ in dequantize_groups(np.zeros(nbytes, np.uint8), kind):
            pass
    except NotImplementedError:
        return False
    return True


def _half(blocks: np.ndarray, at: int) -> np.ndarray:
    """The float16 at byte ``at`` of each block, as float32 [blocks, 1]."""
    return blocks[:, at : at + 2].copy().view(np.float16).astype(np.float32)


def _nibbles(packed: np.ndarray) -> np.ndarray:
    """[blocks, 16] bytes to [blocks, 32] values 0 to 15, float32."""
    out = np.empty((len(packed), 32), np.float32)
    out[:, :16] = packed & 15
    out[:, 16:] = packed >> 4
    return out


def _q4_0(blocks: np.ndarray) -> np.ndarray:
    out = _nibbles(blocks[:, 2:])
    out -= 8
    out *= _half(blocks, 0)
    return out


def _q4_1(blocks: np.ndarray) -> np.ndarray:
    out = _nibbles(blocks[:, 4:])
    out *= _half(blocks, 0)
    out += _half(blocks, 2)
    return out


def _q8_0(blocks: np.ndarray) -> np.ndarray:
    return np.multiply(blocks[:, 2:].view(np.int8), _half(blocks, 0), dtype=np.float32)


_FAST: dict[str, Callable[[np.ndarray], np.ndarray]] = {"Q4_0": _q4_0, "Q4_1": _q4_1, "Q8_0": _q8_0}

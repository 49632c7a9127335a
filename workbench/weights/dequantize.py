"""Blocks of GGUF's quantized types to float32, a cacheful at a time.

The ``gguf`` library does all types; for the three commonest the same arithmetic on larger groups of blocks is
four times as fast here, bit for bit equal (a test), and lets go of the interpreter lock while it works.

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
            yield fast(group.view(_RECORDS[kind])[:, 0]).reshape(-1)
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


def dequantize_turned(raw: np.ndarray, kind: str, rows: int) -> Iterator[np.ndarray]:
    """The transpose of a matrix of ``rows`` rows, in order, as contiguous float32 arrays [some columns, rows].

    Turning the stored bytes before they grow to floats costs a quarter of turning the floats.
    """
    record = _RECORDS.get(kind)
    if record is None:
        yield np.ascontiguousarray(_all(raw, kind).reshape(rows, -1).T)
        return
    blocks = raw.view(record).reshape(rows, -1)
    step = max(1, _GROUP_VALUES // (32 * rows))
    for start in range(0, blocks.shape[1], step):
        yield _columns(blocks[:, start : start + step], kind)


def _all(raw: np.ndarray, kind: str) -> np.ndarray:
    return np.concatenate(list(dequantize_groups(raw, kind)))


def _columns(blocks: np.ndarray, kind: str) -> np.ndarray:
    """Blocks [rows, g] of a matrix as its turned values [g * 32, rows]."""
    rows, count = blocks.shape
    stored = np.ascontiguousarray(blocks["q"].transpose(1, 2, 0))  # [g, bytes, rows]
    scale = blocks["d"].T.astype(np.float32)[:, None, :]
    if kind == "Q8_0":
        return np.multiply(stored, scale, dtype=np.float32).reshape(-1, rows)
    out = np.empty((count, 2, 16, rows), np.float32)
    out[:, 0] = stored & 15
    out[:, 1] = stored >> 4
    if kind == "Q4_0":
        out -= 8
    out *= scale[:, None]
    if kind == "Q4_1":
        out += blocks["m"].T.astype(np.float32)[:, None, None, :]
    return out.reshape(-1, rows)


def _nibbles(packed: np.ndarray) -> np.ndarray:
    """[blocks, 16] bytes to [blocks, 32] values 0 to 15, float32."""
    out = np.empty((len(packed), 32), np.float32)
    out[:, :16] = packed & 15
    out[:, 16:] = packed >> 4
    return out


def _scale(blocks: np.ndarray, field: str) -> np.ndarray:
    """A float16 field of each block as float32 [blocks, 1]."""
    return blocks[field].astype(np.float32)[:, None]


def _q4_0(blocks: np.ndarray) -> np.ndarray:
    out = _nibbles(blocks["q"])
    out -= 8
    out *= _scale(blocks, "d")
    return out


def _q4_1(blocks: np.ndarray) -> np.ndarray:
    out = _nibbles(blocks["q"])
    out *= _scale(blocks, "d")
    out += _scale(blocks, "m")
    return out


def _q8_0(blocks: np.ndarray) -> np.ndarray:
    return np.multiply(blocks["q"], _scale(blocks, "d"), dtype=np.float32)


_RECORDS = {
    "Q4_0": np.dtype([("d", "<f2"), ("q", "u1", 16)]),
    "Q4_1": np.dtype([("d", "<f2"), ("m", "<f2"), ("q", "u1", 16)]),
    "Q8_0": np.dtype([("d", "<f2"), ("q", "i1", 32)]),
}
_FAST: dict[str, Callable[[np.ndarray], np.ndarray]] = {"Q4_0": _q4_0, "Q4_1": _q4_1, "Q8_0": _q8_0}

"""Columns for the browser as one binary buffer: numbers as they are, texts as UTF-8 with offsets.

A graph of 27,000 nodes is a few megabytes that are copied, and never parsed as a whole: the browser decodes a text
when it is shown. ``static/pack.js`` is the other half.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Column = np.ndarray[Any, Any] | Sequence[str]
_KINDS = {"u1": "u1", "i4": "i4", "f4": "f4"}


def pack(columns: Mapping[str, Column]) -> tuple[dict[str, list[Any]], bytes]:
    """``(header, buffer)``: for each column its kind, offset in bytes and length.

    Arrays have to be ``uint8``, ``int32`` or ``float32``; everything else is taken as a list of texts.
    """
    header: dict[str, list[Any]] = {}
    parts: list[bytes] = []
    size = 0

    def put(data: bytes) -> int:
        nonlocal size
        start = size
        padded = data + b"\0" * (-len(data) % 4)  # typed arrays in the browser want aligned starts
        parts.append(padded)
        size += len(padded)
        return start

    for name, column in columns.items():
        if isinstance(column, np.ndarray):
            kind = _KINDS[column.dtype.str[1:]]
            header[name] = [kind, put(np.ascontiguousarray(column).tobytes()), len(column)]
            continue
        texts = [text.encode("utf-8", "replace") for text in column]
        ends = np.cumsum([0, *map(len, texts)], dtype=np.int64).astype(np.int32)
        header[name] = ["text", put(ends.tobytes()), len(texts), put(b"".join(texts))]
    return header, b"".join(parts)

"""Names of element types: which there are, which spellings mean the same, which are whole numbers or floats."""

from __future__ import annotations

_FOLDED = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16"}
INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
FLOATS = frozenset({"float32", "float16", "bfloat16"})
"""The floats that arithmetic on adapters and sound is done in."""
_FLOAT8 = frozenset(
    {"float8_e4m3fn", "fp8_e4m3fn", "float8_e4m3", "fp8_e4m3", "float8_e5m2", "fp8_e5m2"}
)  # each spelling is a name of its own: the reference folds none of them
NAMEABLE = INTEGERS | FLOATS | _FLOAT8 | frozenset(_FOLDED) | {"bool"}
"""What a workflow may name."""


def fold(dtype: str) -> str:
    """The long name of fp32, fp16 and bf16; any other name as it is."""
    return _FOLDED.get(dtype, dtype)


def same_dtype(a: str, b: str) -> bool:
    return a == b or fold(a) == fold(b)


def is_integer(dtype: str) -> bool:
    return dtype in INTEGERS


def is_float(dtype: str) -> bool:
    return fold(dtype) in FLOATS

"""``semantic_identity``: one hash of what a document says, whatever its order of keys, syntax or layout.

It is a matter of the written words alone: a default that is written out differs from one that is left out.
"""

from __future__ import annotations

import decimal
import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from workbench.metadata.analyses.opening import Source, data_of

PREFIX = "onnx-genai-metadata-identity-v1:sha256:"
_EXACT = 1e18
_text = json.encoder.encode_basestring


def semantic_identity(source: Source, *, dialect: str = "auto") -> str:
    """The identity of a document. It need not be valid, only readable; in ``v1`` what it means in ``pr828`` counts."""
    return identity_of(data_of(source, dialect))


def identity_of(data: Mapping[str, Any]) -> str:
    """The identity of plain data."""
    kept = {**data}
    profiles = data.get("profiles")
    if isinstance(profiles, Mapping):
        kept["profiles"] = {name: profile for name, profile in profiles.items() if not _ignorable(profile)}
    written = _written(kept) or "{}"
    return PREFIX + hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()


def _ignorable(profile: Any) -> bool:
    return isinstance(profile, Mapping) and profile.get("requirement") == "ignorable"


def _written(value: Any) -> str:
    """Compact JSON, keys by code points (and so by bytes); the empty text for what counts as nothing."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        parts = [f"{_text(key)}:{text}" for key in sorted(value) if (text := _written(value[key]))]
        return f"{{{','.join(parts)}}}" if parts else ""
    if isinstance(value, list | tuple):
        parts = [text for item in value if (text := _written(item))]
        return f"[{','.join(parts)}]" if parts else ""
    if value is None:
        return ""
    return ("true" if value else "false") if isinstance(value, bool) else _number(value)


def _number(value: float) -> str:
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return "null"
    if value == math.floor(value) and abs(value) < _EXACT:
        return str(int(value))
    return format(decimal.Decimal(repr(value)), "f")

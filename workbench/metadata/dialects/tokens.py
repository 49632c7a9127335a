"""Special tokens: free names with id and text in ``pr828``, ids by meaning in ``v1``."""

from __future__ import annotations

import re
from typing import Any

from workbench.metadata.dialects.places import Mapping, mapping_at

MEANINGS = ("pad", "bos", "eos", "sep", "decoder_start", "image", "video", "audio", "vision_start")
_NAME = re.compile(rf"({'|'.join(MEANINGS)})(?:_(\d+))?\Z")


def ids_of(data: Any) -> tuple[Mapping, list[str]]:
    """Ids by meaning, and the names that have none. Several ends of text are ``eos``, ``eos_2``, ``eos_3``."""
    tokens = mapping_at(data, "package", "tokenizer", "special_tokens") or {}
    said: Mapping = {}
    left = []
    for name, fact in tokens.items():
        match, number = _NAME.match(name), fact.get("id") if isinstance(fact, dict) else None
        if match is None or not isinstance(number, int) or (match[2] and match[1] != "eos"):
            left.append(name)
        elif match[1] == "eos":
            said.setdefault("eos_token_id", []).append(number)
        else:
            said[f"{match[1]}_token_id"] = number
    return said, left


def facts_of(ids: Mapping) -> Mapping:
    """Named tokens from ids by meaning. Their texts are not in the document: placeholders stand for them."""
    found: Mapping = {}
    for key, value in ids.items():
        name = key.removesuffix("_token_id")
        for index, number in enumerate(value if isinstance(value, list) else [value]):
            found[name if index == 0 else f"{name}_{index + 1}"] = {"id": number, "content": f"<{name}>"}
    return found

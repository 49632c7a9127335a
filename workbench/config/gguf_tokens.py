"""Tokens of GGUF metadata that both kinds of tokenizers treat alike: special ones, and those put around a text.

Source: llama.cpp ``src/llama-vocab.cpp`` (token types, and what an absent field means).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 2, 3, 4, 5, 6
LLAMA3 = ("llama3", "llama-v3", "llama-bpe")
_NOT_STRIPPED = ("<unk>", "<s>", "<|endoftext|>")


def is_sentencepiece(meta: Mapping[str, Any]) -> bool:
    """Whether the metadata are those of a SentencePiece model."""
    return bool(meta.get("tokenizer.ggml.model") == "llama")


def prefix_space(meta: Mapping[str, Any]) -> bool:
    """Whether a space goes before a text: for SentencePiece yes unless the file says no."""
    return bool(meta.get("tokenizer.ggml.add_space_prefix", is_sentencepiece(meta)))


def kinds(meta: Mapping[str, Any]) -> list[int]:
    """The type of each token; normal where the file says none."""
    found = list(meta.get("tokenizer.ggml.token_type", ()))
    return found + [1] * (len(meta["tokenizer.ggml.tokens"]) - len(found))


def add_tokens(tokenizer: Any, meta: Mapping[str, Any]) -> None:
    """Control tokens are special; user-defined ones are matched whole but kept when decoding."""
    from tokenizers import AddedToken

    sentence, phi3 = is_sentencepiece(meta), meta.get("general.architecture") == "phi3"
    for token, kind in zip(meta["tokenizer.ggml.tokens"], kinds(meta), strict=False):
        # Phi-3's markers swallow the white space behind them; the format has no field for it.
        strips = sentence and phi3 and token not in _NOT_STRIPPED
        if kind == CONTROL or (kind == UNKNOWN and sentence):
            tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False, rstrip=strips)])
        elif kind == USER_DEFINED:
            tokenizer.add_tokens([AddedToken(token, normalized=False, rstrip=strips)])


def add_post_processor(tokenizer: Any, meta: Mapping[str, Any]) -> None:
    """The tokens before and behind a text."""
    from tokenizers import processors

    tokens = meta["tokenizer.ggml.tokens"]
    bos, eos = (meta.get(f"tokenizer.ggml.{word}_token_id") for word in ("bos", "eos"))
    begins = is_sentencepiece(meta) or meta.get("tokenizer.ggml.pre") in (*LLAMA3, "tekken")
    first = [tokens[bos]] if meta.get("tokenizer.ggml.add_bos_token", begins) and bos is not None else []
    last = [tokens[eos]] if meta.get("tokenizer.ggml.add_eos_token") and eos is not None else []
    if first or last:
        ids = [(tokens[i], i) for i in (bos, eos) if i is not None]
        second = [f"{part}:1" for part in (*first, "$B", *last)]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=[*first, "$A", *last], pair=[*first, "$A", *last, *second], special_tokens=ids
        )

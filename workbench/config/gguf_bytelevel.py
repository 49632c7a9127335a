"""Byte-level BPE out of GGUF metadata (``tokenizer.ggml.model`` is ``gpt2``).

Source: llama.cpp ``src/llama-vocab.cpp`` (names of pre-tokenizers); the expressions are those of the models' own
``tokenizer.json``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.config.gguf_tokens import LLAMA3, prefix_space

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_LETTERS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_BLANKS = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CAMEL = rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{{0}}|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{{0}}"
_SPLITS = {
    **dict.fromkeys(LLAMA3, rf"{_CONTRACTIONS}|{_LETTERS}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_BLANKS}"),
    "qwen2": rf"{_CONTRACTIONS}|{_LETTERS}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_BLANKS}",
    "tekken": rf"{_CAMEL.replace('{0}', '')}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_BLANKS}",
    "gpt-4o": rf"{_CAMEL.replace('{0}', _CONTRACTIONS + '?')}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_BLANKS}",
}
_DIGITS_FIRST = ("smollm", "starcoder", "refact", "command-r")
_GPT2 = ("default", "gpt-2")
_WHOLE_WORDS_FIRST = (*LLAMA3, "tekken")
_COMPOSED = ("qwen2",)
PRE_TOKENIZERS = (*_DIGITS_FIRST, *_GPT2, *_SPLITS)
"""Values of ``tokenizer.ggml.pre`` that are understood."""


def unsupported(meta: Mapping[str, Any]) -> str:
    """Why no tokenizer can be made of the metadata; empty if one can."""
    pre, merges = meta.get("tokenizer.ggml.pre", "default"), meta.get("tokenizer.ggml.merges")
    if pre not in PRE_TOKENIZERS:
        return f"its pre-tokenizer is {pre!r}; understood are {', '.join(PRE_TOKENIZERS)}"
    if not isinstance(merges, list):
        return "its merges are missing"
    if any(len(merge.split(" ")) != 2 for merge in merges):
        return "a merge is not a pair of tokens"
    return ""


def build(meta: Mapping[str, Any]) -> Any:
    """A ``tokenizers.Tokenizer`` without its special tokens."""
    from tokenizers import Tokenizer, decoders, models, normalizers

    pre = meta.get("tokenizer.ggml.pre", "default")
    merges = [tuple(merge.split(" ")) for merge in meta["tokenizer.ggml.merges"]]
    vocab = {token: index for index, token in enumerate(meta["tokenizer.ggml.tokens"])}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=pre in _WHOLE_WORDS_FIRST))
    if pre in _COMPOSED:
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = _pre_tokenizer(pre, prefix_space(meta))
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _pre_tokenizer(pre: str, prefix: bool) -> Any:
    from tokenizers import Regex, pre_tokenizers

    if pre in _SPLITS:
        split = pre_tokenizers.Split(Regex(_SPLITS[pre]), "isolated")
        return pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=False)])
    level = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    if pre in _DIGITS_FIRST:
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), level])
    return level

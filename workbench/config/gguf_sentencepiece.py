"""SentencePiece BPE out of GGUF metadata (``tokenizer.ggml.model`` is ``llama``): Llama 2, Mistral, Phi-3, Gemma.

The file has scores instead of merges. SentencePiece joins, again and again, the neighbours that make the piece of
the highest score; a list of all pairs that make a piece, sorted by the piece's score, has the ``tokenizers`` library
do the same.

Source: SentencePiece ``bpe_model.cc`` (the rule); llama.cpp ``src/llama-vocab.cpp`` (a space goes before the text and
behind each special token, user-defined tokens are matched first).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.config.gguf_tokens import BYTE, CONTROL, UNKNOWN, UNUSED, USER_DEFINED, kinds, prefix_space

_SPACE = "\u2581"  # how SentencePiece writes a space
_NOT_JOINED = (UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE)


def unsupported(meta: Mapping[str, Any]) -> str:
    """Why no tokenizer can be made of the metadata; empty if one can."""
    tokens, scores = meta["tokenizer.ggml.tokens"], meta.get("tokenizer.ggml.scores")
    if scores is None or len(scores) != len(tokens):
        return f"it has {0 if scores is None else len(scores)} scores for {len(tokens)} tokens"
    normal = {float(score) for score, kind in zip(scores, kinds(meta), strict=False) if kind not in _NOT_JOINED}
    if len(normal) < 2:
        return "its scores are all equal, so they give no order of merges"
    if meta.get("tokenizer.ggml.precompiled_charsmap") is not None:
        return "it normalizes text by a precompiled table (tokenizer.ggml.precompiled_charsmap)"
    return ""


def build(meta: Mapping[str, Any]) -> Any:
    """A ``tokenizers.Tokenizer`` without its special tokens."""
    from tokenizers import Tokenizer, decoders, models, normalizers

    tokens, found = meta["tokenizer.ggml.tokens"], kinds(meta)
    vocab = {token: index for index, token in enumerate(tokens)}
    unknown = next((token for token, kind in zip(tokens, found, strict=False) if kind == UNKNOWN), None)
    model = models.BPE(vocab=vocab, merges=merges(meta), unk_token=unknown, fuse_unk=True, byte_fallback=BYTE in found)
    tokenizer = Tokenizer(model)
    spaces = normalizers.Replace(" ", _SPACE)
    steps: list[Any] = [decoders.Replace(_SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    if prefix_space(meta):
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(_SPACE), spaces])
        steps.append(decoders.Strip(content=" ", left=1, right=0))
    else:
        tokenizer.normalizer = spaces
    tokenizer.decoder = decoders.Sequence(steps)
    return tokenizer


def merges(meta: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Every pair of pieces that makes a piece, the piece of the highest score first."""
    tokens, found = meta["tokenizer.ggml.tokens"], kinds(meta)
    scores = {
        token: float(score)
        for token, score, kind in zip(tokens, meta["tokenizer.ggml.scores"], found, strict=False)
        if kind not in _NOT_JOINED
    }
    place = {token: index for index, token in enumerate(scores)}
    pairs = [
        (-score, place[left], place[right], left, right)
        for token, score in scores.items()
        for cut in range(1, len(token))
        if (left := token[:cut]) in scores and (right := token[cut:]) in scores
    ]
    return [(left, right) for _, _, _, left, right in sorted(pairs)]

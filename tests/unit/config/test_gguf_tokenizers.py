"""Tokenizers out of GGUF metadata: SentencePiece's own ids, and transformers' tokenizers of the same vocabulary."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.config.gguf_bytelevel import PRE_TOKENIZERS
from workbench.config.gguf_sentencepiece import unsupported
from workbench.config.gguf_tokenizer import build_tokenizer

TEXTS = (
    "", " ", "a", "Hello world", "  two  spaces ", "It's what we'LL do", "x=12345; y=6", "tab\tand\n\nnewline\r\n ",
    "caf\u00e9 cafe\u0301 na\u00efve", "\u6f22\u5b57 and \U0001f642!", "camelCase HTTPServer getX2",
    "a/b//c\n/", "...---???\n\n", "<|end|>after", "one <|end|> two", "\u00a0odd\u2003blanks",
)  # fmt: skip


@functools.cache
def trained() -> tuple[list[str], list[str]]:
    """Tokens and merges of a byte-level vocabulary, trained across words and digits so that every split shows."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=1500, initial_alphabet=alphabet, show_progress=False)
    root = Path(__file__).resolve().parents[3]
    tokenizer.train_from_iterator((root / "LICENSE").read_text().splitlines() + [*TEXTS, *random_texts()] * 3, trainer)
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    return tokens, [" ".join(merge) for merge in model["merges"]]


def byte_level(pre: str) -> dict[str, Any]:
    """Metadata: a control token and a user-defined one at the end."""
    tokens, merges = trained()
    return {
        "tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": pre, "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.tokens": [*tokens, "<|end|>", "<think>"],
        "tokenizer.ggml.token_type": np.array([1] * len(tokens) + [3, 4]), "tokenizer.ggml.add_bos_token": False,
    }  # fmt: skip


def random_texts(count: int = 300) -> list[str]:
    rng, letters = random.Random(0), "aeiothnsABC '\"dlm\n\r\t .,/0123\u00e9\u0301\u6f22\U0001f642-"
    return ["".join(rng.choice(letters) for _ in range(rng.randrange(1, 40))) for _ in range(count)]


def encode(tokenizer: Any, texts: list[str]) -> list[list[int]]:
    return [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]


@pytest.mark.parametrize("pre", ["qwen2", "tekken", "gpt-4o", "llama-bpe"])
def test_pre_tokenizers_split_as_transformers_does(pre: str) -> None:
    """Both built from the same metadata; transformers' reader has its own table of expressions."""
    from transformers.integrations.gguf import convert_gguf_tokenizer

    meta = byte_level(pre)
    words = {word: meta[f"tokenizer.ggml.{word}"] for word in ("tokens", "merges")}
    words |= {"tokenizer_type": "gpt2", "pre_tokenizer_type": pre}
    words["token_type"] = meta["tokenizer.ggml.token_type"].tolist()
    theirs, ours = convert_gguf_tokenizer("qwen2", words)[0], build_tokenizer(meta)
    theirs.model.ignore_merges = ours.model.ignore_merges  # llama.cpp's, which transformers' reader leaves out
    theirs.normalizer = ours.normalizer  # transformers' reader leaves out Qwen2's; the next test has it
    texts = [*TEXTS, *random_texts()]
    assert encode(ours, texts) == encode(theirs, texts)


def test_qwen2_equals_transformers_own_class() -> None:
    from transformers import Qwen2Tokenizer

    tokens, merges = trained()
    vocab = {token: index for index, token in enumerate([*tokens, "<|end|>", "<think>"])}
    special = {"unk_token": "<|end|>", "eos_token": "<|end|>", "pad_token": "<|end|>"}
    theirs = Qwen2Tokenizer(vocab=vocab, merges=[tuple(merge.split(" ")) for merge in merges], **special)
    ours, texts = build_tokenizer(byte_level("qwen2")), [*TEXTS, *random_texts()]
    assert encode(ours, texts) == [theirs.encode(text, add_special_tokens=False) for text in texts]
    assert [ours.decode(ids) for ids in encode(ours, texts)] == [
        theirs.decode(theirs.encode(text, add_special_tokens=False), skip_special_tokens=True) for text in texts
    ]


def test_pre_tokenizers_differ_from_each_other() -> None:
    """Else the tests above would prove nothing."""
    names = ("qwen2", "tekken", "gpt-4o", "llama-bpe", "gpt-2", "smollm")
    assert set(names) <= set(PRE_TOKENIZERS)
    texts = [*TEXTS, *random_texts()]
    assert len({json.dumps(encode(build_tokenizer(byte_level(name)), texts)) for name in names}) == len(names)


def sentencepiece(name: str, **words: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(metadata, what SentencePiece itself made of texts)."""
    file = Path(__file__).resolve().parents[2] / "data" / "sentencepiece.json"
    case = json.loads(file.read_text("utf-8"))[name]
    meta = {
        "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": case["tokens"],
        "tokenizer.ggml.scores": np.array(case["scores"], np.float32),
        "tokenizer.ggml.token_type": np.array(case["kinds"]), "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2, "tokenizer.ggml.add_space_prefix": case["add_space_prefix"],
    }  # fmt: skip
    return meta | words, case


@pytest.mark.parametrize("name", ["prefix", "plain"])
def test_sentencepiece_ids(name: str) -> None:
    meta, case = sentencepiece(name)
    tokenizer = build_tokenizer(meta)
    assert encode(tokenizer, case["texts"]) == case["ids"]
    assert [tokenizer.decode(ids) for ids in case["ids"]] == case["decoded"]
    assert tokenizer.encode("a").ids == [1, *case["ids"][case["texts"].index("a")]]  # begins with <s> unless told not


def test_a_space_follows_each_special_token() -> None:
    """As llama.cpp (and Hugging Face's legacy form) have it."""
    meta, _ = sentencepiece("prefix")
    tokens = build_tokenizer(meta).encode("a<s>a", add_special_tokens=False).tokens
    assert tokens == ["\u2581a", "<s>", "\u2581a"]


def test_phi3_markers_swallow_blanks() -> None:
    meta, case = sentencepiece("plain")
    marker = case["tokens"].index("<start_of_turn>")
    phi = build_tokenizer(meta | {"general.architecture": "phi3"}).encode("<start_of_turn>\n a").ids
    other = build_tokenizer(meta | {"general.architecture": "gemma2"}).encode("<start_of_turn>\n a").ids
    assert phi[1] == marker and len(phi) == 3 and len(other) > 3


def without_order(meta: dict[str, Any]) -> dict[str, Any]:
    return meta | {"tokenizer.ggml.scores": np.zeros(len(meta["tokenizer.ggml.tokens"]), np.float32)}


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda meta: meta | {"tokenizer.ggml.scores": None}, "it has 0 scores for 700 tokens"),
        (lambda meta: meta | {"tokenizer.ggml.scores": meta["tokenizer.ggml.scores"][:9]}, "it has 9 scores"),
        (without_order, "scores are all equal"),
        (lambda meta: meta | {"tokenizer.ggml.precompiled_charsmap": np.zeros(3)}, "by a precompiled table"),
    ],
)
def test_sentencepiece_that_cannot_be_rebuilt(change: Callable[[dict[str, Any]], dict[str, Any]], part: str) -> None:
    assert part in unsupported(change(sentencepiece("prefix")[0]))

"""Sections beside the workflow: the model's sizes, its tokenizer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.config.model_config import ModelConfig
from workbench.describe.builder import WorkflowBuilder
from workbench.describe.steps import given
from workbench.describe.subject import Subject
from workbench.metadata.document.model import Attention, ModelFacts
from workbench.metadata.document.package import PackageFacts, SpecialToken, Tokenizer, TokenizerArtifact
from workbench.package.generation import generation_words, special_tokens

TOKENIZER = "tokenizer.json"


def add_model(subject: Subject, builder: WorkflowBuilder, *, capacity: int | None = None) -> None:
    """Sizes of a text generator; ``capacity`` is the length of a cache that does not grow."""
    config = subject.config
    if config is None:
        return
    builder.section("model", ModelFacts(**given(
        attention=_attention(config),
        max_sequence_length=min(capacity or config.max_position_embeddings, config.max_position_embeddings),
        vocab_size=config.vocab_size,
    )))  # fmt: skip


def _attention(config: ModelConfig) -> Attention:
    """Heads alone. A window named here is one that the runtime keeps by dropping tokens from every layer's cache
    (measured with onnx-genai 0.1.0.dev6); our graphs mask what lies before it and count from the first token on."""
    one_each = config.num_attention_heads == config.num_key_value_heads
    return Attention(**given(
        type="multi_head" if one_each else "grouped_query",
        num_attention_heads=config.num_attention_heads,
        num_kv_heads=config.num_key_value_heads,
        head_dim=config.head_dim,
    ))  # fmt: skip


def add_tokenizer(subject: Subject, builder: WorkflowBuilder) -> None:
    """The tokenizer's file and the ids that the runtime asks for by meaning; nothing without a tokenizer."""
    if subject.config is not None and (words := _file(subject)) is not None:
        tokenizer = _tokenizer(words, TOKENIZER, subject.config.vocab_size, dict(_special(subject)))
        builder.section("package", PackageFacts(tokenizer=tokenizer))


def add_words(subject: Subject, builder: WorkflowBuilder, vocab_size: int, special: Mapping[str, int]) -> None:
    """The tokenizer, as far as its file tells, and special tokens by their meaning; each with its text."""
    builder.section("package", PackageFacts(tokenizer=_tokenizer(_file(subject), TOKENIZER, vocab_size, special)))


def tokenizer_facts(path: Path, location: str, vocab_size: int, special: Mapping[str, int]) -> Tokenizer | None:
    """The same of any ``tokenizer.json``, which lies at ``location`` in the package; None where it cannot be read."""
    words = _read(path)
    return _tokenizer(words, location, vocab_size, special) if words is not None else None


def _tokenizer(
    words: Mapping[str, Any] | None, location: str, vocab_size: int, special: Mapping[str, int]
) -> Tokenizer:
    texts = dict(_texts(words)) if words is not None else {}
    return Tokenizer(**given(
        algorithm=_plain(str(words["model"].get("type") or "unknown")).lower() if words is not None else "unknown",
        vocab_size=vocab_size,
        byte_level=True if words is not None and "ByteLevel" in json.dumps(words.get("decoder")) else None,
        artifacts=(TokenizerArtifact(location=location),) if words is not None else None,
        special_tokens={
            name: SpecialToken(id=number, content=_plain(texts.get(number) or f"<{name}>"))
            for name, number in special.items() if 0 <= number < vocab_size
        },
    ))  # fmt: skip


def numbered(ends: Iterable[int]) -> Iterator[tuple[str, int]]:
    """Several ends of a text are called ``eos``, ``eos_2``, ``eos_3``."""
    yield from (("eos" if place == 1 else f"eos_{place}", end) for place, end in enumerate(ends, 1))


def _file(subject: Subject) -> Mapping[str, Any] | None:
    folder = subject.package.tokenizer
    return _read(folder / TOKENIZER) if folder is not None else None


def ends_of(subject: Subject) -> tuple[int, ...]:
    """The ids that end a text; none where the model names none."""
    return tuple(_tokens(subject).get("eos_token_id", ()))


def _tokens(subject: Subject) -> Mapping[str, Any]:
    """Special tokens by the words of a configuration."""
    if subject.config is None:
        return {}
    found, _ = special_tokens(subject.config, generation_words(subject.package.tokenizer))
    return found


def _read(path: Path) -> Mapping[str, Any] | None:
    try:
        words = json.loads(path.read_text("utf-8")) if path.is_file() else None
    except (OSError, ValueError, RecursionError):
        return None
    return words if isinstance(words, dict) and isinstance(words.get("model"), dict) else None


def _texts(words: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Ids with their texts, as far as they are such; what was added has the last word."""
    held = words["model"].get("vocab")
    if isinstance(held, list):
        named = ((one[0], place) for place, one in enumerate(held) if isinstance(one, list) and one)
        held = {text: place for text, place in named if isinstance(text, str)}
    more = words.get("added_tokens")
    added = [one for one in more if isinstance(one, dict)] if isinstance(more, list) else []
    pairs = [*(held.items() if isinstance(held, dict) else ()), *((one.get("content"), one.get("id")) for one in added)]
    yield from ((number, text) for text, number in pairs if isinstance(number, int) and isinstance(text, str))


def _plain(text: str) -> str:
    """The text as a file of text can hold it: half a pair of UTF-16 is no character."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _special(subject: Subject) -> Iterator[tuple[str, int]]:
    found = _tokens(subject)
    yield from ((name, found[f"{name}_token_id"]) for name in ("pad", "bos") if f"{name}_token_id" in found)
    yield from numbered(found.get("eos_token_id", ()))


__all__ = ["add_model", "add_tokenizer", "add_words", "ends_of", "numbered", "tokenizer_facts"]

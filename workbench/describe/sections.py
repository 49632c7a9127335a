"""Sections beside the workflow: the model's sizes, its tokenizer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
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
    config = subject.config
    if config is None or _file(subject) is None:
        return
    add_words(subject, builder, config.vocab_size, dict(_special(subject)))


def add_words(subject: Subject, builder: WorkflowBuilder, vocab_size: int, special: Mapping[str, int]) -> None:
    """The tokenizer, as far as its file tells, and special tokens by their meaning; each with its text."""
    words = _file(subject)
    texts = {token.get("id"): token.get("content") for token in (words or {}).get("added_tokens") or ()}
    texts |= {number: text for text, number in _vocabulary(words or {}).items() if number not in texts}
    made = {name: SpecialToken(id=one, content=str(texts.get(one) or f"<{name}>")) for name, one in special.items()}
    builder.section("package", PackageFacts(tokenizer=Tokenizer(**given(
        algorithm=str((words or {}).get("model", {}).get("type") or "unknown").lower(),
        vocab_size=vocab_size,
        byte_level=True if "ByteLevel" in json.dumps((words or {}).get("decoder")) else None,
        artifacts=(TokenizerArtifact(location=TOKENIZER),) if words is not None else None,
        special_tokens=made,
    ))))  # fmt: skip


def _file(subject: Subject) -> Mapping[str, Any] | None:
    folder = subject.package.tokenizer
    return _read(folder / TOKENIZER) if folder is not None else None


def ends_of(subject: Subject) -> tuple[int, ...]:
    """The ids that end a text; none where the model names none."""
    if subject.config is None:
        return ()
    found, _ = special_tokens(subject.config, generation_words(subject.package.tokenizer))
    return tuple(found.get("eos_token_id", ()))


def _read(path: Path) -> Mapping[str, Any] | None:
    try:
        words = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return words if isinstance(words, dict) else None


def _vocabulary(words: Mapping[str, Any]) -> Mapping[str, int]:
    found = words.get("model", {}).get("vocab")
    return found if isinstance(found, dict) else {}


def _special(subject: Subject) -> Iterator[tuple[str, int]]:
    """Several ends of a text are called ``eos``, ``eos_2``, ``eos_3``."""
    assert subject.config is not None
    found, _ = special_tokens(subject.config, generation_words(subject.package.tokenizer))
    for name in ("pad", "bos", "eos"):
        held = found.get(f"{name}_token_id")
        numbers = held if isinstance(held, list) else [held] if held is not None else []
        yield from ((name if place == 1 else f"{name}_{place}", number) for place, number in enumerate(numbers, 1))


__all__ = ["add_model", "add_tokenizer", "add_words", "ends_of"]

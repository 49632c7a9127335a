"""Checks of ``genai_config.json`` by itself: its keys, their kinds, and the tokens that it names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.errors import Diagnostic, some
from workbench.export.keys import KEYS, MEASURED_WITH, SESSION_OPTIONS, TYPES
from workbench.export.subject import Check, Findings, Subject, finding

_REQUIRED = ("type", "vocab_size", "context_length", "decoder.filename", "decoder.head_size")
_WHOLE = (
    "vocab_size", "context_length", "bos_token_id", "pad_token_id", "decoder.head_size", "decoder.hidden_size",
    "decoder.num_attention_heads", "decoder.num_key_value_heads", "decoder.num_hidden_layers",
    "decoder.sliding_window.window_size",
)  # fmt: skip
_TEXT = ("type", "decoder.filename")
_OBJECTS = (
    "model", "search", "model.decoder", "model.decoder.inputs", "model.decoder.outputs",
    "model.decoder.session_options", "model.decoder.sliding_window",
)  # fmt: skip
OTHER_PARTS = frozenset("encoder vision embedding speech joiner vad audio_output moonshine draft mtp dflash2".split())
"""Parts of models that are more than one decoder; what stands in them is not looked at."""


def unknown_keys(subject: Subject) -> Findings:
    """The client refuses a file with any key that it does not know."""
    for path, known in KEYS.items():
        held = subject.at(path) if path else subject.config
        for key in sorted(set(held) - known) if isinstance(held, Mapping) else ():
            if path or isinstance(held[key], Mapping | list):
                where = f"{path}.{key}" if path else key
                yield finding(
                    "genai.unknown-key", f"{MEASURED_WITH} knows no {where!r} and refuses the whole file.", where,
                    "Remove it.",
                )  # fmt: skip
    options = subject.at("model.decoder.session_options")
    for name, value in options.items() if isinstance(options, Mapping) else ():
        if name not in SESSION_OPTIONS and not isinstance(value, str):
            where = f"model.decoder.session_options.{name}"
            yield finding(
                "genai.unknown-key", f"{name!r} is no session option of the client, and as an entry for ONNX Runtime "
                f"it must be text; found {_kind(value)}.", where, f'Write it as text ("{value}"), or remove it.',
            )  # fmt: skip


def missing_keys(subject: Subject) -> Findings:
    """Five keys have no default."""
    for key in _REQUIRED:
        if subject.at(f"model.{key}") is None:
            where = f"model.{key}"
            yield finding(
                "genai.missing-key", f"{where} is missing; the client has no default for it.", where, "Add it."
            )


def wrong_kinds(subject: Subject) -> Findings:
    """Values of another kind than the client reads."""
    for path in _OBJECTS:
        found = subject.at(path)
        if found is not None and not isinstance(found, Mapping):
            yield _wrong(path, found, "an object of named values")
    for key in _WHOLE:
        found = subject.at(f"model.{key}")
        if found is not None and (isinstance(found, bool) or not isinstance(found, int) or abs(found) >= 2**31):
            yield _wrong(f"model.{key}", found, "a whole number below 2^31")
    for key in _TEXT:
        found = subject.at(f"model.{key}")
        if found is not None and not isinstance(found, str):
            yield _wrong(f"model.{key}", found, "text")
    if (length := subject.whole("model.context_length")) is not None and length < 1:
        yield _wrong("model.context_length", length, "at least 1")
    yield from _wrong_names(subject)


def _wrong_names(subject: Subject) -> Findings:
    for part in ("inputs", "outputs"):
        held = subject.at(f"model.decoder.{part}")
        for key, value in held.items() if isinstance(held, Mapping) else ():
            if not isinstance(value, str):
                yield _wrong(f"model.decoder.{part}.{key}", value, "text")


def _wrong(where: str, found: Any, allowed: str) -> Diagnostic:
    return finding("genai.wrong-kind", f"{where} is {_kind(found)}; the client reads {allowed}.", where, "Correct it.")


def _kind(found: Any) -> str:
    words = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
    return words.get(type(found)) or f"the number {str(found)[:30]}"


def model_type(subject: Subject) -> Findings:
    """A name under which the client runs decoders; other kinds of model have other parts beside the decoder."""
    found, model = subject.at("model.type"), subject.at("model")
    if not isinstance(found, str) or found in TYPES or has_other_parts(model):
        return
    yield finding(
        "genai.model-type", f"{MEASURED_WITH} runs no decoder under the type {found!r}.", "model.type",
        'Write "decoder", which stands for any of them.',
    )  # fmt: skip


def has_other_parts(model: Any) -> bool:
    """Whether a model is more than one decoder with a cache: vision, speech, a pipeline, a type of its own."""
    if not isinstance(model, Mapping):
        return False
    decoder = model.get("decoder")
    pipeline = isinstance(decoder, Mapping) and ("pipeline" in decoder or "layer_types" in decoder)
    return bool(OTHER_PARTS & set(model)) or pipeline or model.get("type") in ("gpt2", "lfm2")


def special_tokens(subject: Subject) -> Findings:
    """Tokens that cannot come: the client would never stop, or would pad with a token that is none."""
    size = subject.whole("model.vocab_size")
    for key in ("eos_token_id", "bos_token_id", "pad_token_id"):
        odd = [token for token in _listed(subject.at(f"model.{key}")) if size is not None and not 0 <= token < size]
        if odd:
            yield finding(
                "genai.eos-token" if key == "eos_token_id" else "genai.special-token",
                f"{key} {some(map(str, odd))} is no token of a vocabulary of {size}.", f"model.{key}",
                "Take it from the model's generation_config.json.",
            )  # fmt: skip


def _listed(found: Any) -> Iterator[int]:
    for token in found if isinstance(found, list) else [found]:
        if isinstance(token, int) and not isinstance(token, bool):
            yield token


def tokenizer_vocabulary(subject: Subject) -> Findings:
    """A tokenizer with more tokens than the model has embeddings gives ids at which a run fails, on CPU kernels."""
    size, held = subject.whole("model.vocab_size"), subject.vocabulary
    if size is not None and held is not None and held > size:
        yield finding(
            "genai.vocab-tokenizer", f"tokenizer.json has tokens up to {held - 1}, the model {size} (0 to {size - 1}).",
            "tokenizer.json", "Put the tokenizer of this model beside it.",
        )  # fmt: skip


CHECKS = (
    Check("genai.unknown-key", "keys that the client does not know", unknown_keys),
    Check("genai.missing-key", "keys without a default", missing_keys),
    Check("genai.wrong-kind", "values of another kind than the client reads", wrong_kinds),
    Check("genai.model-type", "the type of model", model_type),
    Check("genai.eos-token", "special tokens outside the vocabulary", special_tokens),
    Check("genai.vocab-tokenizer", "the tokenizer's vocabulary against the model's", tokenizer_vocabulary),
)

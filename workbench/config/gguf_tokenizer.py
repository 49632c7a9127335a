"""Tokenizer files out of GGUF metadata, as a Hugging Face folder: byte-level BPE only.

``tokenizers.Tokenizer.from_file`` and ``transformers.AutoTokenizer.from_pretrained`` both read what is
written. Source: the pre-tokenizer names and their regular expressions are llama.cpp's (``src/llama-vocab.cpp``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.config.files import cache_dir, reason, sync_file, sync_folder, temporary_folder
from workbench.config.gguf_reader import GgufFile
from workbench.errors import Diagnostic

_LAYOUT = 1  # raise it when the files written for the same metadata change
_CONTROL, _USER_DEFINED = 3, 4
_WORDS = {"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "pad_token": "padding"}
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_DIGITS_FIRST = ("smollm", "starcoder", "refact", "command-r")
_GPT2 = ("default", "gpt-2")
_LLAMA3_NAMES = ("llama3", "llama-v3", "llama-bpe")
PRE_TOKENIZERS = (*_DIGITS_FIRST, *_GPT2, *_LLAMA3_NAMES)
"""Values of ``tokenizer.ggml.pre`` that are understood."""


def tokenizer_folder(file: GgufFile, config: Mapping[str, Any]) -> tuple[Path | None, Diagnostic | None]:
    """A folder with the tokenizer's files in the user's cache, or None and why.

    The folder is named by the sha256 of the file's header, which holds everything that decides the tokenizer.
    """
    if why := _unsupported(file.metadata):
        return None, _without(file, why)
    folder = cache_dir() / "tokenizers" / f"{file.header_sha256[:40]}-{_LAYOUT}"
    if folder.is_dir():
        return folder, None
    try:
        _write_folder(folder, tokenizer_files(file, config))
    except OSError as error:
        return None, _without(file, f"its files cannot be written to {folder.parent} ({reason(error)})")
    except Exception as error:  # the tokenizers library raises plain Exception
        return None, _without(file, f"the tokenizers library refuses its vocabulary ({error})")
    return folder, None


def _without(file: GgufFile, why: str) -> Diagnostic:
    return Diagnostic(
        "source.no-tokenizer",
        "warning",
        f"No tokenizer was made from the GGUF metadata: {why}.",
        where=file.path.name,
        hint="Prompts need one; feeds made of token ids do not.",
    )


def _unsupported(meta: Mapping[str, Any]) -> str:
    """Why no tokenizer can be made of the metadata; empty if one can."""
    model, pre = meta.get("tokenizer.ggml.model"), meta.get("tokenizer.ggml.pre", "default")
    if model != "gpt2":
        return f"its kind is {model!r}; understood is 'gpt2' (byte-level BPE)"
    if pre not in PRE_TOKENIZERS:
        return f"its pre-tokenizer is {pre!r}; understood are {', '.join(PRE_TOKENIZERS)}"
    tokens, merges = meta.get("tokenizer.ggml.tokens"), meta.get("tokenizer.ggml.merges")
    if not isinstance(tokens, list) or not isinstance(merges, list):
        return "tokens or merges are missing"
    if len(set(tokens)) != len(tokens):
        return "its vocabulary holds a token twice"
    if any(len(merge.split(" ")) != 2 for merge in merges):
        return "a merge is not a pair of tokens"
    return ""


def tokenizer_files(file: GgufFile, config: Mapping[str, Any]) -> dict[str, str]:
    """Name and text of each file: tokenizer, its config with chat template, generation config, model config."""
    tokenizer = build_tokenizer(file.metadata)
    generation = {
        word: config[word] for word in ("bos_token_id", "eos_token_id", "pad_token_id") if config.get(word) is not None
    }
    return {
        "tokenizer.json": tokenizer.to_str(pretty=False),
        "tokenizer_config.json": _json(_tokenizer_config(file.metadata)),
        "generation_config.json": _json(generation),
        "config.json": _json(config),
    }


def build_tokenizer(meta: Mapping[str, Any]) -> Any:
    """The ``tokenizers.Tokenizer`` of byte-level BPE metadata that :func:`tokenizer_folder` accepts."""
    from tokenizers import Tokenizer, decoders, models

    tokens: list[str] = meta["tokenizer.ggml.tokens"]
    merges = [tuple(merge.split(" ")) for merge in meta["tokenizer.ggml.merges"]]
    pre = meta.get("tokenizer.ggml.pre", "default")
    vocab = {token: index for index, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges, ignore_merges=pre in _LLAMA3_NAMES))
    tokenizer.pre_tokenizer = _pre_tokenizer(pre, bool(meta.get("tokenizer.ggml.add_space_prefix", False)))
    tokenizer.decoder = decoders.ByteLevel()
    _add_tokens(tokenizer, tokens, meta.get("tokenizer.ggml.token_type", ()))
    _add_post_processor(tokenizer, meta, tokens)
    return tokenizer


def _pre_tokenizer(pre: str, prefix: bool) -> Any:
    from tokenizers import Regex, pre_tokenizers

    if pre in _LLAMA3_NAMES:
        split = pre_tokenizers.Split(Regex(_LLAMA3), "isolated")
        return pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=False)])
    level = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    if pre in _DIGITS_FIRST:
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), level])
    return level


def _add_tokens(tokenizer: Any, tokens: list[str], kinds: Any) -> None:
    """Control tokens are special; user-defined ones are matched whole but kept when decoding."""
    from tokenizers import AddedToken

    for token, kind in zip(tokens, kinds, strict=False):
        if kind == _CONTROL:
            tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False)])
        elif kind == _USER_DEFINED:
            tokenizer.add_tokens([AddedToken(token, normalized=False)])


def _add_post_processor(tokenizer: Any, meta: Mapping[str, Any], tokens: list[str]) -> None:
    from tokenizers import processors

    bos, eos = (meta.get(f"tokenizer.ggml.{word}_token_id") for word in ("bos", "eos"))
    first = [tokens[bos]] if meta.get("tokenizer.ggml.add_bos_token") and bos is not None else []
    last = [tokens[eos]] if meta.get("tokenizer.ggml.add_eos_token") and eos is not None else []
    if first or last:
        ids = [(tokens[i], i) for i in (bos, eos) if i is not None]
        second = [f"{part}:1" for part in (*first, "$B", *last)]
        tokenizer.post_processor = processors.TemplateProcessing(
            single=[*first, "$A", *last], pair=[*first, "$A", *last, *second], special_tokens=ids
        )


def _tokenizer_config(meta: Mapping[str, Any]) -> dict[str, Any]:
    tokens = meta["tokenizer.ggml.tokens"]
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_prefix_space": bool(meta.get("tokenizer.ggml.add_space_prefix", False)),
        "clean_up_tokenization_spaces": False,
        "model_max_length": meta.get("llama.context_length"),
        "chat_template": meta.get("tokenizer.chat_template"),
    }
    for word, key in _WORDS.items():
        index = meta.get(f"tokenizer.ggml.{key}_token_id")
        if isinstance(index, int) and 0 <= index < len(tokens):
            config[word] = tokens[index]
    return {key: value for key, value in config.items() if value is not None}


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Write the folder whole: complete under a temporary name, then renamed."""
    with temporary_folder(folder) as temporary:
        for name, text in files.items():
            (temporary / name).write_text(text, encoding="utf-8")
            sync_file(temporary / name)
        try:
            os.rename(temporary, folder)
        except OSError:
            if not folder.is_dir():  # else another process was first, with the same content
                raise
    sync_folder(folder.parent)

"""Tokenizer files out of GGUF metadata, as a Hugging Face folder: byte-level BPE and SentencePiece BPE.

``tokenizers.Tokenizer.from_file`` and ``transformers.AutoTokenizer.from_pretrained`` both read what is
written. Source: llama.cpp ``src/llama-vocab.cpp`` (names of kinds and pre-tokenizers, what an absent field means).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from workbench.config import gguf_bytelevel as bytelevel
from workbench.config import gguf_sentencepiece as sentencepiece
from workbench.config.files import cache_dir, reason, sync_file, sync_folder, temporary_folder
from workbench.config.gguf_reader import GgufFile
from workbench.config.gguf_tokens import add_post_processor, add_tokens, prefix_space
from workbench.errors import Diagnostic

_LAYOUT = 2  # raise it when the files written for the same metadata change
_WORDS = {"bos_token": "bos", "eos_token": "eos", "unk_token": "unknown", "pad_token": "padding"}
_BUILDERS: dict[str, tuple[Callable[[Mapping[str, Any]], str], Callable[[Mapping[str, Any]], Any]]] = {
    "gpt2": (bytelevel.unsupported, bytelevel.build),
    "llama": (sentencepiece.unsupported, sentencepiece.build),
}
"""By ``tokenizer.ggml.model``: what is wrong with the metadata (empty if nothing), and the tokenizer."""


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
    model, tokens = meta.get("tokenizer.ggml.model"), meta.get("tokenizer.ggml.tokens")
    if model not in _BUILDERS:
        known = "'gpt2' (byte-level BPE) and 'llama' (SentencePiece BPE)"
        return f"its kind is {model!r}; understood are {known}"
    if not isinstance(tokens, list):
        return "its tokens are missing"
    if len(set(tokens)) != len(tokens):
        return "its vocabulary holds a token twice"
    return _BUILDERS[model][0](meta)


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
    """The ``tokenizers.Tokenizer`` of metadata that :func:`tokenizer_folder` accepts."""
    tokenizer = _BUILDERS[meta["tokenizer.ggml.model"]][1](meta)
    add_tokens(tokenizer, meta)
    add_post_processor(tokenizer, meta)
    return tokenizer


def _tokenizer_config(meta: Mapping[str, Any]) -> dict[str, Any]:
    tokens = meta["tokenizer.ggml.tokens"]
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_prefix_space": prefix_space(meta),
        "clean_up_tokenization_spaces": False,
        "model_max_length": meta.get(f"{meta.get('general.architecture')}.context_length"),
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

"""GGUF metadata to a Hugging Face config, for the architectures whose tensors we can place.

Source: the GGUF specification and the ``gguf`` library's ``Keys`` (fields); transformers' config classes (words).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.config.gguf_families import FAMILIES
from workbench.config.gguf_fields import Fields
from workbench.config.gguf_reader import GgufFile
from workbench.errors import ConfigError, UnsupportedError

ARCHITECTURES = tuple(FAMILIES)
"""Values of ``general.architecture`` that are read."""

_TOKENS = {"bos_token_id": "bos", "eos_token_id": "eos", "pad_token_id": "padding"}


def hf_config(file: GgufFile) -> dict[str, Any]:
    """The Hugging Face config (the words of ``config.json``) that a GGUF file's metadata describe.

    Raises:
        UnsupportedError: another architecture, mixture of experts, one part of several, or a RoPE form that has no
            Hugging Face words.
        ConfigError: a field is missing or is not what it must be.
    """
    fields = _fields(file)
    config = _sizes(fields)
    words = FAMILIES[fields.arch](fields, config)
    return {
        "architectures": words.pop("architectures"),
        "model_type": words.pop("model_type"),
        **config,
        **words,
        "tie_word_embeddings": not fields.has("output.weight"),
        **_token_ids(file.metadata, config["vocab_size"], fields.name),
        "dtype": "float32",
        "torch_dtype": "float32",
    }


def _fields(file: GgufFile) -> Fields:
    from gguf.constants import Keys

    name, architecture = file.path.name, file.metadata.get(Keys.General.ARCHITECTURE)
    if architecture not in FAMILIES:
        raise UnsupportedError(
            f"{name}: GGUF files of architecture {architecture!r} are not read yet; read are: "
            f"{', '.join(ARCHITECTURES)}. Use the model's Hugging Face folder (config.json and safetensors) instead."
        )
    fields = Fields(file, architecture)
    if (experts := fields.find(Keys.LLM.EXPERT_COUNT)) not in (None, 0):
        raise UnsupportedError(
            f"{name}: mixture-of-experts GGUF files are not read yet ({fields.key(Keys.LLM.EXPERT_COUNT)} is "
            f"{experts}). Use the model's Hugging Face folder instead."
        )
    if (parts := file.metadata.get(Keys.Split.LLM_KV_SPLIT_COUNT)) not in (None, 0, 1):
        raise UnsupportedError(
            f"{name} is one of {parts} parts of a split GGUF file; parts are not read. Join them first: "
            "llama-gguf-split --merge FIRST-PART WHOLE.gguf."
        )
    return fields


def _sizes(fields: Fields) -> dict[str, Any]:
    from gguf.constants import Keys

    config: dict[str, Any] = {
        "hidden_size": fields.size(Keys.LLM.EMBEDDING_LENGTH),
        "num_hidden_layers": fields.size(Keys.LLM.BLOCK_COUNT),
        "num_attention_heads": fields.size(Keys.Attention.HEAD_COUNT),
        "intermediate_size": fields.size(Keys.LLM.FEED_FORWARD_LENGTH),
        "max_position_embeddings": fields.size(Keys.LLM.CONTEXT_LENGTH),
    }
    if (layers := config["num_hidden_layers"]) > len(fields.file.tensors):
        raise ConfigError(
            f"{fields.name}: {fields.key(Keys.LLM.BLOCK_COUNT)!r} is {layers}, but the file has only "
            f"{len(fields.file.tensors)} tensors. Convert the model again."
        )
    heads = config["num_attention_heads"]
    config["num_key_value_heads"] = fields.size(Keys.Attention.HEAD_COUNT_KV, heads)
    config["head_dim"] = fields.size(Keys.Attention.KEY_LENGTH, config["hidden_size"] // heads)
    config["vocab_size"] = _vocab_size(fields)
    config["rms_norm_eps"] = fields.number(Keys.Attention.LAYERNORM_RMS_EPS)
    return config


def _vocab_size(fields: Fields) -> int:
    """From the metadata; where the two contradict each other, say so rather than index out of range later."""
    from gguf.constants import Keys

    tensors = fields.file.tensors
    rows = tensors["token_embd.weight"].shape[0] if "token_embd.weight" in tensors else None
    stated = fields.find(Keys.LLM.VOCAB_SIZE)
    if stated is None:
        stated = rows if rows is not None else len(fields.file.metadata.get(Keys.Tokenizer.LIST, ()))
    if not isinstance(stated, int) or stated <= 0 or (rows is not None and rows != stated):
        raise ConfigError(
            f"{fields.name}: {fields.key(Keys.LLM.VOCAB_SIZE)} is {stated!r}, token_embd.weight has {rows} rows; "
            "they must agree. Convert the model again."
        )
    return stated


def _token_ids(meta: Mapping[str, Any], vocab_size: int, name: str) -> dict[str, int | None]:
    ids: dict[str, int | None] = {}
    for word, key in _TOKENS.items():
        value = meta.get(f"tokenizer.ggml.{key}_token_id")
        if value is not None and not (isinstance(value, int) and 0 <= value < vocab_size):
            raise ConfigError(f"{name}: 'tokenizer.ggml.{key}_token_id' is {value!r}; allowed: 0 to {vocab_size - 1}.")
        ids[word] = value
    return ids

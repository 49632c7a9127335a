"""One tensor or two for embedding and head: what is stored goes before what the config says."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import onnx_ir as ir

from workbench.config.model_config import ModelConfig
from workbench.config.parts import AnyConfig
from workbench.errors import Diagnostic
from workbench.weights.lazy import same_values

HEAD, EMBEDDING = "lm_head.weight", "model.embed_tokens.weight"
Weights = Mapping[str, ir.TensorProtocol]


def settle_head(config: AnyConfig, weights: Weights) -> tuple[AnyConfig, Weights, tuple[Diagnostic, ...]]:
    """Config and weights that agree on ``tie_word_embeddings``, by our names.

    Where the config ties and both are stored and differ, they stay apart, with a warning; where only the head is
    stored, it serves as the embedding too. Source: transformers 5.24, ``PreTrainedModel.tie_weights``.
    """
    if not isinstance(config, ModelConfig) or not config.tie_word_embeddings or HEAD not in weights:
        return config, weights, ()
    if EMBEDDING not in weights:
        shared = {EMBEDDING: weights[HEAD], **{name: t for name, t in weights.items() if name != HEAD}}
        return config, shared, ()
    if same_values(weights[HEAD], weights[EMBEDDING]):
        return config, {**weights, HEAD: weights[EMBEDDING]}, ()
    note = Diagnostic(
        "weights.untied-head",
        "warning",
        f"The config ties embedding and head (tie_word_embeddings), but {HEAD} is stored and differs from {EMBEDDING}; "
        "the graph keeps both, as transformers does.",
        where=HEAD,
        hint="Set tie_word_embeddings to false in config.json.",
    )
    return dataclasses.replace(config, tie_word_embeddings=False), weights, (note,)

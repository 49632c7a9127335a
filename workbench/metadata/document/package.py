"""Facts of the package: tokenizer, languages of constraints, generation, hardware and quantization."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from workbench.metadata.document.base import Closed, Flag, Int32, Names, Number, Open, Positive, Text, Uint, Uint32


class TokenizerArtifact(Closed):
    location: Text


class SpecialToken(Closed):
    id: Uint32
    content: Text


class Tokenizer(Closed):
    algorithm: Text
    vocab_size: Positive
    byte_level: Flag = False
    artifacts: Annotated[tuple[TokenizerArtifact, ...], Field(min_length=1)] = ()
    special_tokens: Mapping[str, SpecialToken] = {}


class ConstraintLanguage(Closed):
    dialect: Text
    version: Text
    component: Text


class PackageFacts(Closed):
    tokenizer: Tokenizer | None = None
    constraint_languages: tuple[ConstraintLanguage, ...] = ()


class GenerationDefaults(Open):
    do_sample: Flag | None = None
    temperature: Number | None = None
    top_k: Uint | None = None
    top_p: Number | None = None
    repetition_penalty: Number | None = None
    length_penalty: Number | None = None
    diversity_penalty: Number | None = None
    no_repeat_ngram_size: Uint | None = None
    num_beams: Uint | None = None
    num_return_sequences: Uint | None = None
    early_stopping: Flag | None = None
    min_length: Uint | None = None
    max_length: Uint | None = None


class OverrideConstraint(Closed):
    minimum: Number | None = None
    maximum: Number | None = None


class GenerationOverride(Closed):
    input: Text
    constraint: OverrideConstraint | None = None


class Generation(Closed):
    defaults: GenerationDefaults | None = None
    overrides: Mapping[str, GenerationOverride] = {}


_Amount = Annotated[Number, Field(ge=0)]


class Hardware(Open):
    min_memory_gb: _Amount | None = None
    kv_cache_memory_per_1k_tokens_mb: _Amount | None = None
    min_tp_degree: Positive | None = None
    required_dtypes: Names | None = None
    beneficial_dtypes: Names | None = None
    supports_tensor_parallel: Flag | None = None


class QuantizationOverride(Open):
    component: Text | None = None
    layers: tuple[Int32, ...] | None = None
    precision: str


class Quantization(Open):
    default: str | None = None
    overrides: tuple[QuantizationOverride, ...] | None = None

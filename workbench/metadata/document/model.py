"""Package-wide facts of the model, its sharding, and ``model.io`` of old packages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from workbench.metadata.document.base import Closed, Flag, Names, Number, Open, Positive, Text, Texts, Uint
from workbench.metadata.document.state import Aliasing
from workbench.metadata.document.tensor import Dimension


class KeySequenceLengths(Open):
    scalar_broadcast: Literal["unit_batch"] | None = None


class Attention(Open):
    type: str
    num_attention_heads: Positive | None = None
    num_kv_heads: Positive | None = None
    head_dim: Positive | None = None
    sliding_window: Positive | None = None
    sink_tokens: Uint | None = None
    fallback_behavior: str | None = None
    key_sequence_lengths: KeySequenceLengths | None = None


class Router(Open):
    score_function: str
    selection_method: str
    normalize_weights: Flag
    scaling_factor: Number
    group_count: Positive | None = None
    groups_per_token: Positive | None = None
    group_score: str | None = None


class MixtureOfExperts(Open):
    representation: str
    routed_expert_count: Positive
    experts_per_token: Positive
    expert_intermediate_size: Positive
    shared_expert_count: Uint
    shared_expert_intermediate_size: Uint
    activation: Text
    router: Router


class TensorShard(Closed):
    shard_axis: Uint
    max_shards: Positive
    replicated: Names = ()


class PipelineStage(Closed):
    components: Annotated[Names, Field(min_length=1)]
    outputs: Names = ()
    state_groups: Names = ()


class ExpertShard(Closed):
    expert_count: Positive
    contiguous_groups_only: Flag = False
    replicated: Names = ()


class Sharding(Closed):
    tensor_parallel: Mapping[str, TensorShard] = {}
    pipeline_parallel: tuple[PipelineStage, ...] = ()
    expert_parallel: ExpertShard | None = None


class ChunkedPrefill(Open):
    chunk_size: Positive | None = None


class RuntimeConfigurable(Closed):
    chunked_prefill: ChunkedPrefill | None = None
    continuous_batching: Flag | None = None
    prefix_cache: Flag | None = None


class AbsentInput(Open):
    kind: Literal["zeros"]
    shape: tuple[Dimension, ...]


class OptionalInput(Open):
    presence: Text
    absent: AbsentInput


class StatePair(Open):
    """A past and a present port. The reference's reader takes a pair without ``init`` and ``update``."""

    input: Text
    output: Text
    init: str | None = None
    update: str | None = None


_NonEmpty = Annotated[Texts, Field(min_length=1)]


class StaticCache(Open):
    key_cache_inputs: _NonEmpty
    key_cache_outputs: _NonEmpty
    value_cache_inputs: _NonEmpty
    value_cache_outputs: _NonEmpty
    write_indices_input: Text
    kv_sequence_length_input: Text


_Stride = Literal["kv_heads", "seq_capacity", "head_dim"]


class AxisStrides(Open):
    batch: tuple[_Stride, ...] = ()
    head: tuple[_Stride, ...] = ()
    seq: tuple[_Stride, ...] = ()
    head_dim: tuple[_Stride, ...] = ()


class StrideDescriptor(Open):
    strides: AxisStrides
    reservation_seq_slots: Uint | None = None
    reservation_offset_elements: Uint = 0


class ModelIo(Closed):
    token_input: Text | None = None
    inputs_embeds_input: Text | None = None
    attention_mask_input: Text | None = None
    position_ids_input: Text | None = None
    encoder_hidden_states_input: Text | None = None
    audio_features_input: Text | None = None
    logits_output: Text | None = None
    hidden_output: Text | None = None
    kv_inputs: Texts | None = None
    kv_outputs: Texts | None = None
    cross_kv_inputs: Texts | None = None
    cross_kv_outputs: Texts | None = None
    kv_layout: Literal["head_major_bnsh", "seq_major_bsnh"] | StrideDescriptor | None = None
    kv_ownership: Literal["owned", "shared"] | None = None
    aliasing: Aliasing | None = None
    sequence_source: Literal["token_ids", "inputs_embeds"] | None = None
    optional_inputs: Mapping[str, OptionalInput] = {}
    state_pairs: Annotated[tuple[StatePair, ...], Field(min_length=1)] | None = None
    static_cache: StaticCache | None = None


class ModelFacts(Open):
    attention: Attention | None = None
    max_sequence_length: Positive | None = None
    vocab_size: Positive | None = None
    mixture_of_experts: MixtureOfExperts | None = None
    sharding: Sharding | None = None
    runtime_configurable: RuntimeConfigurable | None = None
    io: ModelIo | None = None

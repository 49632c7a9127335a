"""Top-level adapters: low-rank weights that a request selects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from workbench.metadata.document.base import Closed, Flag, Number, Uint


class GraphInputs(Closed):
    a: str
    b: str
    scale: str | None = None


class TargetSlice(Closed):
    role: str
    offset: Uint
    width: Uint
    rank: Uint | None = None
    alpha: Number | None = None


class Target(Closed):
    """One initializer of a component that adapters may change."""

    id: str
    component: str
    initializer: str
    layer_index: Uint | None = None
    node_name: str
    output_name: str
    activation_dtype: str
    input_features: Uint
    output_features: Uint
    rank: Uint | None = None
    alpha: Number | None = None
    graph_inputs: GraphInputs | None = None
    output_slice: TargetSlice | None = None


class TargetManifest(Closed):
    targets: tuple[Target, ...]


class Selection(Closed):
    segments: str
    adapter_counts: str
    scales: str
    active: str | None = None
    max_adapters: Uint


class Planning(Closed):
    bucket_by_adapter_set: Flag = True
    invalidate_capture_on_eviction: Flag = True
    stable_buffers: Flag = True


class Cache(Closed):
    max_entries: Uint = 16
    eviction: Literal["lru"] = "lru"


class Provenance(Closed):
    producer: str
    source: str | None = None
    revision: str | None = None


class Weight(Closed):
    location: str
    loader_capability: str
    config_location: str | None = None
    scale_encoding: Literal["alpha_over_rank", "baked"]
    format: Literal["json", "ort_genai", "hf_peft", "safetensors"] = "json"


class TargetBinding(Closed):
    target: str
    weight_key: str
    rank: Uint | None = None
    alpha: Number | None = None


class AdapterArtifact(Closed):
    index: Uint
    identity: str
    version: str
    rank: Uint
    alpha: Number
    dtype: str
    provenance: Provenance | None = None
    weights: tuple[Weight, ...] = ()
    bindings: tuple[TargetBinding, ...] = ()


class Adapters(Closed):
    target_manifest: TargetManifest
    selection: Selection
    application_capability: str
    portable_fallback: Flag = False
    discovery_fallback: Literal["disabled", "tooling_only"] = "disabled"
    planning: Planning = Planning()
    cache: Cache = Cache()
    artifacts: Mapping[str, AdapterArtifact] = {}

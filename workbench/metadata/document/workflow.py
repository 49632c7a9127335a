"""The workflow: manifest, inputs, outputs, components, state, effects, serving and steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from workbench.metadata.document.base import Bare, Closed, Flag, Names, Scalar, Uint16, Uint32
from workbench.metadata.document.ports import Component
from workbench.metadata.document.state import Effect, Serving, StateCell
from workbench.metadata.document.steps import Step
from workbench.metadata.document.tensor import TensorContract

RuntimeRoleName = Literal[
    "prompt_text", "prompt_tokens", "negative_prompt_text", "negative_prompt_tokens", "media", "max_iterations",
    "max_output_tokens", "seed", "guidance_scale", "width", "height", "denoising_strength", "sampling_temperature",
    "sampling_top_k", "sampling_top_p", "sampling_min_p", "constraint", "session_id", "row_selection",
    "adapter_segments", "adapter_counts", "adapter_scales", "adapter_active",
]  # fmt: skip


class Manifest(Closed):
    adapter_abis: Mapping[str, str] = {}
    capabilities: Names = ()


class RuntimeRole(Closed):
    kind: Literal["runtime"]
    version: str
    role: RuntimeRoleName


class OpaqueRole(Bare):
    kind: Literal["opaque"]


InputRole = Annotated[RuntimeRole | OpaqueRole, Field(discriminator="kind")]


class RequestSource(Bare):
    kind: Literal["request"]


class ApplicationSource(Closed):
    kind: Literal["application"]
    name: str


class LiteralSource(Bare):
    kind: Literal["literal"]


class ArtifactSource(Closed):
    kind: Literal["artifact"]
    path: str


InputSource = Annotated[RequestSource | ApplicationSource | LiteralSource | ArtifactSource, Field(discriminator="kind")]


class WorkflowInput(Closed):
    contract: TensorContract
    role: InputRole
    source: InputSource
    required: Flag = True
    default: Scalar | tuple[Scalar, ...] | None = None
    present_as: str | None = None
    externally_suppliable: Flag = False


class Media(Closed):
    container: Literal["raw", "wav"]
    encoding: Literal["pcm_s16_le", "pcm_f32_le"]
    sample_rate_hz: Uint32 | None = None
    source_sample_rate_hz: Uint32 | None = None
    channels: Uint16 | None = None
    delivery: Literal["buffered", "streaming"] = "buffered"


class WorkflowOutput(Closed):
    contract: TensorContract
    role: Literal["tokens", "text", "image", "video", "audio", "tensor", "event"]
    stage: Literal["pre_adapter", "post_adapter"]
    value_range: Literal["zero_to_one", "negative_one_to_one", "zero_to_255"] | None = None
    media: Media | None = None


class Workflow(Closed):
    manifest: Manifest
    inputs: Mapping[str, WorkflowInput] = {}
    outputs: Mapping[str, WorkflowOutput] = {}
    components: Mapping[str, Component]
    state: Mapping[str, StateCell] = {}
    effects: Mapping[str, Effect] = {}
    serving: Serving | None = None
    steps: tuple[Step, ...]


class Pipeline(Closed):
    workflow: Workflow

"""Preprocessing programs: how pictures and sound become tensors."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from workbench.metadata.document.base import Flag, Number, Open, Positive, Positive32, Text, Texts, Uint, Uint32
from workbench.metadata.document.tensor import TensorContract

_Wires = Annotated[Texts, Field(min_length=1)]


class ImageSize(Open):
    width: Uint32
    height: Uint32


class ImageTransform(Open):
    op: str
    inputs: _Wires | None = None
    outputs: _Wires | None = None
    size: Uint32 | ImageSize | None = None
    mode: Text | None = None
    interpolation: Text | None = None
    channel_order: Text | None = None
    coordinate_order: Text | None = None
    patch_order: Text | None = None
    temporal_order: Text | None = None
    thumbnail_interpolation: Text | None = None
    thumbnail_order: str | None = None
    include_thumbnail: Flag | None = None
    flatten: Flag | None = None
    scale: Number | None = None
    mean: tuple[Number, ...] | None = None
    std: tuple[Number, ...] | None = None
    pad_value: Number | None = None
    canvas_pad_value: Number | None = None
    tile_size: Positive | None = None
    max_tiles: Positive | None = None
    patch_size: Positive | None = None
    max_patches: Positive | None = None
    merge_size: Positive | None = None
    mask_patch_size: Positive | None = None
    pooling_kernel_size: Positive | None = None
    temporal_patch_size: Positive | None = None
    min_pixels: Positive | None = None
    max_pixels: Positive | None = None
    size_multiple: Positive | None = None
    target_length: Positive | None = None


class ProgramOutput(Open):
    """One value that a program ends in: ``name`` is an SSA output of the adapter's invocation."""

    name: Text
    source: Text
    content: str
    dtype: str
    contract: TensorContract | None = None
    optional: Flag | None = None
    pad_value: Number | None = None


class AudioOutput(ProgramOutput):
    rank: Uint | None = None


class AudioTransform(Open):
    op: str
    inputs: _Wires | None = None
    outputs: _Wires | None = None
    mode: Text | None = None
    window: Text | None = None
    mel_scale: Text | None = None
    scale: Number | None = None
    epsilon: Number | None = None
    pad_value: Number | None = None
    sample_rate: Positive32 | None = None
    channels: Positive | None = None
    n_fft: Positive | None = None
    hop_length: Positive | None = None
    win_length: Positive | None = None
    num_mel_bins: Positive | None = None
    target_length: Positive | None = None


class ImageProgram(Open):
    transforms: tuple[ImageTransform, ...] = ()
    outputs: Annotated[tuple[ProgramOutput, ...], Field(min_length=1)]


class AudioProgram(Open):
    transforms: tuple[AudioTransform, ...] = ()
    outputs: Annotated[tuple[AudioOutput, ...], Field(min_length=1)]


class Preprocessing(Open):
    image: ImageProgram | None = None
    audio: AudioProgram | None = None

"""Profiles: what a package can be used for, and which output plays which part in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from workbench.metadata.document.base import Closed, Flag, Names, Text, Uint, Uint32


class Pooling(Closed):
    kind: Literal["mean", "max", "cls", "last_token"]
    axis: Uint
    normalize: Flag = False


class Vocabulary(Closed):
    source: str
    size: Uint | None = None
    tokens: Names = ()
    word_delimiter: str | None = None
    ignored_tokens: Names = ()


class Decoding(Closed):
    kind: str
    blank_id: Uint32 | None = None
    collapse_repeats: Flag = False
    time_axis: Uint
    class_axis: Uint
    lengths: str | None = None
    vocabulary: Vocabulary | None = None


class Profile(Closed):
    kind: Text
    version: Text
    requirement: Literal["required", "ignorable"] = "required"
    outputs: Mapping[str, str] = {}
    pooling: Pooling | None = None
    decoding: Decoding | None = None
    batch_invariance: str | None = None
    generation_affecting: Flag = False

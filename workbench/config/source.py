"""Where a model comes from, before anything is built: the answer of ``config.resolve``."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from workbench.errors import Diagnostic

Origin = Literal["builtin", "folder", "gguf", "config", "hub"]


@dataclasses.dataclass(frozen=True, eq=False)
class SourceConfig:
    """A resolved model source.

    ``hf`` is the Hugging Face config as a plain dict (the words of ``config.json``). ``weights`` is the file or
    folder that holds the weights (None for a skeleton from a config alone); ``tokenizer`` is a folder with
    ``tokenizer.json`` (and, where known, ``tokenizer_config.json`` and ``generation_config.json``), or None.
    """

    name: str
    model_type: str
    hf: Mapping[str, Any]
    origin: Origin
    weights: Path | None = None
    tokenizer: Path | None = None
    revision: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()

    def __repr__(self) -> str:
        return f"SourceConfig({self.name!r}, model_type={self.model_type!r}, origin={self.origin!r})"

"""What a model family declares about itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from workbench.components.decoder import CausalLM
from workbench.config.model_config import ModelConfig


@dataclasses.dataclass(frozen=True)
class ModelSpec:
    """One family: its ``model_type``, how its config reads, which module builds it, how its weights are named.

    ``rename`` maps parameter names of our module to those of the checkpoint; names that it lacks are equal.
    ``ignored`` holds regular expressions of checkpoint names that carry nothing to bind.
    """

    model_type: str
    config: Callable[[Mapping[str, Any]], ModelConfig]
    module: type[CausalLM] = CausalLM
    task: str = "text-generation"
    rename: Mapping[str, str] = dataclasses.field(default_factory=dict)
    ignored: tuple[str, ...] = (r"rotary_emb\.inv_freq$",)

"""What a model family declares about itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from onnxscript import nn

from workbench.components.decoder import CausalLM
from workbench.config.parts import AnyConfig
from workbench.config.words import read_checked


@dataclasses.dataclass(frozen=True)
class ModelSpec:
    """One family: its ``model_type``, how its config reads, which module builds it, how its weights are named.

    ``defaults`` holds the values that Hugging Face's config class gives to words which a ``config.json`` leaves out.
    ``weights`` is the weight table (``weights.convert``); names that it lacks are those of the checkpoint. ``ignored``
    holds regular expressions of checkpoint names that carry nothing to bind, ``prefix`` what bare base models lack,
    ``strip`` what models with a head put before the base model's names.
    ``exercise`` is a tiny config in Hugging Face's words whose every switch is off its default; ``tiny`` is what a
    small default config of the family needs besides the usual sizes.
    """

    model_type: str
    config: Callable[[Mapping[str, Any]], AnyConfig]
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    module: Callable[..., nn.Module] = CausalLM
    task: str = "text-generation"
    weights: tuple[Any, ...] = ()
    ignored: tuple[str, ...] = (r"rotary_emb\.inv_freq$",)
    prefix: str = ""
    strip: str = ""
    tiny: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    exercise: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def read(self, hf: Mapping[str, Any]) -> AnyConfig:
        """The config of a ``config.json``; words that it leaves out have their defaults.

        Raises:
            ConfigError: a size is missing, or a value is refused.
            UnsupportedError: a switch asks for something that is not built here.
        """
        return read_checked(self.config, {**self.defaults, **hf})

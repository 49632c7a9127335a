"""What single components ask of a config, whichever model it belongs to."""

from __future__ import annotations

from typing import Protocol

from workbench.config.encoder_config import EncoderConfig
from workbench.config.model_config import ModelConfig

AnyConfig = ModelConfig | EncoderConfig
"""The config of any model."""


class NormParts(Protocol):
    """What norms need."""

    @property
    def norm_type(self) -> str: ...
    @property
    def norm_eps(self) -> float: ...
    @property
    def norm_bias(self) -> bool: ...


class MlpParts(Protocol):
    """What feed-forward blocks need."""

    @property
    def hidden_size(self) -> int: ...
    @property
    def intermediate_size(self) -> int: ...
    @property
    def hidden_act(self) -> str: ...
    @property
    def mlp_bias(self) -> bool: ...

"""What single components ask of a config, whichever model it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from workbench.config.encoder_config import EncoderConfig
from workbench.config.model_config import ModelConfig

AnyConfig = ModelConfig | EncoderConfig
"""The config of any model."""


def config_from_dict(values: Mapping[str, Any]) -> AnyConfig:
    """The config that ``to_dict`` made plain; encoders are told by their token types.

    Raises:
        ConfigError: a field is unknown or missing, or a value is refused.
    """
    kind = EncoderConfig if "type_vocab_size" in values else ModelConfig
    return kind.from_dict(values)


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

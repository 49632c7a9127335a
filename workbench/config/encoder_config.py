"""The frozen configuration of encoders of the BERT family."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from workbench.config.checks import one_of, positive, token_ids, whole
from workbench.config.model_config import ACTIVATIONS
from workbench.errors import ConfigError


@dataclasses.dataclass(frozen=True)
class EncoderConfig:
    """Sizes and switches of an encoder, in Hugging Face's words.

    Raises:
        ConfigError: a size is not positive, heads do not divide the width, an activation is unknown.
    """

    model_type: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    max_position_embeddings: int
    type_vocab_size: int
    norm_eps: float
    hidden_act: str
    pad_token_id: int | None = None
    norm_type: str = "layer_norm"
    norm_bias: bool = True
    mlp_bias: bool = True

    def __post_init__(self) -> None:
        sizes = (
            "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
            "max_position_embeddings", "type_vocab_size",
        )  # fmt: skip
        positive(self, *sizes, "norm_eps")
        whole({name: getattr(self, name) for name in sizes})
        token_ids(pad_token_id=self.pad_token_id)
        one_of("hidden_act", self.hidden_act, ACTIVATIONS)
        if self.hidden_size % self.num_attention_heads:
            raise ConfigError(
                f"hidden_size ({self.hidden_size}) must be a multiple of num_attention_heads "
                f"({self.num_attention_heads})."
            )

    @property
    def head_dim(self) -> int:
        """Size of a head."""
        return self.hidden_size // self.num_attention_heads

    @property
    def eos_token_id(self) -> None:
        """An encoder generates nothing, so nothing ends it."""
        return None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-able values; ``from_dict`` turns them back."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> EncoderConfig:
        """The inverse of :meth:`to_dict`.

        Raises:
            ConfigError: a field is unknown or missing, or a value is refused.
        """
        try:
            return cls(**values)
        except TypeError as error:
            raise ConfigError(f"Not the fields of an EncoderConfig: {error}.") from None

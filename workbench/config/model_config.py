"""The frozen, validated configuration that modules are built from. Knows no execution provider."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from workbench.config.check_words import check_words
from workbench.errors import ConfigError

ROPE_TYPES = ("default", "linear", "llama3")
ACTIVATIONS = ("silu", "swish", "gelu", "gelu_pytorch_tanh", "gelu_new", "relu")
LAYER_TYPES = ("full_attention", "sliding_attention")


@dataclasses.dataclass(frozen=True)
class RopeConfig:
    """Rotary position embedding, in the words of Hugging Face's ``rope_parameters``."""

    rope_theta: float = 10000.0
    rope_type: str = "default"
    factor: float = 1.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_max_position_embeddings: int | None = None
    partial_rotary_factor: float = 1.0

    def __post_init__(self) -> None:
        _one_of("rope_type", self.rope_type, ROPE_TYPES)
        _positive(self, "rope_theta", "factor", "partial_rotary_factor")
        if self.rope_type == "llama3" and not self.original_max_position_embeddings:
            raise ConfigError(
                "rope_parameters: rope_type 'llama3' needs original_max_position_embeddings; found none. "
                "Add the number from the model's own config.json."
            )
        if self.partial_rotary_factor > 1:
            raise ConfigError(f"partial_rotary_factor is {self.partial_rotary_factor}; allowed: 0 < factor <= 1.")


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """Sizes and switches of a decoder, in Hugging Face's words.

    ``attention_scale`` multiplies the scores (None: ``head_dim ** -0.5``); ``layer_types`` holds one of
    ``full_attention``, ``sliding_attention`` per layer (None: sliding everywhere if ``sliding_window`` is set, else
    full).

    Raises:
        ConfigError: a size is not positive, heads do not divide, a word is unknown, lengths of lists differ.
    """

    model_type: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_position_embeddings: int = 2048
    rms_norm_eps: float = 1e-6
    hidden_act: str = "silu"
    attention_bias: bool = False
    mlp_bias: bool = False
    tie_word_embeddings: bool = False
    rope: RopeConfig | None = dataclasses.field(default_factory=RopeConfig)
    sliding_window: int | None = None
    layer_types: tuple[str, ...] | None = None
    attention_scale: float | None = None
    attn_logit_softcapping: float | None = None
    bos_token_id: int | None = None
    eos_token_id: int | tuple[int, ...] | None = None
    pad_token_id: int | None = None

    def __post_init__(self) -> None:
        check_words(vars(self))
        _positive(
            self, "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
            "num_key_value_heads", "head_dim", "max_position_embeddings", "rms_norm_eps",
        )  # fmt: skip
        if self.num_attention_heads % self.num_key_value_heads:
            raise ConfigError(
                f"num_attention_heads ({self.num_attention_heads}) must be a multiple of num_key_value_heads "
                f"({self.num_key_value_heads}): each key/value head serves a whole group of query heads."
            )
        _one_of("hidden_act", self.hidden_act, ACTIVATIONS)
        if self.rope is not None and (self.rotary_dim < 2 or self.rotary_dim % 2):
            raise ConfigError(
                f"RoPE rotates pairs: head_dim x partial_rotary_factor must be even and at least 2; "
                f"found {self.head_dim} x {self.rope.partial_rotary_factor} = {self.rotary_dim}."
            )
        self._check_layer_types()

    def _check_layer_types(self) -> None:
        if self.layer_types is None:
            return
        if len(self.layer_types) != self.num_hidden_layers:
            raise ConfigError(
                f"layer_types has {len(self.layer_types)} entries, num_hidden_layers is {self.num_hidden_layers}; "
                "give one entry per layer."
            )
        for word in self.layer_types:
            _one_of("layer_types", word, LAYER_TYPES)
        if "sliding_attention" in self.layer_types and not self.sliding_window:
            raise ConfigError("layer_types asks for sliding_attention but sliding_window is not set.")

    @property
    def rotary_dim(self) -> int:
        """How many of the ``head_dim`` entries RoPE rotates (0 without RoPE)."""
        return int(self.head_dim * self.rope.partial_rotary_factor) if self.rope else 0

    @property
    def scale(self) -> float:
        """What the attention scores are multiplied with."""
        return self.head_dim**-0.5 if self.attention_scale is None else self.attention_scale

    def window(self, layer: int) -> int | None:
        """The sliding window of a layer in tokens, or None where it attends to everything before it."""
        kind = self.layer_types[layer] if self.layer_types else "sliding_attention"
        return self.sliding_window if kind == "sliding_attention" else None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON-able values; ``from_dict`` turns them back."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ModelConfig:
        """The inverse of :meth:`to_dict`.

        Raises:
            ConfigError: a field is unknown or missing, or a value is refused.
        """
        fields = dict(values)
        for name in ("layer_types", "eos_token_id"):
            if isinstance(fields.get(name), list):
                fields[name] = tuple(fields[name])
        try:
            rope = fields.pop("rope", None)
            return cls(**fields, rope=RopeConfig(**rope) if rope else None)
        except TypeError as error:
            raise ConfigError(f"Not the fields of a ModelConfig: {error}.") from None


def _one_of(field: str, found: str, allowed: tuple[str, ...]) -> None:
    if found not in allowed:
        raise ConfigError(f"{field} is {found!r}; this version knows {', '.join(allowed)}.")


def _positive(config: object, *fields: str) -> None:
    for field in fields:
        value = getattr(config, field)
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise ConfigError(f"{field} is {value!r}; it must be a number greater than 0.")

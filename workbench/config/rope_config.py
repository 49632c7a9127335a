"""Rotary position embedding as a model's config describes it."""

from __future__ import annotations

import dataclasses

from workbench.config.checks import is_positive, one_of, positive
from workbench.errors import ConfigError

ROPE_TYPES = ("default", "linear", "llama3", "dynamic", "yarn", "longrope")
_OPTIONAL = ("high_freq_factor", "original_max_position_embeddings", "attention_factor", "mscale", "mscale_all_dim")


@dataclasses.dataclass(frozen=True)
class RopeConfig:
    """Rotary position embedding, in the words of Hugging Face's ``rope_parameters``.

    ``short_factor`` and ``long_factor`` (longrope) hold one number per rotated pair. ``attention_factor`` multiplies
    cosines and sines; None lets yarn and longrope derive it.

    Raises:
        ConfigError: an unknown type, or a type without the numbers that it needs.
    """

    rope_theta: float = 10000.0
    rope_type: str = "default"
    factor: float = 1.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_max_position_embeddings: int | None = None
    partial_rotary_factor: float = 1.0
    attention_factor: float | None = None
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    mscale: float | None = None
    mscale_all_dim: float | None = None
    truncate: bool = True
    short_factor: tuple[float, ...] | None = None
    long_factor: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        one_of("rope_type", self.rope_type, ROPE_TYPES)
        positive(self, "rope_theta", "factor", "partial_rotary_factor", "low_freq_factor", "beta_fast", "beta_slow")
        if self.partial_rotary_factor > 1:
            raise ConfigError(f"partial_rotary_factor is {self.partial_rotary_factor}; allowed: 0 < factor <= 1.")
        self._check_needs()
        positive(self, *(name for name in _OPTIONAL if getattr(self, name) is not None))
        if self.rope_type == "llama3" and not self.high_freq_factor > self.low_freq_factor:
            raise ConfigError(
                f"high_freq_factor ({self.high_freq_factor}) must be greater than low_freq_factor "
                f"({self.low_freq_factor})."
            )
        self._check_factors()

    def _check_needs(self) -> None:
        needs = {
            "llama3": ("original_max_position_embeddings",),
            "longrope": ("original_max_position_embeddings", "short_factor", "long_factor"),
        }
        for field in needs.get(self.rope_type, ()):
            if not getattr(self, field):
                raise ConfigError(
                    f"rope_parameters: rope_type {self.rope_type!r} needs {field}; found none. "
                    "Add it from the model's own config.json."
                )

    def _check_factors(self) -> None:
        for name in ("short_factor", "long_factor"):
            found = getattr(self, name)
            if found is not None and not (isinstance(found, tuple) and all(is_positive(f) for f in found)):
                raise ConfigError(f"{name} is {repr(found)[:60]}; it must be a list of numbers greater than 0.")
        short, long = self.short_factor, self.long_factor
        if short is not None and long is not None and len(short) != len(long):
            raise ConfigError(f"short_factor has {len(short)} numbers, long_factor {len(long)}; give the same number.")

"""RoPE whose tables depend on the length of a run, for tests of what is made of them."""

from __future__ import annotations

import dataclasses

from tests.unit.rules.graphs import config
from workbench import ModelConfig, RopeConfig

ORIGINAL = 12
FACTORS = tuple(1 + 0.1 * i for i in range(8)), tuple(2 + 0.3 * i for i in range(8))
LONG = RopeConfig(
    rope_theta=5000.0, rope_type="longrope", factor=4.0, original_max_position_embeddings=ORIGINAL,
    short_factor=FACTORS[0], long_factor=FACTORS[1],
)  # fmt: skip
DYNAMIC = RopeConfig(rope_theta=5000.0, rope_type="dynamic", factor=2.0, original_max_position_embeddings=ORIGINAL)


def of(rope: RopeConfig) -> ModelConfig:
    return dataclasses.replace(config(), rope=rope)

"""SmolLM3: some layers carry no positions at all (NoPE)."""

from __future__ import annotations

from workbench.config.from_hf import HfConfig, common, layer_types
from workbench.config.model_config import ModelConfig
from workbench.models.spec import ModelSpec


def config(hf: HfConfig) -> ModelConfig:
    """``no_rope_layers`` holds 1 where a layer *does* rotate."""
    rotates = hf.get("no_rope_layers")
    window = hf.get("sliding_window") if hf["use_sliding_window"] else None
    return common(
        hf, sliding_window=window, layer_types=layer_types(hf) if window else None,
        rope_layers=tuple(bool(r) for r in rotates) if rotates else _every(hf),
    )  # fmt: skip


def _every(hf: HfConfig) -> tuple[bool, ...]:
    """Without a list every ``no_rope_layer_interval``-th layer does not rotate."""
    interval = hf.get("no_rope_layer_interval", 4)
    return tuple((i + 1) % interval != 0 for i in range(hf["num_hidden_layers"]))


SPEC = ModelSpec(
    model_type="smollm3",
    config=config,
    defaults={
        "bos_token_id": 128000,
        "eos_token_id": 128001,
        "intermediate_size": 11008,
        "max_position_embeddings": 32768,
        "num_key_value_heads": 4,
        "pad_token_id": 128004,
        "tie_word_embeddings": True,
        "use_sliding_window": False,
        "rope_theta": 2000000.0,
    },
    tiny={"num_hidden_layers": 3, "no_rope_layers": [1, 1, 0]},
    exercise={
        "num_hidden_layers": 3,
        "no_rope_layers": [0, 1, 0],
        "attention_bias": True,
        "mlp_bias": True,
        "use_sliding_window": True,
        "sliding_window": 8,
    },
)

"""Qwen2: biases on query, key and value; a sliding window on the layers that ``layer_types`` names."""

from __future__ import annotations

from workbench.config.from_hf import HfConfig, common, layer_types
from workbench.config.model_config import ModelConfig
from workbench.models.spec import ModelSpec


def config(hf: HfConfig) -> ModelConfig:
    """The window counts only with ``use_sliding_window``; older configs give the first sliding layer instead."""
    window = hf.get("sliding_window") if hf["use_sliding_window"] else None
    return common(
        hf, attention_bias=True, attention_out_bias=False, mlp_bias=False,
        sliding_window=window, layer_types=types(hf) if window else None,
    )  # fmt: skip


def types(hf: HfConfig) -> tuple[str, ...]:
    """``layer_types``, else sliding from layer ``max_window_layers`` on."""
    start = hf.get("max_window_layers", 28)
    sliding, full = "sliding_attention", "full_attention"
    return layer_types(hf) or tuple(sliding if i >= start else full for i in range(hf["num_hidden_layers"]))


SPEC = ModelSpec(
    model_type="qwen2",
    config=config,
    defaults={
        "intermediate_size": 22016,
        "max_position_embeddings": 32768,
        "num_key_value_heads": 32,
        "use_sliding_window": False,
    },
    exercise={
        "use_sliding_window": True,
        "sliding_window": 6,
        "max_window_layers": 1,
        "num_hidden_layers": 3,
        "tie_word_embeddings": True,
    },  # fmt: skip
)

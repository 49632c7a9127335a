"""Skeletons of published models have as many parameters as their makers say: sizes of real configs, no weights.

Source: the models' own ``config.json`` words, and the totals of their model cards and papers (in millions).
"""

from __future__ import annotations

import math
from typing import Any

import onnx_ir as ir
import pytest

from workbench.models import lookup
from workbench.tasks import get_task
from workbench.types import GraphOptions

WITHIN = 0.005


def _sizes(vocab: int, width: int, inner: int, layers: int, heads: int, kv: int | None = None, **more: Any) -> dict:
    found = {
        "vocab_size": vocab, "hidden_size": width, "intermediate_size": inner, "num_hidden_layers": layers,
        "num_attention_heads": heads, "tie_word_embeddings": False,
    }  # fmt: skip
    return found | ({} if kv is None else {"num_key_value_heads": kv}) | more


TIED = {"tie_word_embeddings": True}
PUBLISHED: dict[str, tuple[str, dict[str, Any], float]] = {
    "Llama-3.1-8B": ("llama", _sizes(128256, 4096, 14336, 32, 32, 8), 8030.26),
    "Mistral-7B-v0.1": ("mistral", _sizes(32000, 4096, 14336, 32, 32, 8), 7241.73),
    "Qwen2-7B": ("qwen2", _sizes(152064, 3584, 18944, 28, 28, 4), 7615.62),
    "Qwen2.5-0.5B": ("qwen2", _sizes(151936, 896, 4864, 24, 14, 2, **TIED), 494.03),
    "Qwen3-8B": ("qwen3", _sizes(151936, 4096, 12288, 36, 32, 8, head_dim=128), 8190.74),
    "Phi-3-mini": ("phi3", _sizes(32064, 3072, 8192, 32, 32, 32), 3821.08),
    "phi-2": ("phi", _sizes(51200, 2560, 10240, 32, 32), 2779.68),
    "gemma-2-9b": ("gemma2", _sizes(256000, 3584, 14336, 42, 16, 8, head_dim=256, **TIED), 9241.71),
    "gemma-2-2b": ("gemma2", _sizes(256000, 2304, 9216, 26, 8, 4, head_dim=256, **TIED), 2614.34),
    "gemma-3-1b": ("gemma3_text", _sizes(262144, 1152, 6912, 26, 4, 1, head_dim=256, **TIED), 999.89),
    "OLMo-2-1124-7B": ("olmo2", _sizes(100352, 4096, 11008, 32, 32, 32), 7298.62),
    "gpt2": (
        "gpt2", {"vocab_size": 50257, "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024}, 124.44,
    ),
    "gpt-neox-20b": ("gpt_neox", _sizes(50432, 6144, 24576, 44, 64), 20554.57),
    "pythia-1b": ("gpt_neox", _sizes(50304, 2048, 8192, 16, 8), 1011.78),
    "stablelm-2-1_6b": ("stablelm", _sizes(100352, 2048, 5632, 24, 32, 32, use_qkv_bias=True), 1644.52),
    "SmolLM3-3B": ("smollm3", _sizes(128256, 2048, 11008, 36, 16, 4, **TIED), 3075.10),
    "SmolLM2-135M": ("llama", _sizes(49152, 576, 1536, 30, 9, 3, **TIED), 134.52),
    "bloom-560m": ("bloom", {"vocab_size": 250880, "hidden_size": 1024, "n_layer": 24, "n_head": 16}, 559.21),
    "Mixtral-8x7B": ("mixtral", _sizes(32000, 4096, 14336, 32, 32, 8, num_local_experts=8), 46702.79),
    "Qwen3-30B-A3B": (
        "qwen3_moe",
        _sizes(151936, 2048, 6144, 48, 32, 4, head_dim=128, num_experts=128, num_experts_per_tok=8,
               moe_intermediate_size=768),
        30532.12,
    ),
    "bert-base-uncased": (
        "bert", _sizes(30522, 768, 3072, 12, 12, max_position_embeddings=512, type_vocab_size=2), 108.89,
    ),
}  # fmt: skip
"""Model: its family, the words that decide sizes, millions of parameters (bert without its pooler)."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_those_of_the_published_model(name: str) -> None:
    model_type, words, millions = PUBLISHED[name]
    assert _count(model_type, words) / 1e6 == pytest.approx(millions, rel=WITHIN)


def _count(model_type: str, words: dict[str, Any]) -> int:
    """Parameters of the module; a tied head counts once."""
    spec = lookup(model_type)
    config = spec.read({"model_type": model_type, **words})
    module = spec.module(config, ir.DataType.FLOAT16)
    model = get_task(spec.task).build(module, config, ir.DataType.FLOAT16, GraphOptions())["model"]
    names = {name for name, _ in module.named_parameters()}
    kept = [value for name, value in model.graph.initializers.items() if name in names]
    assert len(kept) == len(names)
    return sum(math.prod(value.shape.numpy()) for value in kept if value.shape is not None)

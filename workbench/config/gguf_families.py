"""What each GGUF architecture says in its own way, as Hugging Face's words.

What the format has no field for follows llama.cpp, which fixes it in code: Gemma's pattern of windows and its
attention scale. Source: llama.cpp ``src/models/gemma2.cpp``, ``gemma3.cpp``, ``phi3.cpp`` and ``conversion/``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.config.gguf_fields import Fields
from workbench.config.gguf_rope import rope_parameters
from workbench.errors import ConfigError, UnsupportedError

Words = dict[str, Any]
_SLIDING, _FULL = "sliding_attention", "full_attention"


def _biases(fields: Fields) -> Words:
    return {
        "attention_bias": fields.has("blk.0.attn_q.bias"),
        "mlp_bias": fields.has("blk.0.ffn_gate.bias"),
    }


def _single_rope(fields: Fields, config: Words, *, partial: bool = False) -> Words:
    rope = rope_parameters(fields, config["head_dim"], config["max_position_embeddings"])
    if "partial_rotary_factor" in rope and not partial:
        rotary = round(rope["partial_rotary_factor"] * config["head_dim"])
        raise UnsupportedError(
            f"{fields.name}: RoPE turns {rotary} of {config['head_dim']} values per head; Hugging Face's {fields.arch} "
            "has no word for a part. Use the model's Hugging Face folder."
        )
    # rope_theta and rope_scaling are the words of transformers before version 5, for readers that know only those.
    scaled = None if rope["rope_type"] == "default" else dict(rope)
    return {"rope_parameters": rope, "rope_theta": rope["rope_theta"], "rope_scaling": scaled}


def _window(fields: Fields, default: int | None = None) -> int | None:
    from gguf.constants import Keys

    if fields.find(Keys.Attention.SLIDING_WINDOW) == 0:
        return None
    if fields.find(Keys.Attention.SLIDING_WINDOW) is None:
        return default
    return fields.size(Keys.Attention.SLIDING_WINDOW)


def _llama(fields: Fields, config: Words) -> Words:
    """Mistral is written as llama; a window tells them apart where it was written at all."""
    window = _window(fields)
    name = "llama" if window is None else "mistral"
    words = {} if window is None else {"sliding_window": window}
    return {
        "architectures": ["LlamaForCausalLM" if window is None else "MistralForCausalLM"], "model_type": name,
        "hidden_act": "silu", **_biases(fields), **_single_rope(fields, config), **words,
    }  # fmt: skip


def _qwen2(fields: Fields, config: Words) -> Words:
    """Biases on query, key and value are a matter of course; no window is ever written."""
    return {
        "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_act": "silu",
        "use_sliding_window": False, **_single_rope(fields, config),
    }  # fmt: skip


def _qwen3(fields: Fields, config: Words) -> Words:
    return {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_act": "silu",
        "use_sliding_window": False, "attention_bias": _biases(fields)["attention_bias"],
        **_single_rope(fields, config),
    }  # fmt: skip


def _phi3(fields: Fields, config: Words) -> Words:
    from gguf.constants import Keys

    original = fields.size(Keys.Rope.SCALING_ORIG_CTX_LEN, config["max_position_embeddings"])
    return {
        "architectures": ["Phi3ForCausalLM"], "model_type": "phi3", "hidden_act": "silu",
        "sliding_window": _window(fields), "original_max_position_embeddings": original,
        **_single_rope(fields, config, partial=True),
    }  # fmt: skip


def _gemma2(fields: Fields, config: Words) -> Words:
    from gguf.constants import Keys

    return {
        "architectures": ["Gemma2ForCausalLM"], "model_type": "gemma2", **_gemma(fields, config, layers_27b=46),
        "attn_logit_softcapping": _cap(fields, Keys.LLM.ATTN_LOGIT_SOFTCAPPING, 50.0),
        "final_logit_softcapping": _cap(fields, Keys.LLM.FINAL_LOGIT_SOFTCAPPING, 30.0),
        "sliding_window": _window(fields, 4096), "layer_types": _pattern(fields, config, every=2),
        **_single_rope(fields, config),
    }  # fmt: skip


def _gemma3(fields: Fields, config: Words) -> Words:
    """A scaled RoPE is that of the full layers; the sliding ones have a base of their own and no scaling."""
    from gguf.constants import Keys

    window = _window(fields)
    full = rope_parameters(fields, config["head_dim"], config["max_position_embeddings"])
    local = fields.number(Keys.Rope.FREQ_BASE_SWA, 10000.0)
    types = _pattern(fields, config, every=6) if window else [_FULL] * config["num_hidden_layers"]
    return {
        "architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", **_gemma(fields, config, layers_27b=62),
        "final_logit_softcapping": fields.optional(Keys.LLM.FINAL_LOGIT_SOFTCAPPING),
        "sliding_window": window or 4096, "layer_types": types,
        "rope_parameters": {_FULL: full, _SLIDING: {"rope_type": "default", "rope_theta": local}},
        "rope_theta": full["rope_theta"], "rope_local_base_freq": local,
        "rope_scaling": None if full["rope_type"] == "default" else dict(full),
    }  # fmt: skip


def _gemma(fields: Fields, config: Words, layers_27b: int) -> Words:
    """The scale is written nowhere: one per root of the head's size, but of the width per head in the 27B models."""
    from gguf.constants import Keys

    scalar: float = config["head_dim"]
    if config["num_hidden_layers"] == layers_27b:
        scalar = config["hidden_size"] // config["num_attention_heads"]
    if fields.find(Keys.Attention.SCALE) is not None:
        scalar = fields.number(Keys.Attention.SCALE) ** -2
    return {
        "hidden_activation": "gelu_pytorch_tanh",
        "query_pre_attn_scalar": scalar,
        "attention_bias": _biases(fields)["attention_bias"],
    }


def _cap(fields: Fields, template: str, default: float) -> float | None:
    """The first files left the caps out and meant the published ones."""
    return default if fields.find(template) is None else fields.optional(template)


def _pattern(fields: Fields, config: Words, every: int) -> list[str]:
    """Every ``every``-th layer sees everything; the file may give another period, or say it layer by layer."""
    from gguf.constants import Keys

    layers, found = config["num_hidden_layers"], fields.find(Keys.Attention.SLIDING_WINDOW_PATTERN)
    if isinstance(found, np.ndarray):
        if len(found) != layers:
            raise ConfigError(
                f"{fields.name}: {fields.key(Keys.Attention.SLIDING_WINDOW_PATTERN)} has {len(found)} entries for "
                f"{layers} layers; give one per layer."
            )
        return [_SLIDING if slides else _FULL for slides in found.tolist()]
    period = every if found is None else fields.size(Keys.Attention.SLIDING_WINDOW_PATTERN)
    return [_FULL if (layer + 1) % period == 0 else _SLIDING for layer in range(layers)]


FAMILIES: dict[str, Callable[[Fields, Words], Words]] = {
    "llama": _llama,
    "qwen2": _qwen2,
    "qwen3": _qwen3,
    "phi3": _phi3,
    "gemma2": _gemma2,
    "gemma3": _gemma3,
}
"""By ``general.architecture``."""

"""GGUF files of tiny Hugging Face models, laid out as llama.cpp's converter lays them out.

Written apart from the reader: names are spelled out here, metadata go through the gguf library's own methods.
Source: llama.cpp ``conversion/`` (``base.py``, ``llama.py``, ``qwen.py``, ``phi.py``, ``gemma.py``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

ARCH = {
    "llama": "llama", "mistral": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "phi3": "phi3", "gemma2": "gemma2",
    "gemma3_text": "gemma3",
}  # fmt: skip
_OUTER = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
_LAYER = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "self_attn.qkv_proj": "attn_qkv", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "mlp.gate_up_proj": "ffn_up",
}  # fmt: skip
_GEMMA = {
    "post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
    "post_feedforward_layernorm": "post_ffw_norm",
}  # fmt: skip


def write(path: Path, hf: Any, state: Mapping[str, np.ndarray], quant: str = "F32") -> Path:
    """A file of ``hf`` (a ``PretrainedConfig``) and its state; matrices stored as ``quant``, vectors in float32."""
    import gguf

    arch, kind = ARCH[hf.model_type], gguf.GGMLQuantizationType[quant]
    writer = gguf.GGUFWriter(path, arch)
    _metadata(writer, hf, arch)
    for name, array in {**tensors(hf, state), **_factors(hf)}.items():
        if array.ndim == 2 and kind != gguf.GGMLQuantizationType.F32:
            writer.add_tensor(name, gguf.quantize(array, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, np.ascontiguousarray(array, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def tensors(hf: Any, state: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """GGUF's names and layouts of a state dict."""
    gemma = hf.model_type.startswith("gemma")
    names = _LAYER | (_GEMMA if gemma else {})
    found = {}
    for name, array in state.items():
        if name == "lm_head.weight" and hf.tie_word_embeddings:
            continue
        module, _, suffix = name.rpartition(".")
        if ARCH[hf.model_type] == "llama" and module.endswith(("q_proj", "k_proj")):
            heads = hf.num_attention_heads if module.endswith("q_proj") else hf.num_key_value_heads
            array = array.reshape(heads, 2, -1, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)
        if gemma and name.endswith("norm.weight"):
            array = array + 1
        if module in _OUTER:
            found[f"{_OUTER[module]}.{suffix}"] = array
        else:
            _, _, layer, inner = module.split(".", 3)
            found[f"blk.{layer}.{names[inner]}.{suffix}"] = array
    return found


def _metadata(writer: Any, hf: Any, arch: str) -> None:
    writer.add_block_count(hf.num_hidden_layers)
    writer.add_context_length(hf.max_position_embeddings)
    writer.add_embedding_length(hf.hidden_size)
    writer.add_feed_forward_length(hf.intermediate_size)
    writer.add_head_count(hf.num_attention_heads)
    writer.add_head_count_kv(hf.num_key_value_heads)
    writer.add_layer_norm_rms_eps(hf.rms_norm_eps)
    size = getattr(hf, "head_dim", None) or hf.hidden_size // hf.num_attention_heads
    if size * hf.num_attention_heads != hf.hidden_size or arch.startswith("gemma"):
        writer.add_key_length(size)
        writer.add_value_length(size)
    rope = hf.rope_parameters.get("full_attention", hf.rope_parameters)
    writer.add_rope_freq_base(rope["rope_theta"])
    if arch in ("llama", "phi3"):
        writer.add_rope_dimension_count(int(size * rope.get("partial_rotary_factor", 1.0)))
    _rope_scaling(writer, rope)
    if arch == "llama":
        writer.add_vocab_size(hf.vocab_size)
    if arch in ("gemma2", "gemma3", "phi3") or (arch == "llama" and getattr(hf, "sliding_window", None)):
        writer.add_sliding_window(hf.sliding_window or 0)
    if arch == "phi3":
        writer.add_rope_scaling_orig_ctx_len(_original(hf))
    if arch == "gemma2":
        writer.add_attn_logit_softcapping(hf.attn_logit_softcapping)
    if getattr(hf, "final_logit_softcapping", None):
        writer.add_final_logit_softcapping(hf.final_logit_softcapping)


def _rope_scaling(writer: Any, rope: Mapping[str, Any]) -> None:
    import gguf

    kind = rope.get("rope_type", "default")
    if kind == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(rope["factor"])
    if kind == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(rope["factor"])
        writer.add_rope_scaling_orig_ctx_len(rope["original_max_position_embeddings"])
        for word, add in (
            ("attention_factor", writer.add_rope_scaling_yarn_attn_factor),
            ("beta_fast", writer.add_rope_scaling_yarn_beta_fast),
            ("beta_slow", writer.add_rope_scaling_yarn_beta_slow),
        ):
            if rope.get(word) is not None:
                add(rope[word])


def _original(hf: Any) -> int:
    return int(hf.rope_parameters.get("original_max_position_embeddings") or hf.original_max_position_embeddings)


def _factors(hf: Any) -> dict[str, np.ndarray]:
    """RoPE's factor tensors: Llama 3's frequencies, longrope's two lists."""
    rope = hf.rope_parameters.get("full_attention", hf.rope_parameters)
    if rope.get("rope_type") == "longrope":
        return {
            f"rope_factors_{side}.weight": np.array(rope[f"{side}_factor"], np.float32) for side in ("long", "short")
        }
    if rope.get("rope_type") != "llama3":
        return {}
    frequencies = rope["rope_theta"] ** -(np.arange(0, hf.head_dim, 2) / hf.head_dim)
    return {"rope_freqs.weight": np.array([_llama3_factor(f, rope) for f in frequencies], np.float32)}


def _llama3_factor(frequency: float, rope: Mapping[str, Any]) -> float:
    length, low, high = rope["original_max_position_embeddings"], rope["low_freq_factor"], rope["high_freq_factor"]
    wavelength = 2 * math.pi / frequency
    if wavelength < length / high:
        return 1.0
    if wavelength > length / low:
        return float(rope["factor"])
    smooth = (length / wavelength - low) / (high - low)
    return float(1 / ((1 - smooth) / rope["factor"] + smooth))

"""Tensors of a GGUF file under their Hugging Face names, dequantized when they are read.

llama's query and key rows are stored in the order that ggml's RoPE wants (pairs side by side); Hugging Face's
order (halves) is restored on the stored rows, before dequantization, so it costs no copy of the floats.

Source: llama.cpp ``convert_hf_to_gguf.py`` (``LlamaModel.permute``) and ``gguf-py/gguf/tensor_mapping.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from workbench.config.gguf_reader import GgufFile, GgufTensor, read_gguf
from workbench.errors import WeightsError
from workbench.weights.dequantize import dequantize, dequantize_groups, dequantize_turned, supported
from workbench.weights.lazy import derived

_OUTER = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_BLOCK = re.compile(r"blk\.(\d+)\.(\w+)\.(weight|bias)")
_PLAIN = re.compile(r"(\w+)\.(weight|bias)")
IGNORED = {"rope_freqs.weight": "RoPE frequency factors: read into the config's rope_parameters"}
"""Tensors that carry no parameter, and why they may be left out."""


def open_gguf(path: Path, hf: Mapping[str, Any]) -> dict[str, ir.TensorProtocol]:
    """Every tensor of a llama GGUF file as float32, by Hugging Face name; nothing is read yet.

    Tensors without a Hugging Face name keep their own, so that binding reports them as unexpected.

    Raises:
        WeightsError: the file is corrupt or truncated, or holds a type that cannot be dequantized.
    """
    file = read_gguf(path)
    _check_types(file)
    return {
        name: _tensor(file, tensor, name, _heads(name, hf))
        for tensor in file.tensors.values()
        if tensor.name not in IGNORED
        for name in [huggingface_name(tensor.name)]
    }


def huggingface_name(name: str) -> str:
    """``blk.0.attn_q.weight`` to ``model.layers.0.self_attn.q_proj.weight``; unknown names stay."""
    if (match := _BLOCK.fullmatch(name)) and match[2] in _LAYER:
        return f"model.layers.{match[1]}.{_LAYER[match[2]]}.{match[3]}"
    if (match := _PLAIN.fullmatch(name)) and match[1] in _OUTER:
        return f"{_OUTER[match[1]]}.{match[2]}"
    return name


def _check_types(file: GgufFile) -> None:
    bad = {tensor.type for tensor in file.tensors.values()}
    if bad := {kind for kind in bad if not supported(kind)}:
        raise WeightsError(
            f"{file.path.name} holds tensors of type {', '.join(sorted(bad))}, which cannot be dequantized. "
            "Use a file quantized another way, or the Hugging Face folder."
        )


def _heads(name: str, hf: Mapping[str, Any]) -> int | None:
    """How many heads the rows of a query or key projection make; None for all others."""
    if ".self_attn.q_proj." in name:
        return int(hf["num_attention_heads"])
    if ".self_attn.k_proj." in name:
        return int(hf["num_key_value_heads"])
    return None


def _tensor(file: GgufFile, tensor: GgufTensor, name: str, heads: int | None) -> ir.TensorProtocol:
    rows = tensor.shape[0]
    if heads is not None and rows % (2 * heads):
        raise WeightsError(f"{tensor.name}: {rows} rows do not make {heads} heads of an even size.")
    count = int(np.prod(tensor.shape, dtype=np.int64))

    def stored() -> np.ndarray:
        raw = file.raw(tensor.name)
        return raw if heads is None else unpermuted(raw.reshape(rows, -1), heads).reshape(-1)

    def make() -> np.ndarray:
        return dequantize(stored(), tensor.type, count).reshape(tensor.shape)

    def in_pieces() -> Iterator[np.ndarray]:
        return dequantize_groups(stored(), tensor.type)

    def turned() -> Iterator[np.ndarray]:
        return dequantize_turned(stored(), tensor.type, rows)

    matrix = len(tensor.shape) == 2
    return derived(name, ir.DataType.FLOAT, tensor.shape, make, pieces=in_pieces, turned=turned if matrix else None)


def unpermuted(rows: np.ndarray, heads: int) -> np.ndarray:
    """Rows [heads * D, ...] from ggml's order (pairs) to Hugging Face's (halves)."""
    half = rows.shape[0] // heads // 2
    return rows.reshape(heads, half, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)

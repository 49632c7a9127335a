"""Tensors of a GGUF file under their Hugging Face names, dequantized when they are read.

llama's query and key rows are stored in the order that ggml's RoPE wants (pairs side by side); Hugging Face's
order (halves) is restored on the stored rows, before dequantization, so it costs no copy of the floats. Gemma's norms
are stored as ``1 + weight``; Hugging Face's weight is what is left.

Source: the ``gguf`` library's tensor name map (names); llama.cpp ``conversion/llama.py`` (``permute``) and
``conversion/gemma.py`` (norms).
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from workbench.config.gguf_reader import GgufFile, GgufTensor, read_gguf
from workbench.config.gguf_rope import TENSORS as IGNORED
from workbench.errors import WeightsError
from workbench.weights.dequantize import dequantize, dequantize_groups, dequantize_turned, supported
from workbench.weights.lazy import derived

_OUTER = ("model.embed_tokens", "model.norm", "lm_head")
_LAYER = (
    "input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm",
    *(f"self_attn.{name}" for name in ("q_proj", "k_proj", "v_proj", "o_proj", "qkv_proj", "q_norm", "k_norm")),
    *(f"mlp.{name}" for name in ("gate_proj", "up_proj", "down_proj")),
)  # fmt: skip
_RENAMED = {"phi3": {"mlp.up_proj": "mlp.gate_up_proj"}}
"""Where the library's map knows several Hugging Face names of one tensor, and the last in the list is not meant."""
_PERMUTED = ("llama",)
_ONE_PLUS = ("gemma2", "gemma3")


def open_gguf(path: Path, hf: Mapping[str, Any]) -> dict[str, ir.TensorProtocol]:
    """Every tensor of a GGUF file as float32, by Hugging Face name; nothing is read yet.

    Tensors without a Hugging Face name keep their own, so that binding reports them as unexpected.

    Raises:
        WeightsError: the file is corrupt or truncated, or holds a type that cannot be dequantized.
    """
    file = read_gguf(path)
    _check_types(file)
    arch = str(file.metadata.get("general.architecture", "llama"))
    # A hostile count of layers costs nothing: a file has no more layers than tensors.
    layers = min(int(file.metadata.get(f"{arch}.block_count", 0)), len(file.tensors))
    names = huggingface_names(arch, layers)
    opened = {}
    for tensor in file.tensors.values():
        if tensor.name not in IGNORED:
            module, _, suffix = tensor.name.rpartition(".")
            known = module in names and suffix in ("weight", "bias")
            name = f"{names[module]}.{suffix}" if known else tensor.name
            heads = _heads(name, hf) if arch in _PERMUTED else None
            opened[name] = _tensor(file, tensor, name, heads, _shift(name, arch))
    return opened


@functools.cache
def huggingface_names(arch: str, layers: int) -> Mapping[str, str]:
    """GGUF's names to Hugging Face's, without ``.weight`` and ``.bias``: ``blk.0.attn_q`` to
    ``model.layers.0.self_attn.q_proj``.
    """
    from gguf import get_tensor_name_map
    from gguf.constants import MODEL_ARCH_NAMES

    number = next((number for number, name in MODEL_ARCH_NAMES.items() if name == arch), None)
    if number is None:
        return types.MappingProxyType({})
    known, renamed = get_tensor_name_map(number, layers), _RENAMED.get(arch, {})
    inner = [renamed.get(name, name) for name in _LAYER]
    modules = [*_OUTER, *(f"model.layers.{i}.{name}" for i in range(layers) for name in inner)]
    return types.MappingProxyType({found: name for name in modules if (found := known.get_name(name))})


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


def _shift(name: str, arch: str) -> float:
    """What a stored value is larger by than Hugging Face's."""
    return 1.0 if arch in _ONE_PLUS and name.endswith("norm.weight") else 0.0


def _tensor(file: GgufFile, tensor: GgufTensor, name: str, heads: int | None, shift: float) -> ir.TensorProtocol:
    rows = tensor.shape[0]
    if heads is not None and rows % (2 * heads):
        raise WeightsError(f"{tensor.name}: {rows} rows do not make {heads} heads of an even size.")
    count = int(np.prod(tensor.shape, dtype=np.int64))

    def stored() -> np.ndarray:
        raw = file.raw(tensor.name)
        return raw if heads is None else unpermuted(raw.reshape(rows, -1), heads).reshape(-1)

    def make() -> np.ndarray:
        values = dequantize(stored(), tensor.type, count).reshape(tensor.shape)
        return values - np.float32(shift) if shift else values

    def in_pieces() -> Iterator[np.ndarray]:
        return dequantize_groups(stored(), tensor.type)

    def turned() -> Iterator[np.ndarray]:
        return dequantize_turned(stored(), tensor.type, rows)

    if shift:
        return derived(name, ir.DataType.FLOAT, tensor.shape, make)
    matrix = len(tensor.shape) == 2
    return derived(name, ir.DataType.FLOAT, tensor.shape, make, pieces=in_pieces, turned=turned if matrix else None)


def unpermuted(rows: np.ndarray, heads: int) -> np.ndarray:
    """Rows [heads * D, ...] from ggml's order (pairs) to Hugging Face's (halves)."""
    half = rows.shape[0] // heads // 2
    return rows.reshape(heads, half, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)

"""Small GGUF llamas, written with the gguf library: every tensor perturbed, sizes that show a mix-up."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

HEADS, KV_HEADS, HEAD_DIM, HIDDEN, INNER, LAYERS = 4, 2, 16, 64, 96, 2
CHARS = [chr(code) for code in range(33, 127)]
SPACE = "\u0120"  # how byte-level BPE writes a space
TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", SPACE, *CHARS, "he", "the", f"{SPACE}t", f"{SPACE}the"]
MERGES = [f"{SPACE} t", "h e", f"{SPACE}t he", "t he"]
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"


@dataclasses.dataclass(frozen=True)
class Tiny:
    """What to write; ``extra`` are tensors, ``meta`` replaces metadata (None leaves a field out)."""

    quant: str = "Q8_0"
    tied: bool = True
    seed: int = 0
    extra: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    meta: dict[str, Any] = dataclasses.field(default_factory=dict)
    vocab: int = 128


def arrays(tiny: Tiny) -> dict[str, np.ndarray]:
    """The float32 tensors in ggml's names and order of rows, before quantization."""
    rng = np.random.default_rng(tiny.seed)

    def normal(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.3, shape).astype(np.float32)

    found = {"token_embd.weight": normal(tiny.vocab, HIDDEN), "output_norm.weight": 1 + normal(HIDDEN)}
    if not tiny.tied:
        found["output.weight"] = normal(tiny.vocab, HIDDEN)
    for i in range(LAYERS):
        found |= {
            f"blk.{i}.attn_norm.weight": 1 + normal(HIDDEN),
            f"blk.{i}.attn_q.weight": normal(HEADS * HEAD_DIM, HIDDEN),
            f"blk.{i}.attn_k.weight": normal(KV_HEADS * HEAD_DIM, HIDDEN),
            f"blk.{i}.attn_v.weight": normal(KV_HEADS * HEAD_DIM, HIDDEN),
            f"blk.{i}.attn_output.weight": normal(HIDDEN, HEADS * HEAD_DIM),
            f"blk.{i}.ffn_norm.weight": 1 + normal(HIDDEN),
            f"blk.{i}.ffn_gate.weight": normal(INNER, HIDDEN),
            f"blk.{i}.ffn_up.weight": normal(INNER, HIDDEN),
            f"blk.{i}.ffn_down.weight": normal(HIDDEN, INNER),
        }
    return found | tiny.extra


def metadata(tiny: Tiny) -> dict[str, Any]:
    tokens = TOKENS + [f"[unused{i}]" for i in range(tiny.vocab - len(TOKENS))]
    return {
        "general.architecture": "llama",
        "llama.block_count": LAYERS,
        "llama.context_length": 256,
        "llama.embedding_length": HIDDEN,
        "llama.feed_forward_length": INNER,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KV_HEADS,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.freq_base": 10000.0,
        "llama.rope.dimension_count": HEAD_DIM,
        "llama.vocab_size": tiny.vocab,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [3, 3, 3] + [1] * (len(tokens) - 3),
        "tokenizer.ggml.merges": MERGES,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.chat_template": TEMPLATE,
    } | tiny.meta


def write(path: Path, tiny: Tiny | None = None) -> Path:
    """Write the file; matrices quantized as ``tiny.quant`` says, vectors in float32."""
    import gguf

    tiny = tiny or Tiny()
    kind = gguf.GGMLQuantizationType[tiny.quant]
    fields = {key: value for key, value in metadata(tiny).items() if value is not None}
    writer = gguf.GGUFWriter(path, str(fields.pop("general.architecture", "llama")))
    for key, value in fields.items():
        _add(writer, key, value)
    for name, array in arrays(tiny).items():
        if array.ndim == 2:
            writer.add_tensor(name, gguf.quantize(array, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add(writer: Any, key: str, value: Any) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)

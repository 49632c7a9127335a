"""Tiny llamas with every switch away from its default, and weights that two frameworks can make independently.

The words are those of a Hugging Face ``config.json``. A weight is drawn from a generator seeded by the case's seed and
the name of the parameter, so Hugging Face's model and ours are filled alike without exchanging a file. Nothing is left
at 0 or 1: a forgotten bias or norm scale would show.
"""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

VOCAB, HIDDEN = 96, 64
DECODE_STEPS = 3
Shapes = Mapping[str, tuple[int, ...]]

_COMMON: dict[str, Any] = {
    "model_type": "llama",
    "vocab_size": VOCAB,
    "hidden_size": HIDDEN,
    "intermediate_size": 112,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 128,
    "rms_norm_eps": 3e-5,
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "tie_word_embeddings": False,
    "rope_parameters": {"rope_type": "default", "rope_theta": 5000.0},
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 3,
}
_LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 5000.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Case:
    """A config, the seed of its weights and tokens, and how many tokens each row of its batch has."""

    name: str
    hf: Mapping[str, Any]
    seed: int
    lengths: tuple[int, ...] = (20, 13)

    @property
    def rows(self) -> list[list[int]]:
        """Prompts of ``lengths``; the pad token may be among them."""
        rng = np.random.default_rng(self.seed)
        return [rng.integers(0, VOCAB, length).tolist() for length in self.lengths]

    @property
    def decode(self) -> list[list[int]]:
        """The tokens fed one at a time after each row."""
        rng = np.random.default_rng(self.seed + 1)
        return [rng.integers(0, VOCAB, DECODE_STEPS).tolist() for _ in self.lengths]

    @property
    def weights(self) -> dict[str, np.ndarray]:
        """Every parameter in float32, by Hugging Face name."""
        return seeded_weights(llama_shapes(self.hf), self.seed)


def _case(name: str, seed: int, *, lengths: tuple[int, ...] = (20, 13), **words: Any) -> Case:
    hf = {**_COMMON, **words}
    return Case(name, {key: value for key, value in hf.items() if value is not None}, seed, lengths)


CASES: dict[str, Case] = {
    case.name: case
    for case in (
        _case("gqa", 11, num_hidden_layers=3),
        _case("mqa", 12, num_key_value_heads=1),
        _case("mha", 13, num_key_value_heads=4, hidden_act="gelu_pytorch_tanh"),
        _case("tied", 14, tie_word_embeddings=True),
        _case("biases", 15, attention_bias=True, mlp_bias=True),
        _case("wide-heads", 16, head_dim=32),
        _case("llama3-rope", 17, rope_parameters=_LLAMA3, lengths=(45, 38)),
        # The words of transformers 4, which most config.json files on disk have.
        _case(
            "linear-rope", 28, rope_parameters=None, rope_theta=5000.0,
            rope_scaling={"type": "linear", "factor": 4.0}, lengths=(45, 38),
        ),
    )
}  # fmt: skip


def llama_shapes(hf: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a llama's parameters, from the words of its config."""
    width, inner, size = hf["hidden_size"], hf["intermediate_size"], hf["head_dim"]
    heads, kv_heads = hf["num_attention_heads"] * size, hf["num_key_value_heads"] * size
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (hf["vocab_size"], width)}
    for layer in range(hf["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        linears = {f"{at}.self_attn.{n}_proj": (o, width) for n, o in (("q", heads), ("k", kv_heads), ("v", kv_heads))}
        linears[f"{at}.self_attn.o_proj"] = (width, heads)
        shapes |= _linears(linears, bias=hf["attention_bias"])
        linears = {f"{at}.mlp.{n}_proj": (inner, width) for n in ("gate", "up")}
        linears[f"{at}.mlp.down_proj"] = (width, inner)
        shapes |= _linears(linears, bias=hf["mlp_bias"])
        shapes |= {f"{at}.{n}_layernorm.weight": (width,) for n in ("input", "post_attention")}
    shapes["model.norm.weight"] = (width,)
    return shapes if hf["tie_word_embeddings"] else shapes | {"lm_head.weight": (hf["vocab_size"], width)}


def _linears(linears: Mapping[str, tuple[int, int]], *, bias: bool) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {f"{name}.weight": shape for name, shape in linears.items()}
    return found | ({f"{name}.bias": shape[:1] for name, shape in linears.items()} if bias else {})


def seeded_weights(shapes: Shapes | Iterable[tuple[str, tuple[int, ...]]], seed: int) -> dict[str, np.ndarray]:
    """A float32 array per name: matrices of size 1.5 / sqrt(fan in), norm scales about 1, biases about 0."""
    return {name: _drawn(name, tuple(shape), seed) for name, shape in dict(shapes).items()}


def _drawn(name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    noise = np.random.default_rng([seed, zlib.crc32(name.encode())]).standard_normal(shape)
    if name.endswith("norm.weight"):
        return (1.0 + 0.1 * noise).astype(np.float32)
    if name.endswith(".bias"):
        return (0.1 * noise).astype(np.float32)
    return (1.5 / np.sqrt(shape[-1]) * noise).astype(np.float32)


def write_model(folder: Path, case: Case) -> Path:
    """A folder as ``save_pretrained`` leaves it: ``config.json`` and ``model.safetensors``."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(case.hf, indent=1))
    save_file(case.weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder

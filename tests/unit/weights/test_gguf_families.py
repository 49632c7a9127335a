"""A GGUF file gives the graph and the logits of the Hugging Face folder that it was converted from."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir
import pytest

from tests.families import hf_config, hf_logits, hf_model, some_rows, state_arrays
from tests.parity.running import alone
from tests.unit.weights import family_gguf
from workbench.build import recipe_for
from workbench.config.gguf_meta import hf_config as config_of
from workbench.config.gguf_reader import read_gguf
from workbench.runtime.ort_cpu import OrtCpuSession

pytestmark = pytest.mark.torch

LONG = {
    "rope_type": "longrope", "rope_theta": 10000.0, "original_max_position_embeddings": 16,
    "short_factor": [1.0 + 0.1 * i for i in range(8)], "long_factor": [2.0 + 0.3 * i for i in range(8)],
}  # fmt: skip
YARN = {
    "rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 16.0,
    "beta_slow": 2.0,
}  # fmt: skip
LLAMA3 = {
    "rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}  # fmt: skip
GEMMA3 = {
    "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {}),
    "llama-biases": ("llama", {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True, "head_dim": 32}),
    "llama-3": ("llama", {"rope_parameters": LLAMA3}),
    "llama-linear": ("llama", {"rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 1e4}}),
    "mistral-window": ("mistral", {"sliding_window": 8, "head_dim": 32}),
    "qwen2": ("qwen2", {"tie_word_embeddings": True}),
    "qwen2-yarn": ("qwen2", {"rope_parameters": YARN}),
    "qwen2-yarn-factor": ("qwen2", {"rope_parameters": YARN | {"attention_factor": 1.5}}),
    "qwen3": ("qwen3", {"head_dim": 32}),
    "qwen3-biases": ("qwen3", {"attention_bias": True}),
    "phi3": ("phi3", {"sliding_window": 8}),
    "phi3-partial": (
        "phi3", {"sliding_window": None, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32,
                 "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}},
    ),
    "phi3-longrope": ("phi3", {"rope_parameters": LONG, "original_max_position_embeddings": 16}),
    "gemma2": ("gemma2", {"num_hidden_layers": 4, "sliding_window": 8, "attn_logit_softcapping": 2.0,
                          "final_logit_softcapping": 3.0}),
    "gemma3": ("gemma3_text", {"num_hidden_layers": 7, "layer_types": None, "sliding_window": 8}),
    "gemma3-linear": ("gemma3_text", {"num_hidden_layers": 6, "layer_types": None, "sliding_window": 8,
                                      "rope_parameters": GEMMA3, "final_logit_softcapping": 3.0}),
}  # fmt: skip
ROWS, DECODE = some_rows(), [[5, 7, 9], [6, 8, 10]]


def logits(model: Path) -> list[np.ndarray]:
    """``[S + 3, V]`` of each row, through the generic graph in float32: prefill, then three steps."""
    models, bound = recipe_for(model, module_class=None, load_weights=True).generic(ir.DataType.FLOAT)
    assert bound is not None and bound.complete
    with OrtCpuSession(models["model"]) as session:
        return [np.concatenate(row) for row in alone(session, ROWS, DECODE)]


def furthest(found: list[np.ndarray], expected: list[np.ndarray]) -> float:
    return max(float(np.abs(a - b).max()) for a, b in zip(found, expected, strict=True))


def made(name: str, tmp_path: Path) -> tuple[Any, Path]:
    """A tiny model of a case, and its folder."""
    family, words = CASES[name]
    model = hf_model(hf_config(family, **words))
    model.save_pretrained(tmp_path / "folder")
    return model, tmp_path / "folder"


@pytest.mark.parametrize("name", CASES)
def test_float32_equals_the_folder(name: str, tmp_path: Path) -> None:
    model, folder = made(name, tmp_path)
    path = family_gguf.write(tmp_path / "model.gguf", model.config, state_arrays(model))
    found = logits(path)
    assert furthest(found, logits(folder)) <= 1e-6
    full = [row + more for row, more in zip(ROWS, DECODE, strict=True)]
    assert furthest(found, hf_logits(model, full)) <= 5e-5
    assert max(np.abs(row).max() for row in found) > 1


@pytest.mark.parametrize("quant", ["Q8_0", "Q4_0", "BF16"])
@pytest.mark.parametrize("name", ["llama-biases", "qwen3", "phi3-partial", "gemma2"])
def test_quantized_equals_the_folder_of_its_values(name: str, quant: str, tmp_path: Path) -> None:
    """Rounding first and permuting after gives the same values: blocks lie along rows."""
    import gguf
    import torch

    model, folder = made(name, tmp_path)
    kind = gguf.GGMLQuantizationType[quant]
    path = family_gguf.write(tmp_path / "model.gguf", model.config, state_arrays(model), quant)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 2:
                stored = gguf.quantize(parameter.numpy(), kind)
                parameter.copy_(torch.from_numpy(gguf.dequantize(stored, kind).reshape(parameter.shape).copy()))
    model.save_pretrained(folder)
    assert furthest(logits(path), logits(folder)) <= 1e-6


@pytest.mark.parametrize("name", CASES)
def test_config_says_what_hugging_faces_says(name: str, tmp_path: Path) -> None:
    """Our config from the metadata equals our config from ``config.json``, field by field."""
    from workbench.models import lookup

    model, folder = made(name, tmp_path)
    path = family_gguf.write(tmp_path / "model.gguf", model.config, state_arrays(model))
    found, expected = (recipe_for(place, module_class=None, load_weights=True).config for place in (path, folder))
    ids = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
    left, right = found.to_dict() | ids, expected.to_dict() | ids
    assert {k: v for k, v in left.items() if not same(v, right[k])} == {}
    rebuilt = type(model.config)(**config_of(read_gguf(path)))  # transformers understands the words too
    assert lookup(rebuilt.model_type).config(rebuilt.to_dict()).to_dict() | ids == left


def same(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(v, right[k]) for k, v in left.items())
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, float) and isinstance(right, (int, float)):
        return math.isclose(left, right, rel_tol=1e-7)
    return bool(left == right)

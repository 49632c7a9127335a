"""What each GGUF architecture says, says by default, or cannot say: metadata alone, no model is built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.weights import tiny_gguf
from tests.unit.weights.tiny_gguf import Tiny
from workbench.config.gguf_meta import hf_config
from workbench.config.gguf_reader import read_gguf
from workbench.errors import ConfigError, UnsupportedError


def config_of(path: Path, arch: str, tensors: dict[str, np.ndarray] | None = None, **fields: Any) -> dict[str, Any]:
    """The config of a file of ``arch``; ``fields`` without the architecture, ``__`` for a dot, None leaves one out."""
    plain = {key: value for key, value in tiny_gguf.metadata(Tiny()).items() if key.startswith("llama.")}
    meta: dict[str, Any] = dict.fromkeys(plain)
    meta |= {"general.architecture": arch} | {f"{arch}.{key[6:]}": value for key, value in plain.items()}
    meta |= {f"{arch}.{key.replace('__', '.')}": value for key, value in fields.items()}
    return hf_config(read_gguf(tiny_gguf.write(path / "t.gguf", Tiny(meta=meta, extra=tensors or {}))))


def test_mistral_is_a_llama_with_a_window(tmp_path: Path) -> None:
    found = config_of(tmp_path, "llama", attention__sliding_window=4096)
    assert (found["model_type"], found["sliding_window"]) == ("mistral", 4096)
    assert found["architectures"] == ["MistralForCausalLM"]
    plain = config_of(tmp_path, "llama", attention__sliding_window=0)
    assert plain["model_type"] == "llama" and "sliding_window" not in plain


@pytest.mark.parametrize(
    ("layers", "arch", "scalar"), [(2, "gemma2", 16), (46, "gemma2", 8), (2, "gemma3", 16), (62, "gemma3", 8)]
)
def test_gemmas_scale_is_a_matter_of_size(layers: int, arch: str, scalar: int, tmp_path: Path) -> None:
    """Heads of 16 in a model of 64 / 8 per head: only the 27B models go by the width."""
    tensors = {f"blk.{i}.x.weight": np.ones(1, np.float32) for i in range(layers)}
    found = config_of(tmp_path, arch, tensors, block_count=layers, attention__head_count=8, attention__key_length=16)
    assert found["query_pre_attn_scalar"] == scalar


def test_gemma2_by_default(tmp_path: Path) -> None:
    found = config_of(tmp_path, "gemma2")
    assert (found["attn_logit_softcapping"], found["final_logit_softcapping"]) == (50.0, 30.0)
    assert (found["sliding_window"], found["layer_types"]) == (4096, ["sliding_attention", "full_attention"])
    assert found["hidden_activation"] == "gelu_pytorch_tanh" and found["tie_word_embeddings"] is True
    off = config_of(tmp_path, "gemma2", attn_logit_softcapping=0.0, attention__scale=0.5)
    assert off["attn_logit_softcapping"] is None and off["query_pre_attn_scalar"] == 4.0


def test_gemma3_by_default(tmp_path: Path) -> None:
    found = config_of(tmp_path, "gemma3", attention__sliding_window=512, rope__freq_base=1e6)
    assert found["model_type"] == "gemma3_text" and found["layer_types"] == ["sliding_attention"] * 2
    assert found["rope_parameters"]["sliding_attention"] == {"rope_type": "default", "rope_theta": 10000.0}
    assert found["rope_parameters"]["full_attention"]["rope_theta"] == 1e6
    assert found["final_logit_softcapping"] is None
    local = config_of(tmp_path, "gemma3", attention__sliding_window=512, rope__freq_base_swa=5e3)
    assert local["rope_local_base_freq"] == 5e3
    assert config_of(tmp_path, "gemma3")["layer_types"] == ["full_attention"] * 2  # no window at all


def test_a_pattern_of_windows(tmp_path: Path) -> None:
    given = config_of(tmp_path, "gemma2", attention__sliding_window_pattern=[False, True])
    assert given["layer_types"] == ["full_attention", "sliding_attention"]
    period = config_of(tmp_path, "gemma2", attention__sliding_window_pattern=1)
    assert period["layer_types"] == ["full_attention"] * 2
    with pytest.raises(ConfigError, match="has 3 entries for 2 layers; give one per layer"):
        config_of(tmp_path, "gemma2", attention__sliding_window_pattern=[True, False, True])


FACTORS = {
    "rope_factors_long.weight": np.array([1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5.1], np.float32),
    "rope_factors_short.weight": np.linspace(1, 1.7, 8, dtype=np.float32),
}


def test_longrope(tmp_path: Path) -> None:
    """The stated factor is left to Hugging Face's formula where it is that of the formula."""
    fields: dict[str, Any] = {"rope__scaling__original_context_length": 64, "context_length": 256}
    derived = float(np.float32(np.sqrt(1 + np.log(4) / np.log(64))))
    found = config_of(tmp_path, "phi3", FACTORS, rope__scaling__attn_factor=derived, **fields)
    rope = found["rope_parameters"]
    assert rope["rope_type"] == "longrope" and "attention_factor" not in rope
    assert rope["long_factor"] == [1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5.1] and rope["short_factor"][1] == 1.1
    assert found["original_max_position_embeddings"] == rope["original_max_position_embeddings"] == 64
    stated = config_of(tmp_path, "phi3", FACTORS, rope__scaling__attn_factor=1.25, **fields)
    assert stated["rope_parameters"]["attention_factor"] == 1.25
    with pytest.raises(UnsupportedError, match="rope_factors_short.weight is missing"):
        config_of(tmp_path, "phi3", {"rope_factors_long.weight": FACTORS["rope_factors_long.weight"]}, **fields)
    with pytest.raises(ConfigError, match="original_context_length' is missing"):
        config_of(tmp_path, "phi3", FACTORS)


def test_yarn_that_has_no_words(tmp_path: Path) -> None:
    yarn: dict[str, Any] = {
        "rope__scaling__type": "yarn", "rope__scaling__factor": 4.0, "rope__scaling__original_context_length": 64,
    }  # fmt: skip
    assert config_of(tmp_path, "qwen2", **yarn)["rope_parameters"]["rope_type"] == "yarn"
    for field, value in (("yarn_log_multiplier", 0.1), ("attn_factor", 1.3), ("yarn_ext_factor", 0.5)):
        with pytest.raises(UnsupportedError, match=f"{field} is .*yarn is read with"):
            config_of(tmp_path, "qwen2", **yarn, **{f"rope__scaling__{field}": value})


def test_old_linear_scaling(tmp_path: Path) -> None:
    found = config_of(tmp_path, "llama", rope__scale_linear=4.0)
    assert found["rope_parameters"] == {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}
    assert config_of(tmp_path, "llama", rope__scale_linear=1.0)["rope_parameters"]["rope_type"] == "default"


def test_part_of_a_head_rotates_in_phi3_only(tmp_path: Path) -> None:
    assert config_of(tmp_path, "phi3", rope__dimension_count=8)["rope_parameters"]["partial_rotary_factor"] == 0.5
    for arch in ("llama", "qwen3", "gemma2"):
        with pytest.raises(UnsupportedError, match=f"turns 8 of 16 values per head; Hugging Face's {arch} has no word"):
            config_of(tmp_path, arch, rope__dimension_count=8)

"""GGUF headers: the gguf library's own reader is the oracle; a damaged file gives our errors and no others."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.weights import tiny_gguf
from tests.unit.weights.tiny_gguf import Tiny
from workbench.config.gguf_meta import hf_config
from workbench.config.gguf_reader import read_gguf
from workbench.config.gguf_tokenizer import build_tokenizer, tokenizer_folder
from workbench.errors import ConfigError, UnsupportedError, WeightsError, WorkbenchError


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EP_WORKBENCH_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def config_of(tmp_path: Path, **kwargs: Any) -> dict[str, Any]:
    return hf_config(read_gguf(tiny_gguf.write(tmp_path / "t.gguf", Tiny(**kwargs))))


def test_header_equals_the_librarys_reading(tmp_path: Path) -> None:
    import gguf

    path = tiny_gguf.write(tmp_path / "t.gguf", Tiny(tied=False))
    file, reference = read_gguf(path), gguf.GGUFReader(path)
    fields = {k: f.contents() for k, f in reference.fields.items() if not k.startswith("GGUF.")}
    assert {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in file.metadata.items()} == {
        k: list(v) if isinstance(v, list | tuple) else v for k, v in fields.items()
    }
    assert list(file.tensors) == [t.name for t in reference.tensors]
    for tensor in reference.tensors:
        ours = file.tensors[tensor.name]
        assert ours.shape == tuple(reversed(tensor.shape.tolist())) and ours.type == tensor.tensor_type.name
        assert file.raw(tensor.name).tobytes() == tensor.data.tobytes()
    assert repr(file) == f"GgufFile('t.gguf', {len(fields)} fields, {len(reference.tensors)} tensors)"


def test_config(tmp_path: Path) -> None:
    config = config_of(tmp_path)
    expected = {
        "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 16, "intermediate_size": 96, "vocab_size": 128,
        "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "tie_word_embeddings": True, "attention_bias": False,
        "mlp_bias": False, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": None, "rope_theta": 10000.0,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}, "rope_scaling": None,
    }  # fmt: skip
    assert {key: config[key] for key in expected} == expected


def test_transformers_reads_the_config(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    made = transformers.LlamaConfig(**config_of(tmp_path, meta={"llama.rope.freq_base": 5e5}))
    assert made.rope_parameters["rope_theta"] == 5e5 and made.rope_parameters["rope_type"] == "default"
    assert made.head_dim == 16


def test_config_variants(tmp_path: Path) -> None:
    assert config_of(tmp_path, tied=False)["tie_word_embeddings"] is False
    biases = {
        f"blk.{i}.{n}.bias": np.ones(s, np.float32) for i in range(2) for n, s in (("attn_q", 64), ("attn_k", 32))
    }
    assert config_of(tmp_path, extra=biases)["attention_bias"] is True
    assert config_of(tmp_path, meta={"llama.attention.head_count_kv": None})["num_key_value_heads"] == 4
    assert config_of(tmp_path, meta={"llama.attention.head_count_kv": [2, 2]})["num_key_value_heads"] == 2
    assert config_of(tmp_path, meta={"llama.vocab_size": None})["vocab_size"] == 128
    linear = config_of(tmp_path, meta={"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0})
    assert linear["rope_parameters"] == {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}


def test_llama3_scaling_is_recognised_from_its_factors(tmp_path: Path) -> None:
    """The factors come from transformers' own function: ratio of plain to scaled frequencies."""
    torch = pytest.importorskip("torch")
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    rope = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 32.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}  # fmt: skip
    config = LlamaConfig(hidden_size=64, num_attention_heads=4, head_dim=16, rope_parameters=rope)
    scaled, _ = ROPE_INIT_FUNCTIONS["llama3"](config, torch.device("cpu"))
    plain = 500000.0 ** (-np.arange(0, 16, 2) / 16)
    extra = {"rope_freqs.weight": (plain / scaled.numpy()).astype(np.float32)}
    found = config_of(tmp_path, extra=extra, meta={"llama.rope.freq_base": 500000.0})
    assert found["rope_parameters"] == rope and found["rope_scaling"] == rope


def test_rope_factors_that_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="not Llama 3's scaling"):
        config_of(tmp_path, extra={"rope_freqs.weight": np.linspace(1, 7, 8, dtype=np.float32)})
    ones = config_of(tmp_path, extra={"rope_freqs.weight": np.ones(8, np.float32)})
    assert ones["rope_parameters"]["rope_type"] == "default"
    with pytest.raises(ConfigError, match=r"rope_freqs.weight must be F32 of shape \(8,\)"):
        config_of(tmp_path, extra={"rope_freqs.weight": np.ones(4, np.float32)})


@pytest.mark.parametrize(
    ("meta", "kind", "part"),
    [
        ({"general.architecture": "falcon"}, UnsupportedError, "'falcon' are not read yet; read are: llama, qwen2"),
        ({"llama.expert_count": 8}, UnsupportedError, "mixture-of-experts"),
        ({"llama.block_count": None}, ConfigError, "'llama.block_count' is missing"),
        ({"llama.block_count": "two"}, ConfigError, "positive whole number; found 'two'"),
        ({"llama.block_count": 0}, ConfigError, "positive whole number; found 0"),
        ({"llama.attention.head_count_kv": [2, 1]}, ConfigError, "positive whole number"),
        ({"llama.attention.layer_norm_rms_epsilon": 0.0}, ConfigError, "positive number; found 0.0"),
        ({"llama.vocab_size": 5}, ConfigError, "llama.vocab_size is 5, token_embd.weight has 128 rows"),
        ({"tokenizer.ggml.eos_token_id": 128}, ConfigError, "'tokenizer.ggml.eos_token_id' is 128; allowed: 0 to 127"),
        ({"llama.rope.dimension_count": 8}, UnsupportedError, "turns 8 of 16 values"),
        ({"llama.rope.scaling.type": "longrope"}, UnsupportedError, "'longrope' is not read; read are none, linear"),
        ({"split.count": 3}, UnsupportedError, "one of 3 parts of a split GGUF file"),
    ],
)
def test_refused_metadata(tmp_path: Path, meta: dict[str, Any], kind: type[Exception], part: str) -> None:
    with pytest.raises(kind) as caught:
        config_of(tmp_path, meta=meta)
    assert part in str(caught.value)


def test_every_truncation_is_one_clear_error(tmp_path: Path) -> None:
    path = tiny_gguf.write(tmp_path / "t.gguf")
    whole = path.read_bytes()
    last = max(t.offset + t.nbytes for t in read_gguf(path).tensors.values())
    for length in [0, 1, 4, 23, *range(24, last, 997), last - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(WeightsError, match="is empty|GGUF|truncated"):
            read_gguf(path)


def test_damaged_bytes_never_reach_a_library(tmp_path: Path) -> None:
    """Anything goes but an error that is not ours, a hang, or a huge allocation."""
    path = tiny_gguf.write(tmp_path / "t.gguf")
    whole = bytearray(path.read_bytes())
    header = min(t.offset for t in read_gguf(path).tensors.values())
    rng = random.Random(0)
    refused = 0
    for _ in range(1500):
        damaged = bytearray(whole)
        for _ in range(rng.choice([1, 1, 4])):
            damaged[rng.randrange(header)] = rng.choice([0, 1, 127, 255, rng.randrange(256)])
        path.write_bytes(damaged)
        try:
            file = read_gguf(path)
            tokenizer_folder(file, hf_config(file))
        except WorkbenchError:
            refused += 1
    assert refused > 100


def hostile(*parts: bytes) -> bytes:
    return b"GGUF" + struct.pack("<I", 3) + b"".join(parts)


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"PK\x03\x04" + bytes(40), "does not begin with the letters GGUF"),
        (b"GGUF" + struct.pack(">I", 3) + bytes(40), "big-endian"),
        (b"GGUF" + struct.pack("<I", 9) + bytes(40), "version is 9; read are 2 and 3"),
        (hostile(struct.pack("<QQ", 0, 2**60)), "claims 1152921504606846976 metadata fields"),
        (hostile(struct.pack("<QQ", 2**60, 0)), "claims 1152921504606846976 tensors"),
        (hostile(struct.pack("<QQ", 0, 1), text("k"), struct.pack("<IIQ", 9, 0, 2**60)), "it ends inside k"),
        (hostile(struct.pack("<QQ", 0, 1), text("k"), struct.pack("<IIQ", 9, 8, 2**60)), "strings in k, more than"),
        (hostile(struct.pack("<QQ", 0, 1), text("k"), struct.pack("<IIQ", 9, 9, 1), bytes(20)), "unreadable type 9"),
        (hostile(struct.pack("<QQ", 0, 1), text("k"), struct.pack("<I", 77), bytes(20)), "unknown type 77"),
        (hostile(struct.pack("<QQ", 1, 0), text("t"), struct.pack("<I", 99), bytes(40)), "has 99 dimensions"),
        (hostile(struct.pack("<QQ", 1, 0), text("t"), struct.pack("<IQIQ", 1, 2**50, 0, 0)), "is truncated"),
        (hostile(struct.pack("<QQ", 1, 0), text("t"), struct.pack("<IQIQ", 1, 33, 8, 0), bytes(9)), "blocks of 32"),
        (hostile(struct.pack("<QQ", 1, 0), text("t"), struct.pack("<IQIQ", 1, 32, 999, 0), bytes(9)), "type 999"),
    ],
)  # fmt: skip
def test_hostile_headers(tmp_path: Path, data: bytes, part: str) -> None:
    path = tmp_path / "h.gguf"
    path.write_bytes(data)
    with pytest.raises(WeightsError) as caught:
        read_gguf(path)
    assert part in str(caught.value), str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match="cannot be read: No such file"):
        read_gguf(tmp_path / "no.gguf")


def test_tokenizer_folder_is_written_once_and_read_by_both(tmp_path: Path, own_cache: Path) -> None:
    from tokenizers import Tokenizer

    transformers = pytest.importorskip("transformers")
    file = read_gguf(tiny_gguf.write(tmp_path / "t.gguf"))
    folder, missing = tokenizer_folder(file, hf_config(file))
    assert missing is None and folder is not None and folder.is_relative_to(own_cache)
    assert sorted(p.name for p in folder.iterdir()) == [
        "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json",
    ]  # fmt: skip
    before = (folder / "tokenizer.json").stat().st_mtime_ns
    assert tokenizer_folder(file, hf_config(file))[0] == folder
    assert (folder / "tokenizer.json").stat().st_mtime_ns == before
    assert [p.name for p in folder.parent.iterdir()] == [folder.name]  # nothing temporary left
    ours, theirs = (
        Tokenizer.from_file(str(folder / "tokenizer.json")),
        transformers.AutoTokenizer.from_pretrained(folder),
    )
    words = "the <|im_start|>the-12"
    assert ours.encode(words).ids == theirs(words)["input_ids"]
    assert theirs.bos_token == "<|im_start|>" and theirs.eos_token == "<|im_end|>"
    made = theirs.apply_chat_template([{"role": "user", "content": "the"}], tokenize=False)
    assert made == "<|im_start|>user\nthe<|im_end|>\n"
    assert json.loads((folder / "generation_config.json").read_text()) == {"bos_token_id": 1, "eos_token_id": 2}


def test_merges_digits_and_special_tokens(tmp_path: Path) -> None:
    tokenizer = build_tokenizer(tiny_gguf.metadata(Tiny()))
    space = tiny_gguf.SPACE
    assert tokenizer.encode("the the 12<|im_end|>").tokens == ["the", f"{space}the", space, "1", "2", "<|im_end|>"]


def test_bos_and_eos_where_the_metadata_ask(tmp_path: Path) -> None:
    meta = tiny_gguf.metadata(Tiny(meta={"tokenizer.ggml.add_bos_token": True, "tokenizer.ggml.add_eos_token": True}))
    tokens = build_tokenizer(meta).encode("the").tokens
    assert tokens == ["<|im_start|>", "the", "<|im_end|>"]


@pytest.mark.parametrize(
    ("meta", "part"),
    [
        ({"tokenizer.ggml.pre": "falcon"}, "pre-tokenizer is 'falcon'; understood are smollm"),
        ({"tokenizer.ggml.merges": ["t h e"]}, "a merge is not a pair"),
        ({"tokenizer.ggml.merges": ["t zz"]}, "refuses its vocabulary"),
        ({"tokenizer.ggml.tokens": ["a", "a"]}, "holds a token twice"),
        ({"tokenizer.ggml.tokens": None}, "tokens are missing"),
    ],
)
def test_tokenizers_that_cannot_be_made(tmp_path: Path, meta: dict[str, Any], part: str) -> None:
    file = read_gguf(tiny_gguf.write(tmp_path / "t.gguf", Tiny(meta=meta)))
    folder, missing = tokenizer_folder(file, {})
    assert folder is None and missing is not None and part in missing.message, missing


def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EP_WORKBENCH_CACHE", str(tmp_path / "file" / "cache"))
    file = read_gguf(tiny_gguf.write(tmp_path / "t.gguf"))
    folder, missing = tokenizer_folder(file, hf_config(file))
    assert folder is None and missing is not None and "cannot be written" in missing.message

"""The real built-in model: every tensor, the tokenizer against an independent byte-level BPE, the saved package."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.config.gguf_reader import GgufFile, read_gguf
from workbench.config.resolve import resolve
from workbench.config.source import SourceConfig
from workbench.errors import OfflineError
from workbench.weights.lazy import pieces
from workbench.weights.load import open_weights

pytestmark = pytest.mark.weights

PROMPTS = [
    "The capital of France is",
    "  leading and   many spaces  ",
    "12345 3.14 2024-05-01 ½ ²³ ٣٤٥",
    "\u00e9t\u00e9 na\u00efve \u4f60\u597d\uff0c\u4e16\u754c \u0416\u0443\u043a",
    "\U0001f389\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "def f(x):\n\treturn x**2  # it's 'quoted', isn't it?\r\n\n\n",
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n",
    "<|im_startx <|endoftext|>x",
    "",
]


@pytest.fixture(scope="module")
def source() -> SourceConfig:
    try:
        return resolve("smollm2-135m")
    except OfflineError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def file(source: SourceConfig) -> GgufFile:
    assert source.weights is not None
    return read_gguf(source.weights)


def expected_shapes(hf: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of Hugging Face's LlamaForCausalLM with tied embeddings, from the config alone."""
    hidden, inner, heads = hf["hidden_size"], hf["intermediate_size"], hf["num_attention_heads"]
    size = hf["head_dim"]
    shapes = {"model.embed_tokens.weight": (hf["vocab_size"], hidden), "model.norm.weight": (hidden,)}
    for i in range(hf["num_hidden_layers"]):
        layer = f"model.layers.{i}"
        shapes |= {
            f"{layer}.input_layernorm.weight": (hidden,),
            f"{layer}.post_attention_layernorm.weight": (hidden,),
            f"{layer}.self_attn.q_proj.weight": (heads * size, hidden),
            f"{layer}.self_attn.k_proj.weight": (hf["num_key_value_heads"] * size, hidden),
            f"{layer}.self_attn.v_proj.weight": (hf["num_key_value_heads"] * size, hidden),
            f"{layer}.self_attn.o_proj.weight": (hidden, heads * size),
            f"{layer}.mlp.gate_proj.weight": (inner, hidden),
            f"{layer}.mlp.up_proj.weight": (inner, hidden),
            f"{layer}.mlp.down_proj.weight": (hidden, inner),
        }
    return shapes


def test_every_tensor_has_its_name_and_shape(source: SourceConfig) -> None:
    weights = open_weights(source)
    assert {name: tuple(tensor.shape) for name, tensor in weights.items()} == expected_shapes(source.hf)


def test_tensors_equal_the_librarys(source: SourceConfig, file: GgufFile) -> None:
    """All tensors of one layer, bit for bit, with query and key rows placed by Hugging Face's formula."""
    import gguf

    weights = open_weights(source)
    for ours, theirs, heads in (
        ("self_attn.q_proj", "attn_q", 9), ("self_attn.k_proj", "attn_k", 3), ("self_attn.v_proj", "attn_v", 0),
        ("self_attn.o_proj", "attn_output", 0), ("mlp.down_proj", "ffn_down", 0),
        ("input_layernorm", "attn_norm", 0),
    ):  # fmt: skip
        tensor = file.tensors[f"blk.7.{theirs}.weight"]
        number = gguf.GGMLQuantizationType[tensor.type]
        raw = file.raw(tensor.name).reshape(tensor.shape[0], -1)
        reference = np.asarray(gguf.dequantize(raw, number)).reshape(tensor.shape)
        found = weights[f"model.layers.7.{ours}.weight"].numpy()
        if heads:  # Hugging Face's row h*64 + half*32 + j lies at h*64 + 2*j + half
            h, half, j = np.meshgrid(np.arange(heads), np.arange(2), np.arange(32), indexing="ij")
            reference = reference[(h * 64 + 2 * j + half).reshape(-1)]
        np.testing.assert_array_equal(found, reference)


def test_values_look_like_a_trained_model(source: SourceConfig) -> None:
    """Finite everywhere; matrices centred with a small spread (a wrong block layout shows here at once)."""
    for name, tensor in open_weights(source).items():
        for piece in pieces(tensor):
            assert np.isfinite(piece).all(), name
        if name.endswith("proj.weight"):
            values = tensor.numpy()
            assert abs(values.mean()) < 0.01 and 0.01 < values.std() < 0.5, name


@functools.cache
def byte_letters() -> dict[int, str]:
    """GPT-2's printable stand-in for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {b: chr(b) for b in printable} | {b: chr(256 + i) for i, b in enumerate(others)}


def reference_ids(text: str, meta: Mapping[str, Any]) -> list[int]:
    """Byte-level BPE written out: special tokens, single digits, GPT-2's words, lowest merge first."""
    import regex

    tokens = meta["tokenizer.ggml.tokens"]
    ids = {token: i for i, token in enumerate(tokens)}
    ranks = {tuple(merge.split(" ")): i for i, merge in enumerate(meta["tokenizer.ggml.merges"])}
    special = [t for t, kind in zip(tokens, meta["tokenizer.ggml.token_type"], strict=True) if kind == 3]
    words = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
    found = []
    for part in regex.split("(" + "|".join(map(regex.escape, special)) + ")", text):
        if part in special:
            found.append(ids[part])
            continue
        for chunk in regex.findall(r"\p{N}|[^\p{N}]+", part):
            for word in words.findall(chunk):
                letters = [byte_letters()[byte] for byte in word.encode("utf-8")]
                found += [ids[piece] for piece in merged(letters, ranks)]
    return found


def merged(parts: list[str], ranks: Mapping[tuple[str, ...], int]) -> list[str]:
    while len(parts) > 1:
        rank, at = min((ranks.get((a, b), 1 << 30), i) for i, (a, b) in enumerate(zip(parts, parts[1:], strict=False)))
        if rank == 1 << 30:
            break
        parts = [*parts[:at], parts[at] + parts[at + 1], *parts[at + 2 :]]
    return parts


@pytest.mark.parametrize("prompt", PROMPTS)
def test_token_ids(source: SourceConfig, file: GgufFile, prompt: str) -> None:
    from tokenizers import Tokenizer

    transformers = pytest.importorskip("transformers")
    assert source.tokenizer is not None
    tokenizer = Tokenizer.from_file(str(source.tokenizer / "tokenizer.json"))
    ids = tokenizer.encode(prompt).ids
    assert ids == reference_ids(prompt, file.metadata)
    auto = transformers.AutoTokenizer.from_pretrained(source.tokenizer)
    assert auto(prompt)["input_ids"] == ids
    assert tokenizer.decode(ids, skip_special_tokens=False) == prompt == auto.decode(ids)


def test_chat_template(source: SourceConfig) -> None:
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(source.tokenizer)
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert text == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id) == (1, 2, 2)
    config = transformers.AutoConfig.from_pretrained(source.tokenizer)
    assert config.model_type == "llama" and config.num_hidden_layers == 30
    assert config.rope_parameters["rope_theta"] == 100000.0
    generation = transformers.GenerationConfig.from_pretrained(source.tokenizer)
    assert generation.eos_token_id == 2


def test_a_saved_package_answers_paris(source: SourceConfig, tmp_path: Path) -> None:
    """Built, saved, opened from another folder by ONNX Runtime alone, greedy: the weights and tokenizer are right."""
    import onnxruntime

    from workbench.build import build
    from workbench.package import load

    manifest = build("smollm2-135m", execution_provider="onnx-standard").save(tmp_path / "p", progress=False)
    assert manifest.size > 4 * 134_515_008  # the model's parameters in float32
    package = load(tmp_path / "p")
    session = onnxruntime.InferenceSession(tmp_path / "p" / "model.onnx", providers=["CPUExecutionProvider"])
    ids = np.array([package.encode("The capital of France is")])
    feeds = {
        "input_ids": ids, "attention_mask": np.ones_like(ids), "position_ids": np.arange(ids.shape[1])[None],
    }  # fmt: skip
    given = {i.name: i for i in session.get_inputs()}
    past = {name: np.zeros((1, 3, 0, 64), np.float32) for name in given if name.startswith("past_key_values")}
    (logits,) = session.run(["logits"], {name: feeds[name] for name in feeds if name in given} | past)
    assert package.decode([int(logits[0, -1].argmax())]) == " Paris"

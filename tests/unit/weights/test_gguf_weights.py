"""GGUF tensors: block formulas written out here, the gguf library's arithmetic, Hugging Face's row order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx_ir as ir
import pytest

from tests.unit.weights import tiny_gguf
from tests.unit.weights.tiny_gguf import HEAD_DIM, HEADS, KV_HEADS, Tiny
from workbench.config.gguf_meta import hf_config
from workbench.config.gguf_reader import read_gguf
from workbench.errors import WeightsError
from workbench.weights.dequantize import dequantize, dequantize_groups, dequantize_turned
from workbench.weights.gguf import huggingface_names, open_gguf, unpermuted
from workbench.weights.lazy import cast, pieces, transposed

KINDS = ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K"]


def random_blocks(kind: str, blocks: int, seed: int = 0) -> np.ndarray:
    """Random stored bytes of a type; float16 scales are kept finite by clearing the exponent's top bit."""
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    nbytes = GGML_QUANT_SIZES[GGMLQuantizationType[kind]][1]
    raw = np.random.default_rng(seed).integers(0, 256, (blocks, nbytes), dtype=np.uint8)
    return (raw & np.uint8(0b10111111)).reshape(-1) if kind != "F32" else np.float32(raw).view(np.uint8).reshape(-1)


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q8_0", "Q5_0", "F32", "F16"])
def test_turned_is_the_transpose(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several groups of columns, the last one narrower."""
    from workbench.weights import dequantize as module

    monkeypatch.setattr(module, "_GROUP_VALUES", 2 * 32 * 6)
    raw = random_blocks(kind, {"F32": 240, "F16": 960}.get(kind, 30))
    whole = dequantize(raw, kind, 6 * 5 * 32).reshape(6, 160)
    found = list(dequantize_turned(raw, kind, 6))
    assert np.array_equal(np.concatenate(found), whole.T, equal_nan=True)
    assert len(found) == (3 if kind in ("Q4_0", "Q4_1", "Q8_0") else 1)


def f16(low: int, high: int) -> float:
    return float(np.frombuffer(bytes([low, high]), "<f2")[0])


def test_q4_1_by_its_formula() -> None:
    """value[i] = d * q[i] + m; q[i] is the low half of byte i, q[i + 16] the high half."""
    raw = random_blocks("Q4_1", 5)
    expected = []
    for block in raw.reshape(5, 20).tolist():
        d, m = f16(*block[0:2]), f16(*block[2:4])
        quants = [byte & 15 for byte in block[4:]] + [byte >> 4 for byte in block[4:]]
        expected += [np.float32(np.float32(d) * np.float32(q)) + np.float32(m) for q in quants]
    np.testing.assert_array_equal(dequantize(raw, "Q4_1", 160), np.array(expected, np.float32))


def test_q8_0_by_its_formula() -> None:
    """value[i] = d * q[i], q signed."""
    raw = random_blocks("Q8_0", 5)
    expected = []
    for block in raw.reshape(5, 34).tolist():
        d = np.float32(f16(*block[0:2]))
        expected += [d * np.float32(byte - 256 if byte > 127 else byte) for byte in block[2:]]
    np.testing.assert_array_equal(dequantize(raw, "Q8_0", 160), np.array(expected, np.float32))


def test_q4_0_by_its_formula() -> None:
    raw = random_blocks("Q4_0", 3)
    expected = []
    for block in raw.reshape(3, 18).tolist():
        d = np.float32(f16(*block[0:2]))
        expected += [d * np.float32(byte % 16 - 8) for byte in block[2:]]
        expected += [d * np.float32(byte // 16 - 8) for byte in block[2:]]
    np.testing.assert_array_equal(dequantize(raw, "Q4_0", 96), np.array(expected, np.float32))


@pytest.mark.parametrize("kind", KINDS)
def test_bit_equal_to_the_library_across_groups(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import gguf

    from workbench.weights import dequantize as module

    monkeypatch.setattr(module, "_GROUP_VALUES", 1024)  # so that 37 blocks make several groups, the last one short
    number = gguf.GGMLQuantizationType[kind]
    raw = random_blocks(kind, 37)
    expected = np.asarray(gguf.dequantize(raw.reshape(37, -1), number)).reshape(-1)
    found = dequantize(raw, kind, expected.size)
    assert found.dtype == np.float32 and np.array_equal(found, expected, equal_nan=True)
    assert np.abs(expected[np.isfinite(expected)]).max() > 0
    groups = list(dequantize_groups(raw, kind))
    assert all(group.size <= 1024 for group in groups)
    assert sum(group.size for group in groups) == expected.size


def ggml_order(rows: np.ndarray, heads: int) -> np.ndarray:
    """Hugging Face's rows as a converter to GGUF stores them: row j of the first half, row j of the second, ..."""
    size = len(rows) // heads
    order = [head * size + half * size // 2 + j for head in range(heads) for j in range(size // 2) for half in (0, 1)]
    return rows[order]


def test_unpermuted_undoes_the_converters_order() -> None:
    rows = np.arange(HEADS * HEAD_DIM * 3).reshape(-1, 3)
    stored = ggml_order(rows, HEADS)
    assert not np.array_equal(stored, rows)
    np.testing.assert_array_equal(unpermuted(stored, HEADS), rows)


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q8_0"])
def test_tensors_of_a_file(tmp_path: Path, kind: str) -> None:
    """Names, shapes and values of every tensor, with query and key rows put back, weights and biases alike."""
    import gguf

    biases = {
        "blk.0.attn_q.bias": np.arange(HEADS * HEAD_DIM, dtype=np.float32),
        "blk.0.attn_k.bias": np.arange(KV_HEADS * HEAD_DIM, dtype=np.float32),
        "blk.0.attn_v.bias": np.arange(KV_HEADS * HEAD_DIM, dtype=np.float32),
    }
    tiny = Tiny(quant=kind, tied=False, extra=biases)
    path = tiny_gguf.write(tmp_path / "t.gguf", tiny)
    number = gguf.GGMLQuantizationType[kind]
    weights = open_gguf(path, hf_config(read_gguf(path)))
    stored = tiny_gguf.arrays(tiny)
    names = huggingface_names("llama", tiny_gguf.LAYERS)
    assert len(weights) == len(stored)
    for name, array in stored.items():
        if array.ndim == 2:
            array = np.asarray(gguf.dequantize(gguf.quantize(array, number), number)).reshape(array.shape)
        heads = HEADS if "attn_q" in name else KV_HEADS if "attn_k" in name else 0
        module, _, suffix = name.rpartition(".")
        tensor = weights[f"{names[module]}.{suffix}"]
        assert tensor.dtype == ir.DataType.FLOAT and tensor.nbytes == array.size * 4
        expected = array
        if heads:
            np.testing.assert_array_equal(ggml_order(tensor.numpy(), heads), array)
        else:
            np.testing.assert_array_equal(tensor.numpy(), expected)
        assert b"".join(piece.tobytes() for piece in pieces(tensor)) == tensor.tobytes()
        if array.ndim == 2:
            turned = transposed(tensor, "t")
            np.testing.assert_array_equal(turned.numpy(), tensor.numpy().T)
            assert b"".join(piece.tobytes() for piece in pieces(turned)) == turned.tobytes()
            half = transposed(cast(tensor, ir.DataType.FLOAT16), "h")
            assert b"".join(p.tobytes() for p in pieces(half)) == tensor.numpy().T.astype(np.float16).tobytes()


def test_names() -> None:
    names = huggingface_names("llama", 12)
    assert names["blk.11.ffn_gate"] == "model.layers.11.mlp.gate_proj" and names["output"] == "lm_head"
    assert "blk.12.ffn_gate" not in names and "blk.0.attn_sinks" not in names
    gemma, phi = huggingface_names("gemma2", 1), huggingface_names("phi3", 1)
    assert gemma["blk.0.ffn_norm"] == "model.layers.0.pre_feedforward_layernorm"
    assert gemma["blk.0.post_attention_norm"] == "model.layers.0.post_attention_layernorm"
    assert phi["blk.0.ffn_up"] == "model.layers.0.mlp.gate_up_proj"
    assert phi["blk.0.attn_qkv"] == "model.layers.0.self_attn.qkv_proj"
    assert not huggingface_names("no-such-architecture", 1)


def test_unknown_tensors_keep_their_names_and_rope_freqs_do_not_count(tmp_path: Path) -> None:
    extra = {
        "blk.0.attn_sinks.weight": np.ones(4, np.float32),
        "blk.0.attn_q.scale": np.ones(1, np.float32),
        "rope_freqs.weight": np.ones(8, np.float32),
    }
    path = tiny_gguf.write(tmp_path / "t.gguf", Tiny(extra=extra))
    weights = open_gguf(path, hf_config(read_gguf(path)))
    assert {"blk.0.attn_sinks.weight", "blk.0.attn_q.scale"} <= set(weights) and "rope_freqs.weight" not in weights


def test_a_type_that_cannot_be_dequantized(tmp_path: Path) -> None:
    import gguf

    path = tmp_path / "t.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("x.weight", np.ones(32, np.int32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(WeightsError, match="tensors of type I32, which cannot be dequantized"):
        open_gguf(path, {})


def test_rows_that_make_no_heads(tmp_path: Path) -> None:
    path = tiny_gguf.write(tmp_path / "t.gguf")
    with pytest.raises(WeightsError, match=r"blk.0.attn_q.weight: 64 rows do not make 5 heads"):
        open_gguf(path, {"num_attention_heads": 5, "num_key_value_heads": 2})


def test_opening_reads_no_tensor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.config.gguf_reader import GgufFile

    path = tiny_gguf.write(tmp_path / "t.gguf")
    hf = hf_config(read_gguf(path))
    reads: list[str] = []
    original = GgufFile.raw
    monkeypatch.setattr(GgufFile, "raw", lambda self, name: reads.append(name) or original(self, name))
    weights = open_gguf(path, hf)
    assert reads == []
    weights["model.norm.weight"].numpy()
    weights["model.norm.weight"].numpy()
    assert reads == ["output_norm.weight"] * 2  # and nothing is kept

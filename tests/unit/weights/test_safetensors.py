"""Hugging Face folders: single and sharded safetensors, mapped and lazy; what is damaged says so at once."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx_ir as ir
import pytest
from safetensors.numpy import save_file

from workbench.config.source import SourceConfig
from workbench.errors import WeightsError
from workbench.weights.load import open_weights
from workbench.weights.safetensors import open_safetensors

ARRAYS = {
    "a": np.arange(12, dtype=np.float32).reshape(3, 4) + 0.5,
    "b": np.arange(5, dtype=np.float16) - 2,
    "c": np.arange(6).astype(ml_dtypes.bfloat16).reshape(2, 3),
    "ids": np.arange(3, dtype=np.int64),
}
INDEX = "model.safetensors.index.json"


def source(folder: Path) -> SourceConfig:
    return SourceConfig(folder.name, "llama", {}, "folder", folder)


def raw_file(path: Path, header: str | dict[str, object], data: bytes) -> Path:
    text = header if isinstance(header, str) else json.dumps(header)
    path.write_bytes(struct.pack("<Q", len(text)) + text.encode() + data)
    return path


def sharded(folder: Path, shards: dict[str, dict[str, np.ndarray]], extra: dict[str, str] | None = None) -> Path:
    for file, arrays in shards.items():
        save_file(arrays, folder / file)
    weight_map = {name: file for file, arrays in shards.items() for name in arrays} | (extra or {})
    (folder / INDEX).write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    return folder


def test_every_dtype_without_a_copy(tmp_path: Path) -> None:
    save_file(ARRAYS, tmp_path / "model.safetensors", metadata={"format": "pt"})
    weights = open_weights(source(tmp_path))
    assert set(weights) == set(ARRAYS)
    for name, array in ARRAYS.items():
        found = weights[name]
        assert found.dtype == ir.DataType.from_numpy(array.dtype) and tuple(found.shape) == array.shape
        assert found.numpy().dtype == array.dtype and found.numpy().tobytes() == array.tobytes()
        assert not found.numpy().flags.owndata and not found.numpy().flags.writeable
        assert found.name == name


def test_nothing_is_read_before_it_is_used(tmp_path: Path) -> None:
    """A file that claims 8 GB (sparse) opens in an instant and without memory."""
    size = 8 << 30
    header = json.dumps({"w": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}})
    path = raw_file(tmp_path / "model.safetensors", header, b"")
    with open(path, "r+b") as file:
        file.truncate(8 + len(header) + size)
    tensor = open_weights(source(tmp_path))["w"]
    assert tensor.nbytes == size and tensor.numpy()[-1] == 0


def test_empty_tensors(tmp_path: Path) -> None:
    save_file({"e": np.empty((0, 4), np.float32)}, tmp_path / "model.safetensors")
    assert open_weights(source(tmp_path))["e"].numpy().shape == (0, 4)


def test_other_name_for_a_single_file(tmp_path: Path) -> None:
    save_file(ARRAYS, tmp_path / "weights.safetensors")
    assert set(open_weights(source(tmp_path))) == set(ARRAYS)


def test_a_link_to_the_file_works(tmp_path: Path) -> None:
    """Hugging Face's cache keeps links in the folder and the files elsewhere."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "snapshot").mkdir()
    save_file(ARRAYS, tmp_path / "blobs" / "1234")
    (tmp_path / "snapshot" / "model.safetensors").symlink_to(tmp_path / "blobs" / "1234")
    np.testing.assert_array_equal(open_weights(source(tmp_path / "snapshot"))["a"].numpy(), ARRAYS["a"])


def test_shards(tmp_path: Path) -> None:
    one, two = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    sharded(tmp_path, {one: {"a": ARRAYS["a"]}, two: {"b": ARRAYS["b"], "c": ARRAYS["c"]}})
    weights = open_weights(source(tmp_path))
    assert set(weights) == {"a", "b", "c"}
    np.testing.assert_array_equal(weights["b"].numpy(), ARRAYS["b"])


def refused(folder: Path, *parts: str) -> None:
    with pytest.raises(WeightsError) as caught:
        open_weights(source(folder))
    for part in parts:
        assert part in str(caught.value), str(caught.value)


def test_missing_shards_are_named(tmp_path: Path) -> None:
    sharded(tmp_path, {"s0.safetensors": {"a": ARRAYS["a"]}}, {f"x{i}": f"s{i}.safetensors" for i in range(1, 8)})
    refused(tmp_path, "7 of 8 weight files are missing: s1.safetensors, s2.safetensors", "...", "complete the folder")


def test_a_name_in_two_shards(tmp_path: Path) -> None:
    one = {"a": ARRAYS["a"], "b": ARRAYS["b"]}
    sharded(tmp_path, {"s0.safetensors": one, "s1.safetensors": {"a": ARRAYS["a"]}})
    refused(tmp_path, "'a' is in s0.safetensors and in s1.safetensors")


def test_an_index_that_promises_too_much(tmp_path: Path) -> None:
    sharded(tmp_path, {"s0.safetensors": {"a": ARRAYS["a"]}}, {"z": "s0.safetensors"})
    refused(tmp_path, "names 'z', which s0.safetensors does not hold")


@pytest.mark.parametrize("text", ["{", "[]", '{"weight_map": []}', '{"weight_map": 3}', "{}", "\xff"])
def test_damaged_index(tmp_path: Path, text: str) -> None:
    (tmp_path / INDEX).write_bytes(text.encode("latin-1"))
    refused(tmp_path, INDEX, "is not a safetensors index")


@pytest.mark.parametrize("name", ["../other.safetensors", "/etc/x.safetensors", "pytorch_model.bin"])
def test_an_index_may_name_only_files_of_its_folder(tmp_path: Path, name: str) -> None:
    sharded(tmp_path, {}, {"a": name})
    refused(tmp_path, repr(name), "only *.safetensors in the same folder")


def test_several_files_without_an_index(tmp_path: Path) -> None:
    for name in ("x", "y"):
        save_file(ARRAYS, tmp_path / f"{name}.safetensors")
    refused(tmp_path, "holds 2 safetensors files", INDEX)


def test_every_truncation_says_so(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    save_file(ARRAYS, path)
    whole = path.read_bytes()
    for length in [*range(0, len(whole), 13), len(whole) - 1]:
        path.write_bytes(whole[:length])
        refused(tmp_path, "model.safetensors is truncated or not a safetensors file", f"it has {length} bytes here")


@pytest.mark.parametrize(
    "header",
    [
        "{", "[]", '"x"', '{"a": 3}',
        {"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}},
        {"a": {"dtype": "F32", "shape": [2**62], "data_offsets": [0, 8]}},
        {"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}},
        {"a": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}},
    ],
)  # fmt: skip
def test_damaged_headers(tmp_path: Path, header: str | dict[str, object]) -> None:
    raw_file(tmp_path / "model.safetensors", header, bytes(8))
    refused(tmp_path, "model.safetensors is truncated or not a safetensors file")


def test_a_header_longer_than_any_file(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", 2**60) + b"{}")
    refused(tmp_path, "is truncated or not a safetensors file")


def test_the_same_name_twice(tmp_path: Path) -> None:
    record = '{"dtype":"U8","shape":[4],"data_offsets":[%d,%d]}'
    raw_file(tmp_path / "model.safetensors", f'{{"a":{record % (0, 4)},"a":{record % (0, 4)}}}', bytes(4))
    refused(tmp_path, "'a' twice")


def test_a_dtype_that_is_not_read(tmp_path: Path) -> None:
    raw_file(tmp_path / "f8.safetensors", {"a": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}}, bytes(4))
    with pytest.raises(WeightsError, match="'a' has dtype F8_E4M3, which is not read; read are F32, F16"):
        open_safetensors(tmp_path / "f8.safetensors")


def test_a_source_without_weights() -> None:
    with pytest.raises(WeightsError, match="resolved without weights. Build it with load_weights=False"):
        open_weights(SourceConfig("m", "llama", {}, "config"))

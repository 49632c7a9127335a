"""Derived tensors: computed when read, kept by nobody, in pieces where possible."""

from __future__ import annotations

import gc
import io
import weakref
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx_ir as ir
import pytest

from workbench.config.progress import Bar
from workbench.errors import WeightsError
from workbench.weights import external, lazy
from workbench.weights.external import PAGE, layout, write_tensors
from workbench.weights.lazy import cast, derived, pieces, same_values, transposed

FLOAT, HALF, BFLOAT = ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.BFLOAT16


def test_derived_is_computed_at_every_reading_and_not_kept() -> None:
    made: list[weakref.ref[np.ndarray]] = []

    def make() -> np.ndarray:
        array = np.arange(6, dtype=np.float32).reshape(2, 3)
        made.append(weakref.ref(array))
        return array

    tensor = derived("t", FLOAT, (2, 3), make)
    assert (tensor.name, tensor.dtype, tuple(tensor.shape), tensor.nbytes) == ("t", FLOAT, (2, 3), 24)
    assert made == []
    assert tensor.tobytes() == np.arange(6, dtype=np.float32).tobytes()
    buffer = io.BytesIO()
    tensor.tofile(buffer)
    assert buffer.getvalue() == tensor.tobytes() and len(made) == 3
    gc.collect()
    assert all(reference() is None for reference in made)
    assert "0x" not in repr(tensor)


@pytest.mark.parametrize("array", [np.zeros((3, 2), np.float32), np.zeros((2, 3), np.float64)])
def test_a_broken_promise_is_an_error(array: np.ndarray) -> None:
    with pytest.raises(WeightsError, match=r"'t' promised FLOAT \(2, 3\) and made"):
        derived("t", FLOAT, (2, 3), lambda: array).numpy()


def test_a_transpose_is_written_in_its_own_order() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert derived("t", FLOAT, (3, 2), lambda: array.T).tobytes() == array.T.copy().tobytes()


def test_transposed_of_any_matrix_and_back() -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    turned = transposed(ir.tensor(array), "t")
    assert (turned.name, tuple(turned.shape)) == ("t", (3, 2)) and turned.tobytes() == array.T.copy().tobytes()
    back = transposed(cast(turned, HALF), "b")
    np.testing.assert_array_equal(back.numpy(), array.astype(np.float16))


@pytest.mark.parametrize("dtype", [HALF, BFLOAT])
def test_casts_round_as_numpy_does(dtype: ir.DataType) -> None:
    array = np.random.default_rng(0).normal(size=(7, 11)).astype(np.float32)
    made = cast(ir.tensor(array, name="w"), dtype)
    assert made.name == "w" and made.dtype == dtype
    np.testing.assert_array_equal(made.numpy(), array.astype(dtype.numpy()))
    assert cast(made, dtype) is made


def test_bfloat16_to_float32_is_exact() -> None:
    array = np.array([1.5, -2.25, 3e38], ml_dtypes.bfloat16)
    np.testing.assert_array_equal(cast(ir.tensor(array), FLOAT).numpy(), array.astype(np.float32))


def test_an_overflow_is_an_error_and_an_infinity_stays() -> None:
    big = cast(ir.tensor(np.array([1.0, 70000.0], np.float32), name="w"), HALF)
    with pytest.raises(WeightsError, match="'w' holds 70000, too large for float16. Build it in float32."):
        big.numpy()
    mask = cast(ir.tensor(np.array([-np.inf, np.nan], np.float32)), HALF).numpy()
    assert np.isneginf(mask[0]) and np.isnan(mask[1])


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy, "PIECE_BYTES", 64)


def samples() -> list[ir.TensorProtocol]:
    rng = np.random.default_rng(0)
    whole = rng.normal(size=(50, 7)).astype(np.float32)
    return [
        ir.tensor(whole, name="plain"),
        ir.tensor(whole.T, name="strided"),
        cast(ir.tensor(whole), HALF, "cast"),
        derived("made", FLOAT, (7, 50), lambda: whole.T),
        ir.tensor(np.float32(3), name="scalar"),
        ir.tensor(np.zeros((0, 3), np.float32), name="empty"),
        ir.tensor(rng.integers(-8, 8, 33).astype(ml_dtypes.int4), name="packed"),
        ir.tensor(rng.normal(size=2000).astype(np.float32), name="page"),
    ]


@pytest.mark.usefixtures("small_pieces")
def test_pieces_are_the_bytes_in_order() -> None:
    for tensor in samples():
        cut = list(pieces(tensor))
        assert b"".join(np.ascontiguousarray(piece).tobytes() for piece in cut) == tensor.tobytes(), tensor.name
        assert all(piece.nbytes <= 64 for piece in cut)


def test_same_values() -> None:
    array = np.arange(5000, dtype=np.float32)
    other = array.copy()
    other[-1] += 1
    assert same_values(ir.tensor(array), ir.tensor(array.copy()))
    assert not same_values(ir.tensor(array), ir.tensor(other))
    assert not same_values(ir.tensor(array), ir.tensor(array.reshape(50, 100)))
    assert same_values(ir.tensor(array), derived("d", FLOAT, (5000,), array.copy))
    assert same_values(ir.tensor(np.array([np.nan])), ir.tensor(np.array([np.nan])))


@pytest.mark.usefixtures("small_pieces")
def test_written_file_holds_every_tensor_at_its_place(tmp_path: Path) -> None:
    import hashlib

    tensors = samples()
    place = layout(tensors)
    path = tmp_path / "data"
    done: list[int] = []
    digest = write_tensors(path, tensors, place, Bar("x", place.size, lambda label, count, total: done.append(count)))
    data = path.read_bytes()
    assert len(data) == place.size == done[-1] and hashlib.sha256(data).hexdigest() == digest
    end = 0
    for tensor, offset, length in zip(tensors, place.offsets, place.lengths, strict=True):
        assert data[offset : offset + length] == tensor.tobytes(), tensor.name
        assert offset >= end and offset % (PAGE if length >= PAGE else 64) == 0
        assert data[end:offset] == bytes(offset - end)
        end = offset + length


def test_a_system_without_positioned_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external, "_POSITIONED", False)
    tensors = samples()
    write_tensors(tmp_path / "a", tensors, layout(tensors), Bar("x", 1, False))
    monkeypatch.undo()
    write_tensors(tmp_path / "b", tensors, layout(tensors), Bar("x", 1, False))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def write(path: Path, *tensors: ir.TensorProtocol) -> None:
    write_tensors(path, tensors, layout(tensors), Bar("x", 1, False))


def test_a_tensor_that_cannot_be_read(tmp_path: Path) -> None:
    gone = ir.ExternalTensor("gone.data", 0, 8, FLOAT, shape=ir.Shape([2]), name="w", base_dir=tmp_path)
    with pytest.raises(WeightsError, match="Tensor 'w' cannot be read: .*No such file"):
        write(tmp_path / "data", gone)


def test_a_tensor_that_gives_fewer_bytes_than_promised(tmp_path: Path) -> None:
    one = [np.zeros(3, np.float32)]
    short = derived("w", FLOAT, (4,), lambda: np.zeros(4, np.float32), pieces=lambda: iter(one))
    with pytest.raises(WeightsError, match="'w' promised 16 bytes and gave 12"):
        write(tmp_path / "data", short)


@pytest.mark.parametrize("call", ["pwrite", "fsync"])
def test_a_full_disk_is_reported_by_either_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(external.os, call, full)
    with pytest.raises(OSError, match="No space left"):
        write(tmp_path / "data", ir.tensor(np.zeros(1 << 22, np.float32), name="w"))


def test_an_interrupt_ends_the_threads(tmp_path: Path) -> None:
    import threading

    def interrupted() -> np.ndarray:
        raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "data", ir.tensor(np.zeros(5000)), derived("w", FLOAT, (4,), interrupted))
    assert threading.active_count() == before

"""Joined tensors: the same values as NumPy's concatenation, whole, in pieces and turned."""

from __future__ import annotations

from collections.abc import Iterable

import ml_dtypes
import numpy as np
import onnx_ir as ir
import pytest

from tests.unit.rules.graphs import parsed
from workbench.passes.fold import fold
from workbench.weights import lazy
from workbench.weights.join import joined
from workbench.weights.lazy import cast, derived, pieces, transposed

RNG = np.random.default_rng(3)


def flat(found: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate([piece.reshape(-1) for piece in found])


def stored(array: np.ndarray, cut: int) -> ir.TensorProtocol:
    """A tensor whose pieces and whose turned pieces end anywhere: ``cut`` values each."""

    def cuts(values: np.ndarray) -> list[np.ndarray]:
        line = np.ascontiguousarray(values).reshape(-1)
        return [line[i : i + cut] for i in range(0, line.size, cut)]

    return derived(
        "part", ir.DataType.FLOAT, array.shape, lambda: array,
        pieces=lambda: iter(cuts(array)), turned=lambda: iter(cuts(array.T)),
    )  # fmt: skip


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("cuts", [(1, 1, 1), (3, 7, 100), (100, 2, 5), (10, 10, 10)])
def test_matrices_in_pieces_of_any_size(axis: int, cuts: tuple[int, int, int]) -> None:
    sizes = [(4, 5), (4, 3), (4, 6)] if axis in (1, -1) else [(5, 4), (3, 4), (6, 4)]
    arrays = [RNG.standard_normal(size).astype(np.float32) for size in sizes]
    wanted = np.concatenate(arrays, axis=axis)
    found = joined("j", [stored(array, cut) for array, cut in zip(arrays, cuts, strict=True)], axis)
    assert found.name == "j" and tuple(found.shape) == wanted.shape
    np.testing.assert_array_equal(found.numpy(), wanted)
    np.testing.assert_array_equal(flat(pieces(found)), wanted.reshape(-1))
    np.testing.assert_array_equal(flat(pieces(transposed(found, "t"))), wanted.T.reshape(-1))
    np.testing.assert_array_equal(transposed(found, "t").numpy(), wanted.T)


def test_plain_tensors_vectors_and_higher_ranks() -> None:
    for shape, axis in (((3,), 0), ((2, 3), 0), ((2, 3), 1), ((2, 3, 4), 1), ((2, 3, 4), 2)):
        arrays = [RNG.standard_normal(shape).astype(np.float32) for _ in range(3)]
        found = joined("j", [ir.tensor(array) for array in arrays], axis)
        wanted = np.concatenate(arrays, axis=axis)
        np.testing.assert_array_equal(found.numpy(), wanted)
        np.testing.assert_array_equal(flat(pieces(found)), wanted.reshape(-1))


def test_a_cast_of_a_joined_matrix_is_turned_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lazy, "PIECE_BYTES", 16)
    arrays = [RNG.standard_normal((n, 7)).astype(np.float32) for n in (2, 5)]
    half = cast(joined("j", [stored(array, 4) for array in arrays], 0), ir.DataType.FLOAT16, "h")
    wanted = np.concatenate(arrays).astype(np.float16)
    np.testing.assert_array_equal(flat(pieces(transposed(half, "t"))), wanted.T.reshape(-1))


def test_packed_values_that_share_a_byte_are_joined_as_values() -> None:
    parts = [np.array([1, 2, 3], ml_dtypes.int4), np.array([4, 5, 6], ml_dtypes.int4)]
    found = joined("j", [ir.tensor(part) for part in parts], 0)
    assert found.tobytes() == ir.tensor(np.concatenate(parts)).tobytes()
    assert b"".join(piece.tobytes() for piece in pieces(found)) == found.tobytes()


@pytest.mark.parametrize("perm", [(0, 1), (1, 0), None])
def test_fold_turns_a_matrix_only_where_the_graph_does(perm: tuple[int, int] | None) -> None:
    """A Transpose that keeps the order changes nothing, and must not be folded into one that turns."""
    attribute = f"<perm = {list(perm)}>" if perm is not None else ""
    graph = parsed(
        f"""<ir_version: 11, opset_import: ["": 24]> g (float[2, 3] x) => (float[2, 3] y)
        <float[3, 3] w = {{0, 1, 2, 3, 4, 5, 6, 7, 8}}> {{ t = Transpose {attribute} (w)  y = MatMul (x, t) }}"""
    )
    fold(graph, inline=False)
    (folded,) = graph.graph.initializers.values()
    assert folded.const_value is not None and [node.op_type for node in graph.graph] == ["MatMul"]
    array = np.arange(9, dtype=np.float32).reshape(3, 3)
    np.testing.assert_array_equal(folded.const_value.numpy(), array if perm == (0, 1) else array.T)

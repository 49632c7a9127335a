"""Policy graphs against NumPy, row by row."""

from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from workbench.describe.policy.graphs import advance, greedy, positions, start, termination
from workbench.runtime.ort_cpu import OrtCpuSession

CAPACITY = 9


def run(model: ir.Model, **feeds: np.ndarray) -> dict[str, np.ndarray]:
    onnx.checker.check_model(ir.to_proto(model), full_check=True)
    with OrtCpuSession(model) as session:
        return session.run(feeds)


@pytest.mark.parametrize("dtype", [ir.DataType.FLOAT, ir.DataType.FLOAT16])
def test_greedy_takes_the_last_real_token_of_each_row(dtype: ir.DataType) -> None:
    logits = np.random.default_rng(0).standard_normal((3, 5, 11)).astype(dtype.numpy())
    logits[2, 1, 3] = logits[2, 1, 7] = 50  # of equal ones the first
    write, lengths = np.array([0, 4, 2]), np.array([5, 7, 4])
    token = run(greedy(dtype), logits=logits, write_indices=write, kv_lengths=lengths)["token"]
    expected = [[int(np.argmax(logits[row, lengths[row] - write[row] - 1]))] for row in range(3)]
    assert token.tolist() == expected and token.dtype == np.int64 and expected[2] == [3]


def test_greedy_on_the_last_logits_alone() -> None:
    logits = np.random.default_rng(3).standard_normal((3, 1, 11)).astype(np.float32)
    found = run(
        greedy(ir.DataType.FLOAT, last=True),
        logits=logits,
        write_indices=np.array([0, 4, 2]),
        kv_lengths=np.array([5, 7, 4]),
    )
    assert found["token"].tolist() == np.argmax(logits, axis=-1).tolist()


def test_start_is_an_empty_cache_behind_no_token() -> None:
    found = run(start((2, CAPACITY, 4), ir.DataType.FLOAT16), input_ids=np.ones((3, 5), np.int64))
    assert found["write_indices"].tolist() == [0, 0, 0] and found["kv_lengths"].tolist() == [5, 5, 5]
    cache = found["empty_cache"]
    assert cache.shape == (3, 2, CAPACITY, 4) and cache.dtype == np.float16 and not cache.any()


def test_positions_of_new_tokens_and_the_mask_of_all() -> None:
    write, lengths = np.array([0, 4, 2]), np.array([2, 6, 3])
    found = run(positions(), input_ids=np.ones((3, 2), np.int64), write_indices=write, kv_lengths=lengths)
    assert found["position_ids"].tolist() == [[0, 1], [4, 5], [2, 3]]
    assert found["attention_mask"].tolist() == [[int(slot < n) for slot in range(6)] for n in lengths]


def test_advance_moves_active_rows_and_stays_inside() -> None:
    lengths, active = np.array([0, 4, 4, 8]), np.array([True, True, False, True])
    found = run(advance(CAPACITY), cache_lengths=lengths, active=active)
    assert found["kv_lengths"].tolist() == (lengths + 1).tolist()
    assert found["next_lengths"].tolist() == np.minimum(lengths + active, CAPACITY - 1).tolist() == [1, 5, 4, 8]


@pytest.mark.parametrize("ends", [[2], [2, 7], []])
def test_termination(ends: list[int]) -> None:
    rng = np.random.default_rng(1)
    token, lengths = rng.integers(0, 9, (40, 1)), rng.integers(0, CAPACITY, 40)
    active = rng.random(40) < 0.7
    found = run(termination(ends, CAPACITY), token=token, cache_lengths=lengths, active=active)
    expected = active & ~np.isin(token[:, 0], ends) & (lengths + 1 < CAPACITY)
    assert found["next_active"].tolist() == expected.tolist() and 0 < expected.sum() < active.sum()
    assert found["done"].tolist() == (~expected).tolist()
    assert found["accepted_len"].tolist() == active.astype(int).tolist()

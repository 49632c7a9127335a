"""The small graphs of the kinds, run: what they compute is what their docstrings say."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
import onnxruntime as ort
import pytest

from workbench.analysis.graph_facts import Port
from workbench.describe.policy.nothing import nothing
from workbench.describe.policy.tokens import best_tokens, joined_tokens, repeated_tokens


def run(model: ir.Model, **feeds: Any) -> Any:
    session = ort.InferenceSession(ir.to_proto(model).SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_nothing_has_no_rows_and_the_right_width(dtype: Any) -> None:
    found = run(nothing(Port("image_features", ir.DataType.from_numpy(np.dtype(dtype)), ("rows", 16))))
    assert (found.shape, found.dtype) == ((0, 16), dtype)
    assert run(nothing(Port("features", ir.DataType.FLOAT, ("images", "patches", 4)))).shape == (0, 0, 4)


def test_the_best_token_is_the_first_of_equals() -> None:
    logits = np.random.default_rng(1).integers(0, 3, (2, 5, 7)).astype(np.float32)
    np.testing.assert_array_equal(run(best_tokens(ir.DataType.FLOAT, 7), logits=logits), logits.argmax(-1))


def test_tokens_stand_behind_tokens() -> None:
    first, then = np.arange(6, dtype=np.int64).reshape(2, 3), np.array([[7], [8]], np.int64)
    np.testing.assert_array_equal(run(joined_tokens(), first=first, then=then), np.concatenate([first, then], 1))


def test_every_row_begins_alike() -> None:
    like = np.zeros((3, 80, 12), np.float32)
    found = run(repeated_tokens([5, 6, 7, 8], ir.DataType.FLOAT, 3), like=like)
    np.testing.assert_array_equal(found, [[5, 6, 7, 8]] * 3)

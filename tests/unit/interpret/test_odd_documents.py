"""Documents and graphs that pass every rule and still cannot be run: a diagnostic at its step, never a traceback."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from tests.unit.describe.described import PACKAGES
from tests.unit.describe.odd_graphs import LOGITS, PLAIN, cache, graph, present
from workbench import describe, export
from workbench.describe import DescribedPackage
from workbench.errors import ArgumentError, ModelFileError
from workbench.interpret import interpret

GIVEN = {"prompt_tokens": [[5, 9]]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("odd") / "x"
    export(PACKAGES["growing-portable"](), place, runtime="onnx-genai", progress=False)
    return place


def with_input(dtype: str, shape: list[Any], role: str | None = None, **words: Any) -> dict[str, Any]:
    """A decoder's document with one more input, which nobody reads."""
    data = copy.deepcopy(describe(PACKAGES["growing-portable"]()).data)
    data["pipeline"]["workflow"]["inputs"]["more"] = {
        "contract": {"dtype": dtype, "rank": len(shape), "shape": shape},
        "role": {"kind": "runtime", "version": "1.0", "role": role} if role else {"kind": "opaque"},
        "source": {"kind": "request" if role else "literal"}, "required": False, **words,
    }  # fmt: skip
    return data


@pytest.mark.parametrize(
    ("dtype", "shape", "default", "said"),
    [
        ("int64", [1], "x", "The default of 'more' is 'x', and its contract says int64."),
        ("bfloat16", [1], "x", "The default of 'more' is 'x', and its contract says bfloat16."),
        ("float32", [2], [True, "x"], "is (True, 'x'), and its contract says float32."),
        ("uint8", [1], -1, "The default of 'more' is -1, and its contract says uint8."),
        ("int32", [1], 2**31, "The default of 'more' is 2147483648, and its contract says int32."),
        ("int64", [1], 1.5, "The default of 'more' is 1.5, and its contract says int64."),
        ("float32", [10**12], 1, "would take 4,000,000,000,000 bytes; one is made of at most 8,589,934,592."),
        ("float32", [2**62, 2**62], 1, "bytes; one is made of at most 8,589,934,592."),
        ("float32", [2**62, 0, 2**62], 1, "bytes; one is made of at most 8,589,934,592."),
    ],
)
def test_defaults_that_are_none(dtype: str, shape: list[Any], default: Any, said: str, folder: Path) -> None:
    run = interpret(with_input(dtype, shape, default=default), GIVEN, package_root=folder, max_new_tokens=1)
    found = run.diagnostics[-1]
    assert (found.code, found.step, run.status) == ("run.input", "pipeline.workflow.inputs", "failed")
    assert said in found.message


@pytest.mark.parametrize(
    ("dtype", "default", "made"), [("bool", 1, True), ("float32", 2, 2.0), ("uint8", True, 1), ("bfloat16", 0.5, 0.5)]
)
def test_defaults_that_say_the_same(dtype: str, default: Any, made: Any, folder: Path) -> None:
    run = interpret(with_input(dtype, [1], default=default), GIVEN, package_root=folder, max_new_tokens=1)
    assert run.ok and run.value("more").array.tolist() == [made]


@pytest.mark.parametrize("given", ["hot", 1j, b"x", np.datetime64("2020"), np.timedelta64(1)])
def test_a_temperature_that_is_no_number(given: Any, folder: Path) -> None:
    data = with_input("float32", [1], "sampling_temperature", default=1)
    (found,) = interpret(data, GIVEN | {"more": given}, package_root=folder, max_new_tokens=1).diagnostics
    assert found.code == "run.input" and "its contract says float32" in found.message


def test_a_temperature_that_is_not_finite(folder: Path) -> None:
    data = with_input("float32", [1], "sampling_temperature", default=1)
    (found,) = interpret(data, GIVEN | {"more": float("nan")}, package_root=folder).diagnostics
    assert found.code == "run.input" and "'more' holds 1 NaN among 1 elements. Give numbers." in found.message
    with pytest.raises(ArgumentError, match="temperature is inf; it must be above 0 and finite"):
        interpret(data, GIVEN | {"more": float("inf")}, package_root=folder)


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "\udcff"])
def test_names_that_no_folder_has(name: str, folder: Path) -> None:
    with pytest.raises(ModelFileError, match="There is no folder"):
        interpret(folder, GIVEN, package_root=name)


@pytest.mark.parametrize("axes", [0, 1, 3])
def test_a_graph_whose_cache_comes_back_with_other_axes(axes: int, tmp_path: Path) -> None:
    """It promises four, and ONNX Runtime hands on what a Constant has."""
    proto = graph([*PLAIN, *cache()], [*LOGITS, *present()])
    for node in proto.graph.node:
        shape = {"logits": [1, 2, 96]}.get(node.output[0], [1] * axes)
        node.attribute[0].t.CopyFrom(
            onnx.helper.make_tensor("v", onnx.TensorProto.FLOAT, shape, [0.0] * int(np.prod(shape)))
        )
    (tmp_path / "model.onnx").write_bytes(proto.SerializeToString())
    package = DescribedPackage.read(tmp_path, kind="decoder", components={"model": "model.onnx"})
    describe(package).save_beside(tmp_path)
    found = interpret(tmp_path, GIVEN, max_new_tokens=2).diagnostics[-1]
    said = f"has its tokens on axis 2; float32[1, 2, 0, 16] went in, and float32{[1] * axes} came back"
    assert found.code in ("run.rank", "run.growth") and (axes == 3 or said in found.message)


def test_a_cell_of_other_axes_in_the_place_of_a_cache(folder: Path) -> None:
    data = copy.deepcopy(describe(PACKAGES["growing-portable"]()).data)
    step = data["pipeline"]["workflow"]["steps"][0]["steps"][0]
    step["inputs"]["past_key_values.1.value"] = "accepted_len"
    found = interpret(data, GIVEN, package_root=folder, max_new_tokens=2).diagnostics[-1]
    assert (found.code, found.value) == ("run.dtype", "accepted_len")

"""Files that only look like ONNX graphs, and arguments of the wrong type: one clear error each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.cases import CASES, write_model
from workbench import (
    ArgumentError,
    CausalLM,
    Comparison,
    ExecutionError,
    FeedsError,
    ModelFileError,
    Package,
    SaveError,
    WorkbenchError,
    build,
    build_from_module,
    check,
    compare,
    load,
    optimize,
    run,
)
from workbench.analysis.histogram import histogram
from workbench.passes.fold import fold
from workbench.passes.wellformed import check_values
from workbench.runtime.ort_cpu import OrtCpuSession
from workbench.widgets.light_model import light_bytes

Node = onnx.NodeProto


def write(
    place: Path, nodes: list[Node], tensors: dict[str, np.ndarray] | None = None, outputs: tuple[str, ...] = ("y",)
) -> Path:
    """A file with one float input ``x [2, 3]``, checked by nobody."""
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3))]
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, (2, 3)) for name in outputs]
    held = [numpy_helper.from_array(array, name) for name, array in (tensors or {}).items()]
    graph = helper.make_graph(nodes, "g", inputs, made, held)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    place.write_bytes(model.SerializeToString())
    return place


# --- values that nothing makes --------------------------------------------------------------------------
def _inside() -> list[Node]:
    """The gap is in the branch of an If."""
    output = helper.make_tensor_value_info("t", TensorProto.FLOAT, (2, 3))
    good = helper.make_graph([helper.make_node("Relu", ["x"], ["t"])], "good", [], [output])
    bad = helper.make_graph([helper.make_node("Relu", ["nope"], ["t"], name="n")], "bad", [], [output])
    always = helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.array(True)))
    return [always, helper.make_node("If", ["c"], ["y"], then_branch=good, else_branch=bad)]


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([helper.make_node("Relu", ["nope"], ["y"], name="n")], r"node 'n' \(Relu\) needs 'nope', which no input"),
        (_inside(), r"Graph 'bad' is not complete: node 'n' \(Relu\) needs 'nope'"),
        ([helper.make_node("Relu", ["x"], ["z"])], "its list of outputs needs 'y', which no input"),
    ],
    ids=["input", "branch", "output"],
)
def test_readers_of_nothing_are_named(tmp_path: Path, nodes: list[Node], words: str) -> None:
    path = write(tmp_path / "bad.onnx", nodes)
    with pytest.raises(ModelFileError, match=words) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: Graph ") and "Export the model again" in str(caught.value)
    with pytest.raises(ModelFileError, match=words):
        optimize(onnx.load(path), execution_provider="cpu")


def test_a_skeleton_as_a_proto_has_lost_its_parameters() -> None:
    model = build(dict(CASES["gqa"].hf), load_weights=False).model
    check_values(model)
    with pytest.raises(ModelFileError, match="needs 'model.embed_tokens.weight', which no input, initializer or node"):
        optimize(ir.to_proto(model), execution_provider="cpu")


def test_nodes_out_of_order_run_and_are_saved(tmp_path: Path) -> None:
    nodes = [helper.make_node("Neg", ["a"], ["y"]), helper.make_node("Relu", ["x"], ["a"])]
    package = load(write(tmp_path / "late.onnx", nodes))
    x = np.float32([[1, -2, 3], [-4, 5, -6]])
    np.testing.assert_array_equal(run(package, {"x": x})["y"], -np.maximum(x, 0))
    package.save(tmp_path / "saved", progress=False)
    np.testing.assert_array_equal(run(load(tmp_path / "saved"), {"x": x})["y"], -np.maximum(x, 0))


# --- operators that are no operators --------------------------------------------------------------------
SQUARE, OTHER = np.ones((3, 3), np.float32), np.ones((3, 4), np.float32)


@pytest.mark.parametrize(
    ("node", "tensors"),
    [
        (helper.make_node("Transpose", ["w"], ["t"], perm=[0, 1, 2]), {"w": SQUARE}),
        (helper.make_node("Transpose", ["w"], ["t"], perm=[0, 0]), {"w": SQUARE}),
        (helper.make_node("Transpose", ["w"], ["t"], perm=[5, -1]), {"w": SQUARE}),
        (helper.make_node("Concat", ["w", "v"], ["t"]), {"w": SQUARE, "v": SQUARE}),
        (helper.make_node("Concat", ["w", "v"], ["t"], axis=9), {"w": SQUARE, "v": SQUARE}),
        (helper.make_node("Concat", ["w", "v"], ["t"], axis=0), {"w": SQUARE, "v": OTHER}),
        (helper.make_node("Concat", ["w", "v"], ["t"], axis=0), {"w": SQUARE, "v": SQUARE.astype(np.float16)}),
        (helper.make_node("Concat", ["w", "v"], ["t"], axis=0), {"w": SQUARE, "v": SQUARE[0]}),
    ],
    ids=lambda value: value.op_type if isinstance(value, Node) else "",
)
def test_what_is_not_valid_is_not_folded(tmp_path: Path, node: Node, tensors: dict[str, np.ndarray]) -> None:
    nodes = [node, helper.make_node("MatMul", ["x", "t"], ["y"])]
    made = optimize(load(write(tmp_path / "odd.onnx", nodes, tensors)), execution_provider="cpu")
    assert [n.op_type for n in made.model.graph] == [node.op_type, "MatMul"]


@pytest.mark.parametrize("axis", [1, -1])
def test_what_is_valid_is_folded(tmp_path: Path, axis: int) -> None:
    nodes = [helper.make_node("Concat", ["w", "v"], ["t"], axis=axis), helper.make_node("MatMul", ["x", "t"], ["y"])]
    model = load(write(tmp_path / "good.onnx", nodes, {"w": SQUARE, "v": OTHER})).model
    fold(model, inline=False)
    assert [tuple(value.const_value.shape) for value in model.graph.initializers.values()] == [(3, 7)]


@pytest.mark.parametrize("part", ["node", "value", "op_type", "attribute", "place", "key"])
def test_names_that_are_no_text(tmp_path: Path, part: str) -> None:
    """A damaged file: bytes that are no UTF-8 come out of protobuf as bytes, and break a library far from here."""
    path = write(tmp_path / "damaged.onnx", [helper.make_node("Add", ["x", "w"], ["y"], name="MARK1", alpha=1)])
    model = onnx.load(path)
    (node,) = model.graph.node
    tensor = model.graph.initializer.add(name="w", data_type=TensorProto.FLOAT, dims=(2, 3))
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="MARK2" if part == "place" else "w.bin")
    if part == "value":
        node.output[0] = model.graph.output[0].name = "MARK3"
    elif part == "op_type":
        node.op_type = "MARK4"
    elif part == "attribute":
        node.attribute[0].name = "MARK5"
    elif part == "key":
        node.metadata_props.add(key="MARK6", value="v")
    number = {"node": 1, "place": 2, "value": 3, "op_type": 4, "attribute": 5, "key": 6}[part]
    path.write_bytes(model.SerializeToString().replace(b"MARK%d" % number, b"MA\xffK%d" % number))
    damaged = rf"Graph 'g' is damaged: the name b'MA.*K{number}' is not UTF-8. Fetch"
    # The library looks at the names of attributes itself.
    words = damaged if part != "attribute" else "is not a usable ONNX file: Key must be a string, not <class 'bytes'>"
    with pytest.raises(ModelFileError, match=words):
        load(path)


def test_what_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    """The library repeats the whole graph in its errors, one time for each level."""
    model = load(write(tmp_path / "good.onnx", [helper.make_node("Relu", ["x"], ["y"])])).model
    next(iter(model.graph)).metadata_props["key"] = 5
    with pytest.raises(ExecutionError, match="^The graph cannot be written for ONNX Runtime: .{,200}$"):
        OrtCpuSession(model)
    with pytest.raises(SaveError, match=r"^model.onnx cannot be written: .{,200}\.$"):
        Package({"model": model}).save(tmp_path / "p", progress=False)
    assert not (tmp_path / "p").exists()


# --- a skeleton for a viewer ----------------------------------------------------------------------------
def test_a_skeleton_is_shown_with_its_shapes_and_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    model = build(dict(CASES["gqa"].hf), load_weights=False).model
    shown = onnx.load_model_from_string(light_bytes(model))
    sizes = {tensor.name: tuple(tensor.dims) for tensor in shown.graph.initializer}
    assert sizes["model.embed_tokens.weight"] == (CASES["gqa"].hf["vocab_size"], CASES["gqa"].hf["hidden_size"])
    assert set(sizes) == set(model.graph.initializers)
    assert not caplog.records


# --- arguments of other types ---------------------------------------------------------------------------
@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("model"), CASES["gqa"])


@pytest.fixture(scope="module")
def comparison(folder: Path) -> Comparison:
    return compare(folder, execution_providers=["cpu"])


@pytest.mark.parametrize("found", [5, 1.5, b"x", ["cpu"], {"a": 1}, object(), True], ids=lambda x: type(x).__name__)
def test_types_that_nothing_takes(folder: Path, comparison: Comparison, found: Any) -> None:
    package = comparison["cpu"]
    tries: dict[str, Callable[[], object]] = {
        "task must be the name of a task, or a Task": lambda: build(folder, found),
        "module_class must be a module's class": lambda: build(folder, module_class=found),
        "module must be a module, its class": lambda: build_from_module(found, package.config),
        "config must be a ModelConfig": lambda: build_from_module(CausalLM, found),
        "path must be the name of a file": lambda: comparison.save_html(found),
        "parity must be what comparison.parity": lambda: comparison.save_html("x.html", parity=found),
        r"load\(\) takes a path, found": lambda: load(found),
        "folder must be a path": lambda: package.save(found),
        "text must be a text": lambda: package.encode(found),
        "must be": lambda: package.decode([found] if isinstance(found, bool | int) else found),
        "execution_providers must be a list": lambda: compare(folder, execution_providers=found),
    }
    iterable = isinstance(found, bytes | list | dict)
    whole = isinstance(found, int)
    for words, work in tries.items():
        if (iterable and words.startswith("execution")) or (words == "must be" and whole):
            continue
        with pytest.raises(ArgumentError, match=words):
            work()
        with pytest.raises(TypeError):  # it is one of Python's own, too
            work()


def test_names_of_providers_are_text(folder: Path) -> None:
    with pytest.raises(ArgumentError, match="each of execution_providers must be a name; found int 5"):
        compare(folder, execution_providers=["cpu", 5])


def test_a_factory_that_makes_no_module(comparison: Comparison) -> None:
    with pytest.raises(ArgumentError, match="what the module's factory returns must be an onnxscript.nn.Module"):
        build_from_module(lambda config, dtype: None, comparison["cpu"].config)


@pytest.mark.parametrize("ids", [[-1], [2**32]])
def test_ids_that_cannot_be(comparison: Comparison, ids: list[int]) -> None:
    with pytest.raises(FeedsError, match="is no token id; they are whole numbers from 0"):
        comparison["cpu"].decode(ids)


def test_names_with_a_zero_byte(comparison: Comparison, tmp_path: Path) -> None:
    with pytest.raises(SaveError, match="cannot be the name of a folder"):
        comparison["cpu"].save(f"{tmp_path}/a\0b")
    with pytest.raises(SaveError, match="Cannot write .*null byte"):
        comparison.save_html(f"{tmp_path}/a\0b.html")
    with pytest.raises(ModelFileError, match="no such file or folder"):
        load("a\0b")


def test_long_values_are_not_repeated_in_full() -> None:
    with pytest.raises(WorkbenchError) as caught:
        build("a" * 5000)
    assert len(str(caught.value)) < 400 and "aaa..." in str(caught.value)


# --- weights of another kind ----------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.bool_])
def test_whole_numbers_are_no_weights(tmp_path: Path, dtype: type) -> None:
    """Quantized values without their scales would build, run and mean nothing."""
    from safetensors.numpy import save_file

    folder = write_model(tmp_path / "model", CASES["gqa"])
    name = "model.layers.1.mlp.up_proj.weight"
    weights = CASES["gqa"].weights
    save_file(weights | {name: weights[name].astype(dtype)}, folder / "model.safetensors")
    with pytest.raises(WorkbenchError, match=rf"1 of a dtype that is no float, as in quantized checkpoints: {name} \("):
        build(folder)


def test_floats_of_every_width_are(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    folder = write_model(tmp_path / "model", CASES["gqa"])
    for dtype in (np.float16, np.float64, ml_dtypes.bfloat16):
        save_file({n: w.astype(dtype) for n, w in CASES["gqa"].weights.items()}, folder / "model.safetensors")
        assert build(folder).bind_report.complete


@pytest.mark.parametrize("use", [lambda m: optimize(m, execution_provider="cpu"), lambda m: check(m, "cpu"), histogram])
def test_a_proto_that_cannot_be_read(use: Callable[[Any], Any]) -> None:
    """A sparse weight: the deserializer's own error prints the whole graph."""
    values, places = helper.make_tensor("v", TensorProto.FLOAT, [1], [1.0]), helper.make_tensor("i", 7, [1], [0])
    node = helper.make_node("Constant", [], ["y"], sparse_value=helper.make_sparse_tensor(values, places, [2]))
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    with pytest.raises(ArgumentError, match=r"^model is not a usable ModelProto: Sparse tensors .*[^\n]{1,200}$"):
        use(helper.make_model(helper.make_graph([node], "g", [], [out])))

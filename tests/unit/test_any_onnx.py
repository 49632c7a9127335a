"""Any ONNX file: its three forms, external data beside it, skeletons, odd graphs, and everything that is no graph."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from workbench.errors import ModelFileError, WeightsError
from workbench.package import Package, load

FORMS = ("model.onnx", "model.onnxtxt", "model.onnx.textproto", "model.textproto")


def tensor(name: str, values: Any) -> TensorProto:
    return onnx.numpy_helper.from_array(np.asarray(values), name)


def value(name: str, *shape: int | str, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(shape))


def made(
    nodes: list[onnx.NodeProto], inputs: list[Any], outputs: list[Any], initializers: list[TensorProto]
) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def plain() -> onnx.ModelProto:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], "dense"), helper.make_node("Relu", ["y"], ["z"], "act")]
    return made(
        nodes, [value("x", "N", 4)], [value("z", "N", 3)], [tensor("w", np.arange(12, dtype="f4").reshape(4, 3))]
    )


def branches() -> onnx.ModelProto:
    """Both branches of an If call their node, value and constant alike."""

    def branch(number: float) -> onnx.GraphProto:
        nodes = [helper.make_node("Add", ["x", "c"], ["t"], "inner")]
        return helper.make_graph(nodes, "b", [], [value("t", 2)], [tensor("c", np.full(2, number, "f4"))])

    node = helper.make_node("If", ["cond"], ["y"], "choice", then_branch=branch(1), else_branch=branch(2))
    inputs = [value("cond", kind=TensorProto.BOOL), value("x", 2)]
    return made([node], inputs, [value("y", 2)], [])


def text_of(model: onnx.ModelProto, name: str) -> bytes:
    """The file's content in the form that its name says."""
    if name.endswith(".onnxtxt"):
        return onnx.printer.to_text(model).encode()
    if name.endswith(".textproto"):
        from google.protobuf import text_format

        return text_format.MessageToString(model).encode()
    return bytes(model.SerializeToString())


def write(path: Path, model: onnx.ModelProto) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text_of(model, path.name))
    return path


def run(package: Package, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    from workbench.runtime.ort_cpu import OrtCpuSession

    with OrtCpuSession(package.model) as session:
        return list(session.run(feeds).values())


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_the_same_graph(name: str, tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    package = load(write(tmp_path / name, plain()))
    assert [node.op_type for node in package.model.graph] == ["MatMul", "Relu"] and package.diagnostics == ()
    (found,) = run(package, {"x": np.ones((2, 4), np.float32)})
    np.testing.assert_array_equal(found, np.tile(np.arange(12).reshape(4, 3).sum(0), (2, 1)))
    assert not [w for w in recwarn if "experimental" in str(w.message)]


@pytest.mark.parametrize("name", FORMS)
def test_names_that_two_branches_share(name: str, tmp_path: Path) -> None:
    package = load(write(tmp_path / name, branches()))
    x = np.zeros(2, np.float32)
    assert [run(package, {"cond": np.array(c), "x": x})[0].tolist() for c in (True, False)] == [[1, 1], [2, 2]]


def external(location: str, rows: int = 4, columns: int = 3, offset: int = 0) -> onnx.ModelProto:
    """The plain graph with its weight in a file beside it."""
    model = plain()
    stored = model.graph.initializer[0]
    stored.ClearField("raw_data")
    stored.ClearField("float_data")
    del stored.dims[:]
    stored.dims.extend([rows, columns])
    stored.data_location = TensorProto.EXTERNAL
    for key, text in (("location", location), ("offset", str(offset)), ("length", str(4 * rows * columns))):
        stored.external_data.add(key=key, value=text)
    return model


@pytest.mark.parametrize("name", FORMS)
def test_external_data_from_another_folder(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the file, not in the working directory; offsets count; text forms carry it as well."""
    write(tmp_path / "sub" / name, external("weights.bin", offset=64))
    data = bytes(64) + np.arange(12, dtype="f4").tobytes()
    (tmp_path / "sub" / "weights.bin").write_bytes(data)
    monkeypatch.chdir(tmp_path)
    package = load(Path("sub") / name)
    monkeypatch.chdir("/")
    assert package.diagnostics == ()
    feeds = {"x": np.ones((1, 4), np.float32)}
    np.testing.assert_array_equal(run(package, feeds)[0], [[18, 22, 26]])
    package.save(tmp_path / "saved")
    (tmp_path / "sub" / "weights.bin").unlink()
    np.testing.assert_array_equal(run(load(tmp_path / "saved"), feeds)[0], [[18, 22, 26]])


def test_external_data_of_a_branch(tmp_path: Path) -> None:
    model = branches()
    stored = model.graph.node[0].attribute[0].g.initializer[0]
    stored.ClearField("raw_data")
    stored.data_location = TensorProto.EXTERNAL
    for key, text in (("location", "c.bin"), ("offset", "0"), ("length", "8")):
        stored.external_data.add(key=key, value=text)
    (tmp_path / "c.bin").write_bytes(np.array([5, 6], "f4").tobytes())
    package = load(write(tmp_path / "model.onnx", model))
    then = model.graph.node[0].attribute[0].name == "then_branch"
    assert run(package, {"cond": np.array(then), "x": np.zeros(2, np.float32)})[0].tolist() == [5, 6]


@pytest.mark.parametrize("name", FORMS)
def test_gigabytes_that_are_not_there(name: str, tmp_path: Path) -> None:
    """6.4 GB declared, no data file: the graph opens at once, and a diagnostic names the file."""
    write(tmp_path / name, external("big.data", rows=40_000, columns=40_000))
    start = time.perf_counter()
    package = load(tmp_path / name)
    assert time.perf_counter() - start < 1.0
    (found,) = package.diagnostics
    assert found.code == "weights.missing-file" and "big.data" in found.message and "6" not in package.name
    assert len(list(package.model.graph)) == 2


@pytest.mark.parametrize("location", ["../up.bin", "/etc/hostname"])
def test_external_data_outside_is_not_read(location: str, tmp_path: Path) -> None:
    (tmp_path / "up.bin").write_bytes(np.arange(12, dtype="f4").tobytes())
    package = load(write(tmp_path / "sub" / "model.onnx", external(location)))
    assert [d.code for d in package.diagnostics] in (["weights.outside-folder"], ["weights.missing-file"])


def test_initializers_without_data(tmp_path: Path) -> None:
    """A skeleton: never taken for zeros, asked for by name when it is run."""
    model = plain()
    model.graph.initializer[0].ClearField("raw_data")
    package = load(write(tmp_path / "skeleton.onnx", model))
    weight = package.model.graph.initializers["w"]
    assert weight.const_value is None and weight.shape is not None and weight.shape.numpy() == (4, 3)
    (note,) = package.diagnostics
    assert note.code == "weights.no-data" and "1 initializers have a shape and no values: w." in note.message
    with pytest.raises(WeightsError, match=r"1 initializers have no data \(w\)"):
        run(package, {"x": np.ones((1, 4), np.float32)})


def test_running_without_the_data_file(tmp_path: Path) -> None:
    package = load(write(tmp_path / "model.onnx", external("big.data", rows=40_000, columns=40_000)))
    with pytest.raises(WeightsError, match=r"The weights of w are missing: .*big\.data is not there"):
        run(package, {"x": np.ones((1, 4), np.float32)})


def test_nodes_out_of_order(tmp_path: Path) -> None:
    """Sorted, with a note; it runs and can be saved."""
    model = plain()
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    package = load(write(tmp_path / "model.onnx", model))
    assert [node.op_type for node in package.model.graph] == ["MatMul", "Relu"]
    assert [note.code for note in package.diagnostics] == ["cleanup.sorted"]
    package.save(tmp_path / "saved")
    feeds = {"x": np.ones((1, 4), np.float32)}
    assert run(load(tmp_path / "saved"), feeds)[0].tolist() == run(package, feeds)[0].tolist() == [[18, 22, 26]]


def test_a_cycle_is_named(tmp_path: Path) -> None:
    nodes = [helper.make_node("Add", ["x", "b"], ["a"], "first"), helper.make_node("Relu", ["a"], ["b"], "second")]
    path = write(tmp_path / "model.onnx", made(nodes, [value("x", 2)], [value("b", 2)], []))
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert str(path) in str(caught.value) and "first" in str(caught.value) and "cycle" in str(caught.value)


@pytest.mark.parametrize("name", FORMS)
def test_cut_and_damaged_files(name: str, tmp_path: Path) -> None:
    """Whatever is left: a graph, or one sentence."""
    path = write(tmp_path / name, branches())
    whole, rng, refused = path.read_bytes(), random.Random(0), 0
    for _ in range(150):
        damaged = bytearray(whole[: rng.randrange(len(whole))] if rng.random() < 0.5 else whole)
        for _ in range(rng.choice([0, 1, 3])):
            if damaged:
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path.write_bytes(damaged)
        try:
            load(path)
        except ModelFileError as error:
            refused += 1
            assert str(path) in str(error) and str(error).endswith((".", "?")) and "\n" not in str(error)
    assert refused > 50


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("a.onnx", "model.onnxtxt", "name it .onnxtxt"),
        ("a.onnx", "model.textproto", "name it .textproto"),
        ("a.onnxtxt", "model.onnx", "name it .onnx."),
        ("a.textproto", "model.onnx", "name it .onnx."),
        ("a.textproto", "model.onnxtxt", "name it .onnxtxt"),
        ("a.onnxtxt", "model.textproto", "name it .textproto"),
    ],
)
def test_a_form_under_the_name_of_another(name: str, content: str, part: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text_of(plain(), content))
    with pytest.raises(ModelFileError) as caught:
        load(tmp_path / name)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "It is empty"),
        (b"PK\x03\x04zip", "zip archive (PyTorch saves such)"),
        (b"\x80\x04pickle", "pickle (PyTorch saves such)"),
        (b"<!DOCTYPE html>", "web page"),
        (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        (b"GGUF\x03\x00", "give it to build()"),
        (b"hello world", "Fetch or export the file again"),
    ],
)
def test_no_graph_at_all(content: bytes, part: str, tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        load(tmp_path / "a.onnx")
    assert part in str(caught.value)


def test_a_long_text(tmp_path: Path) -> None:
    """Megabytes of text are read, if slowly."""
    model = plain()
    model.graph.initializer[0].CopyFrom(tensor("w", np.random.default_rng(0).normal(size=(4, 50_000)).astype("f4")))
    model.graph.output[0].CopyFrom(value("z", "N", 50_000))
    path = write(tmp_path / "model.textproto", model)
    assert path.stat().st_size > 1_000_000
    found = load(path).model.graph.initializers["w"].const_value
    assert found is not None and found.numpy().shape == (4, 50_000)

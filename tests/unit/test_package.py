"""Packages on disk: whole or not at all, checked when opened, equal after the round trip."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from tests.golden_ops import SIZES
from tests.unit.weights import tiny_gguf
from workbench.build import build
from workbench.config.source import SourceConfig
from workbench.errors import (
    Diagnostic,
    FeedsError,
    ModelFileError,
    SaveError,
    WeightsError,
    WorkbenchError,
)
from workbench.package import Package, load, saving
from workbench.package.manifest import read_manifest
from workbench.weights.bind import BindReport
from workbench.weights.lazy import derived


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Package:
    """A tiny llama for cpu, built from a GGUF file: folded, fused and lazy weights, reports, a tokenizer."""
    place = tmp_path_factory.mktemp("tiny")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EP_WORKBENCH_CACHE", str(place / "cache"))
        return build(tiny_gguf.write(place / "tiny.gguf"), execution_provider="cpu")


def typed(name: str, *shape: int | str, **kwargs: Any) -> ir.Value:
    return ir.Value(name=name, type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape(shape), **kwargs)


def small(value: float = 1.0, name: str = "g") -> ir.Model:
    """y = f(x + w): a function with metadata, one large and one small initializer."""
    x, y = typed("x", "B", 1024), typed("y", "B", 1024)
    w = typed("w", 1024, const_value=ir.tensor(np.full((1024,), value, np.float32), name="w"))
    s = typed("s", 1, const_value=ir.tensor(np.float32([2]), name="s"))
    inner = ir.Value(name="v")
    negate = ir.Node("", "Neg", [inner], name="negate", metadata_props={"ep_workbench.scope": "deep"})
    body = ir.Graph([inner], negate.outputs, nodes=[negate], opset_imports={"": 24}, name="f")
    function = ir.Function("ep_workbench", "F", graph=body, attributes=[])
    function.metadata_props["note"] = "kept"
    add = ir.Node("", "Add", [x, w], name="add", metadata_props={"ep_workbench.scope": "model.layers.0"})
    mul = ir.Node("", "Mul", [add.outputs[0], s], name="mul")
    for node in (add, mul):
        node.outputs[0].type, node.outputs[0].shape = x.type, x.shape
    call = ir.Node("ep_workbench", "F", [mul.outputs[0]], outputs=[y], name="call")
    call.metadata_props["ep_workbench.rules"] = "fuse/x"
    graph = ir.Graph(
        [x], [y], nodes=[add, mul, call], initializers=[w, s], opset_imports={"": 24, "ep_workbench": 1}, name=name
    )
    return ir.Model(graph, ir_version=11, functions=[function], producer_name="test")


def package(**kwargs: Any) -> Package:
    return Package(**{"models": {"model": small()}, **kwargs})


def run(folder: Path) -> np.ndarray:
    import onnxruntime

    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.zeros((1, 1024), np.float32)})[0]


# In memory


def test_a_package_is_a_mapping_with_one_model(tiny: Package) -> None:
    assert list(tiny) == ["model"] and tiny["model"] is tiny.model and len(tiny) == 1
    assert tiny == tiny and hash(tiny) and tiny != Package(tiny.models)
    assert repr(tiny) == f"Package('tiny' for cpu float32; model: {len(tiny.model.graph)} nodes)"


@pytest.mark.parametrize(("models", "held"), [({}, "none"), ({"a": small(), "b": small()}, "2: a, b")])
def test_the_only_model(models: dict[str, ir.Model], held: str) -> None:
    with pytest.raises(WorkbenchError, match=f"not one model but {held}.*package.models"):
        _ = Package(models).model
    with pytest.raises(WorkbenchError, match="not one report but none"):
        _ = Package(models).report


def test_faces_escape_and_count() -> None:
    found = package(source=SourceConfig("<b>", "llama", {}, "config"), diagnostics=(Diagnostic("c", "warning", "<i>"),))
    html = found._repr_html_()
    assert "<b>" not in html and "&lt;b&gt;" in html and "<i>" not in html and "&lt;i&gt;" in html
    (row,) = found.to_frame().to_dict("records")
    assert row == {
        "model": "model", "execution_provider": "", "dtype": "", "node": 3, "function": 1, "parameter": 1025,
        "nbytes": 4100,
    }  # fmt: skip


def test_tokens(tiny: Package) -> None:
    ids = tiny.encode("the the <|im_end|>")
    assert tiny.decode(ids, skip_special_tokens=False) == "the the <|im_end|>" and tiny.decode(ids) == "the the "
    with pytest.raises(FeedsError, match="has no tokenizer"):
        package().encode("x")


# Saving


def test_round_trip(tiny: Package, tmp_path: Path) -> None:
    manifest = tiny.save(tmp_path / "p")
    assert sorted(os.listdir(tmp_path)) == ["p"]
    assert sorted(os.listdir(tmp_path / "p")) == [
        "config.json", "generation_config.json", "manifest.json", "model.onnx", "model.onnx.data", "tokenizer.json",
        "tokenizer_config.json",
    ]  # fmt: skip
    loaded = load(tmp_path / "p", verify=True)
    assert loaded.execution_provider == "cpu" and loaded.dtype == tiny.dtype and loaded.padding == tiny.padding
    assert loaded.config == tiny.config and dict(loaded.reports) == dict(tiny.reports) and loaded.reports
    assert loaded.diagnostics == tiny.diagnostics and dict(loaded.generic) == {} and loaded.bind_report is None
    assert loaded.source is not None and tiny.source is not None
    assert (loaded.source.name, loaded.source.origin) == ("tiny", "gguf")
    assert dict(loaded.source.hf) == dict(tiny.source.hf) and loaded.encode("the") == tiny.encode("the")
    assert read_manifest(tmp_path / "p") == manifest
    same_graphs(tiny.model, loaded.model)


def same_graphs(left: ir.Model, right: ir.Model) -> None:
    """Everything but where the tensors lie."""
    weights = left.graph.initializers
    assert list(weights) == list(right.graph.initializers)
    for name, value in weights.items():
        found = right.graph.initializers[name].const_value
        assert value.const_value is not None and found is not None
        assert found.dtype == value.const_value.dtype and found.tobytes() == value.const_value.tobytes(), name
    protos = [ir.to_proto(model) for model in (left, right)]
    for proto in protos:
        proto.graph.ClearField("initializer")
    assert protos[0] == protos[1]


def test_metadata_of_nodes_and_functions_is_kept(tmp_path: Path) -> None:
    original = package()
    original.save(tmp_path / "p")
    loaded = load(tmp_path / "p").model
    same_graphs(original.model, loaded)
    assert loaded.graph.node("add").metadata_props == {"ep_workbench.scope": "model.layers.0"}
    assert loaded.graph.node("call").metadata_props == {"ep_workbench.rules": "fuse/x"}
    (function,) = loaded.functions.values()
    assert function.metadata_props == {"note": "kept"}
    assert next(iter(function)).metadata_props == {"ep_workbench.scope": "deep"}


def test_saving_changes_nothing_in_memory_and_is_repeatable(tiny: Package, tmp_path: Path) -> None:
    before = {name: value.const_value for name, value in tiny.model.graph.initializers.items()}
    first, second = tiny.save(tmp_path / "a"), tiny.save(tmp_path / "b")
    assert first == second
    assert (tmp_path / "a" / "manifest.json").read_bytes() == (tmp_path / "b" / "manifest.json").read_bytes()
    assert all(value.const_value is before[name] for name, value in tiny.model.graph.initializers.items())


def test_onnxruntime_runs_what_was_saved(tmp_path: Path) -> None:
    package(models={"model": small(3.0)}).save(tmp_path / "p")
    np.testing.assert_array_equal(run(tmp_path / "p"), np.full((1, 1024), -6, np.float32))
    onnx.checker.check_model(str(tmp_path / "p" / "model.onnx"))


def test_the_manifest_speaks_of_every_file(tiny: Package, tmp_path: Path) -> None:
    import hashlib

    manifest = tiny.save(tmp_path / "p")
    assert {file.name for file in manifest.files} | {"manifest.json"} == set(os.listdir(tmp_path / "p"))
    for file in manifest.files:
        data = (tmp_path / "p" / file.name).read_bytes()
        assert (file.size, file.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    values = json.loads((tmp_path / "p" / "manifest.json").read_text())
    assert values["models"] == {"model": "model.onnx"} and values["execution_provider"] == "cpu"
    assert values["dtype"] == "float32" and values["padding"] == "right"
    assert values["versions"]["onnx"] == onnx.__version__ and "seconds" not in json.dumps(values)
    assert values["reports"]["model"]["rules"][0]["stage"] in ("cleanup", "fuse", "lower", "fold")
    assert str(tmp_path) not in json.dumps(values)
    assert repr(manifest) == f"Manifest(cpu float32: 6 files, {manifest.size:,} bytes)"
    assert list(manifest.to_frame().columns) == ["file", "size", "sha256"]
    assert "model.onnx.data" in manifest._repr_html_()


def test_tensors_lie_on_pages_and_shared_ones_once(tmp_path: Path) -> None:
    model = small()
    shared = ir.tensor(np.arange(3000, dtype=np.float32), name="big")
    for name in ("one", "two"):
        model.graph.initializers.add(ir.Value(name=name, const_value=shared))
    package(models={"model": model}).save(tmp_path / "p")
    loaded = load(tmp_path / "p").model.graph.initializers
    one, two = loaded["one"].const_value, loaded["two"].const_value
    assert isinstance(one, ir.ExternalTensor) and isinstance(two, ir.ExternalTensor)
    assert one.offset == two.offset and one.offset % 4096 == 0 and one.name == "one" and two.name == "two"
    assert not isinstance(loaded["s"].const_value, ir.ExternalTensor)  # small: inline, where shapes are inferred
    assert (tmp_path / "p" / "model.onnx.data").stat().st_size == 4096 + 12000


def test_several_graphs(tmp_path: Path) -> None:
    models = {"encoder": small(1.0, "e"), "decoder": small(2.0, "d")}
    Package(models).save(tmp_path / "p")
    loaded = load(tmp_path / "p")
    assert list(loaded) == ["encoder", "decoder"]
    same_graphs(models["decoder"], loaded["decoder"])
    assert (tmp_path / "p" / "decoder.onnx.data").exists()


def test_a_graph_without_large_tensors_has_no_data_file(tmp_path: Path) -> None:
    model = small()
    model.graph.initializers["w"].const_value = ir.tensor(np.float32([1]), name="w")
    package(models={"model": model}).save(tmp_path / "p")
    assert sorted(os.listdir(tmp_path / "p")) == ["manifest.json", "model.onnx"]
    load(tmp_path / "p")


def test_more_than_two_gigabytes(tmp_path: Path) -> None:
    """Offsets beyond 2^31: zeros in pieces, so that it costs disk for a moment and no memory."""
    length = 600 << 20  # float32 values: 2.4 GB
    zeros = np.zeros(1 << 20, np.float32)
    big = derived("big", ir.DataType.FLOAT, (length,), lambda: np.zeros(0), pieces=lambda: (zeros for _ in range(600)))
    model = small()
    del model.graph.initializers["w"]
    model.graph.node("add").replace_input_with(1, ir.Value(name="w", const_value=ir.tensor(np.ones(1024, np.float32))))
    model.graph.initializers.add(ir.Value(name="big", const_value=big))
    model.graph.initializers.add(model.graph.node("add").inputs[1])
    package(models={"model": model}).save(tmp_path / "p")
    last = load(tmp_path / "p").model.graph.initializers["w"].const_value
    assert isinstance(last, ir.ExternalTensor) and last.offset == length * 4 > 2**31
    np.testing.assert_array_equal(last.numpy(), np.ones(1024))
    np.testing.assert_array_equal(run(tmp_path / "p"), np.full((1, 1024), -2, np.float32))
    os.unlink(tmp_path / "p" / "model.onnx.data")


def test_progress(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    package().save(tmp_path / "p", progress=lambda label, done, total: seen.append((label, done, total)))
    assert seen[-1] == ("Saving", 4096, 4096)


# Refusals


def refused(call: Any, *parts: str, kind: type[Exception] = SaveError) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    for part in parts:
        assert part in str(caught.value), str(caught.value)


def test_a_skeleton_is_not_saved(tmp_path: Path) -> None:
    skeleton = build(
        {
            "model_type": "llama", "vocab_size": 32, "hidden_size": 16, "intermediate_size": 32,
            "num_hidden_layers": 1, "num_attention_heads": 2,
        },
        load_weights=False,
    )  # fmt: skip
    refused(lambda: skeleton.save(tmp_path / "p"), "have no data", "skeleton", "load_weights=True")
    refused(lambda: Package({}).save(tmp_path / "p"), "holds no graphs")
    refused(lambda: Package({"../x": small()}).save(tmp_path / "p"), "'../x' cannot be a file's name")
    assert os.listdir(tmp_path) == []


def test_an_existing_package_needs_overwrite(tmp_path: Path) -> None:
    package().save(tmp_path / "p")
    refused(lambda: package().save(tmp_path / "p"), "holds a package already", "overwrite=True")
    package(models={"model": small(5.0)}).save(tmp_path / "p", overwrite=True)
    assert run(tmp_path / "p")[0, 0] == -10 and os.listdir(tmp_path) == ["p"]


def test_other_folders_are_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    refused(lambda: package().save(tmp_path / "mine", overwrite=True), "is not a package")
    (tmp_path / "file").write_text("x")
    refused(lambda: package().save(tmp_path / "file", overwrite=True), "is not a folder")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    refused(lambda: package().save(tmp_path / "link", overwrite=True), "is not a folder")
    refused(lambda: package().save(tmp_path / "file" / "p"), "file is not a folder, so p cannot be made in it")
    package().save(tmp_path / "p")
    (tmp_path / "p" / "notes.txt").write_text("x")
    refused(lambda: package().save(tmp_path / "p", overwrite=True), "not of the package (notes.txt)")
    assert (tmp_path / "mine" / "thesis.txt").exists() and (tmp_path / "p" / "notes.txt").exists()


def test_an_empty_folder_and_missing_parents_are_fine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    package().save(tmp_path / "empty")
    monkeypatch.chdir(tmp_path)
    package().save("deep/down/p")
    load("deep/down/p")


def unchanged(folder: Path, value: float) -> None:
    """The old package is there, complete, and nothing else."""
    assert run(folder)[0, 0] == -2 * value
    load(folder, verify=True)
    assert os.listdir(folder.parent) == [folder.name]


@pytest.mark.parametrize("call", ["pwrite", "fsync", "rename"])
def test_a_disk_that_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    package().save(tmp_path / "p")

    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(saving, "_exchange", lambda *_: False)
    monkeypatch.setattr(os, call, full)
    replace = lambda: package(models={"model": small(5.0)}).save(tmp_path / "p", overwrite=True)  # noqa: E731
    refused(replace, "could not be saved", "no disk space left", "untouched")
    monkeypatch.undo()
    unchanged(tmp_path / "p", 1.0)


def test_too_little_space_is_known_beforehand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving.shutil, "disk_usage", lambda path: type("U", (), {"free": 10})())
    refused(lambda: package().save(tmp_path / "p"), "Not enough disk space", "4,096 bytes", "10 are free")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting a tiny disk needs root")
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        package().save(disk / "p")
        many = small()
        for i in range(60):  # each below the inline limit, so the check of the space for weights does not see them
            many.graph.initializers.add(ir.Value(name=f"c{i}", const_value=ir.tensor(np.ones(255, np.float32))))
        refused(lambda: Package({"model": many}).save(disk / "p", overwrite=True), "no disk space left")
        unchanged(disk / "p", 1.0)
    finally:
        subprocess.run(["umount", "-l", disk], check=True)  # lazily: a loaded package still maps its data


def test_a_weight_that_fails_leaves_nothing(tmp_path: Path) -> None:
    model = small()
    bad = derived("w", ir.DataType.FLOAT, (1024,), lambda: np.zeros(3, np.float32))
    model.graph.initializers["w"].const_value = bad
    refused(lambda: package(models={"model": model}).save(tmp_path / "p"), "'w' promised", kind=WeightsError)
    assert os.listdir(tmp_path) == []


def test_the_second_rename_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where names cannot be exchanged: the old package comes back."""
    package().save(tmp_path / "p")
    original, count = os.rename, []

    def rename(source: Any, target: Any) -> None:
        count.append(1)
        if len(count) == 2:
            raise OSError(5, "Input/output error")
        original(source, target)

    monkeypatch.setattr(saving, "_exchange", lambda *_: False)
    monkeypatch.setattr(os, "rename", rename)
    refused(lambda: package(models={"model": small(5.0)}).save(tmp_path / "p", overwrite=True), "Input/output error")
    unchanged(tmp_path / "p", 1.0)
    monkeypatch.undo()
    monkeypatch.setattr(saving, "_exchange", lambda *_: False)
    package(models={"model": small(5.0)}).save(tmp_path / "p", overwrite=True)
    unchanged(tmp_path / "p", 5.0)


def test_a_reader_sees_the_old_or_the_new_package(tmp_path: Path) -> None:
    """While packages replace each other, every opened one is complete and of one piece."""
    folder = tmp_path / "p"
    package(models={"model": small(1.0)}).save(folder)
    stop, seen, errors = threading.Event(), set(), []

    def read() -> None:
        while not stop.is_set():
            handle = os.open(folder, os.O_RDONLY)  # one folder, whatever its name means a moment later
            try:
                found = load(f"/proc/self/fd/{handle}", verify=True)
                seen.add(float(found.model.graph.initializers["w"].const_value.numpy()[0]))
            except ModelFileError as error:
                if os.fstat(handle).st_ino == os.stat(folder).st_ino:
                    errors.append(error)  # else the old folder is being deleted, after its replacement
            finally:
                os.close(handle)

    if not Path("/proc/self/fd").exists():
        pytest.skip("needs /proc")
    reader = threading.Thread(target=read)
    reader.start()
    for value in (2.0, 3.0) * 6:
        package(models={"model": small(value)}).save(folder, overwrite=True)
    stop.set()
    reader.join()
    assert seen and seen <= {1.0, 2.0, 3.0} and errors == []


def test_a_loaded_package_keeps_its_weights_when_the_folder_is_replaced(tmp_path: Path) -> None:
    package(models={"model": small(1.0)}).save(tmp_path / "p")
    old = load(tmp_path / "p")
    package(models={"model": small(5.0)}).save(tmp_path / "p", overwrite=True)
    assert old.model.graph.initializers["w"].const_value.numpy()[0] == 1.0
    old.save(tmp_path / "p", overwrite=True)  # over itself, so to say
    assert load(tmp_path / "p", verify=True).model.graph.initializers["w"].const_value.numpy()[0] == 1.0


INTERRUPTED = """
    import sys, time
    import numpy as np, onnx_ir as ir
    from tests.unit.test_package import small
    from workbench.package import Package
    from workbench.weights.lazy import derived
    def slow():
        for i in range(600):
            print("piece", flush=True)
            time.sleep(0.05)
            yield np.zeros(1 << 18, np.float32)
    model = small(5.0)
    big = derived("big", ir.DataType.FLOAT, (600 << 18,), lambda: None, pieces=slow)
    model.graph.initializers.add(ir.Value(name="big", const_value=big))
    Package({"model": model}).save(sys.argv[1], overwrite=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_interrupt_leaves_the_old_package(tmp_path: Path, repo: Path) -> None:
    package().save(tmp_path / "p")
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(INTERRUPTED), str(tmp_path / "p")], cwd=repo,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "piece\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in err and process.returncode != 0
    unchanged(tmp_path / "p", 1.0)


# Loading


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    package(models={"model": small(3.0)}).save(tmp_path / "p")
    return tmp_path / "p"


def load_refused(path: Any, *parts: str, **kwargs: Any) -> None:
    refused(lambda: load(path, **kwargs), *parts, kind=ModelFileError)


def test_truncated_and_missing_files(saved: Path) -> None:
    data = saved / "model.onnx.data"
    os.truncate(data, 100)
    load_refused(saved, "model.onnx.data is truncated: 100 bytes, the manifest says 4,096", "Save the package again")
    os.unlink(data)
    load_refused(saved, "model.onnx.data is missing")


def test_changed_bytes_are_found_by_verify(saved: Path) -> None:
    with open(saved / "model.onnx.data", "r+b") as file:
        file.write(b"x")
    load(saved)
    load_refused(saved, "was changed: sha256", verify=True)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"format": "x"}, "not the manifest of a package"),
        ({"format_version": 99}, "format version 99; this workbench reads 1"),
        ({"models": {"model": "../../etc/passwd"}}, "is damaged"),
        ({"models": {"model": "other.onnx"}}, "is damaged"),
        ({"files": 3}, "is damaged"),
        ({"files": [{"name": "../x", "size": 1, "sha256": ""}]}, "is damaged"),
        ({"reports": {"model": {}}}, "is damaged"),
        ({"diagnostics": [{"x": 1}]}, "is damaged"),
        ({"padding": "left"}, "padding 'left'; allowed are right, any"),
    ],
)
def test_damaged_manifest(saved: Path, change: dict[str, Any], part: str) -> None:
    values = json.loads((saved / "manifest.json").read_text()) | change
    (saved / "manifest.json").write_text(json.dumps(values))
    load_refused(saved, part)


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000])
def test_a_manifest_that_is_no_json(saved: Path, text: str) -> None:
    (saved / "manifest.json").write_text(text)
    load_refused(saved, "manifest.json", "not")


def test_what_is_no_package(tmp_path: Path) -> None:
    load_refused(tmp_path / "no", "no such file or folder")
    (tmp_path / "m.onnx").write_bytes(b"x")
    load_refused(tmp_path, "has no manifest.json. Give the file instead: m.onnx")
    for model in (b"bytes", 3, None):
        with pytest.raises(TypeError, match="takes a path, found"):
            load(model)


@pytest.mark.parametrize("data", [b"", b"x" * 1000, b"\x08\x0b\x3a\xff\xff\xff\xff\x07", b"PK\x03\x04" + bytes(100)])
def test_files_that_are_no_onnx(tmp_path: Path, data: bytes) -> None:
    for name in ("m.onnx", "m.bin", "m.onnxtxt", "m.textproto", "m.json"):
        (tmp_path / name).write_bytes(data)
        load_refused(tmp_path / name, str(tmp_path / name))


def test_every_truncation_of_a_file(saved: Path) -> None:
    whole = (saved / "model.onnx").read_bytes()
    for length in range(0, len(whole), 7):
        (saved / "short.onnx").write_bytes(whole[:length])
        try:
            load(saved / "short.onnx")  # protobuf cannot see a cut between two fields
        except ModelFileError as error:
            assert "short.onnx" in str(error)


def test_a_foreign_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (saved.parent / "foreign").mkdir()
    for name in ("model.onnx", "model.onnx.data"):
        (saved / name).rename(saved.parent / "foreign" / name)
    monkeypatch.chdir(saved.parent / "foreign")
    found = load("model.onnx")
    monkeypatch.chdir("/")
    assert found.execution_provider == "" and found.dtype is None and found.padding == "any"
    assert found.model.graph.initializers["w"].const_value.numpy()[0] == 3.0
    assert found.diagnostics == () and dict(found.reports) == {} and repr(found) == "Package('g'; model: 3 nodes)"
    found.save(saved.parent / "copy")
    assert load(saved.parent / "copy").execution_provider == "" and run(saved.parent / "copy")[0, 0] == -6


@pytest.mark.parametrize("ending", [".onnxtxt", ".textproto", ".onnxjson"])
def test_text_forms(tmp_path: Path, ending: str) -> None:
    model = small()
    model.functions.clear()
    del model.graph.initializers["w"], model.graph.initializers["s"]
    model.graph.inputs.append(typed("z", 1024))
    for node in list(model.graph)[1:]:
        model.graph.remove(node)
    add = model.graph.node("add")
    add.replace_input_with(1, model.graph.inputs[1])
    add.outputs[0].name = "out"
    model.graph.outputs[0] = add.outputs[0]
    ir.save(model, tmp_path / f"m{ending}")
    assert [node.op_type for node in load(tmp_path / f"m{ending}").model.graph] == ["Add"]


def test_absent_external_data_is_a_diagnostic(saved: Path) -> None:
    os.unlink(saved / "model.onnx.data")
    (found,) = load(saved / "model.onnx").diagnostics
    assert found.code == "weights.missing-file" and found.where == "model.onnx.data"
    (saved / "model.onnx.data").write_bytes(b"short")
    (found,) = load(saved / "model.onnx").diagnostics
    assert found.code == "weights.truncated-file" and "5 of at least 4,096 bytes" in found.message
    os.unlink(saved / "model.onnx.data")
    (saved.parent / "else").write_bytes(bytes(4096))
    (saved / "model.onnx.data").symlink_to(saved.parent / "else")
    (found,) = load(saved / "model.onnx").diagnostics
    assert found.code == "weights.outside-folder"
    os.unlink(saved / "model.onnx.data")
    os.link(saved.parent / "else", saved / "model.onnx.data")
    (found,) = load(saved / "model.onnx").diagnostics
    assert found.code == "weights.hard-link"


def test_a_huge_model_without_its_data_opens_at_once(tmp_path: Path) -> None:
    model = small()
    tensor = ir.ExternalTensor(
        "huge.data", 0, 80 << 30, ir.DataType.FLOAT, shape=ir.Shape([20 << 30]), name="w", base_dir=""
    )
    model.graph.initializers["w"].const_value = tensor
    ir.save(model, tmp_path / "m.onnx")
    found = load(tmp_path / "m.onnx")
    assert found.to_frame().nbytes[0] == (80 << 30) + 4 and found.diagnostics[0].code == "weights.missing-file"
    refused(lambda: found.save(tmp_path / "p"), "Not enough disk space")


def test_a_package_of_a_user_with_several_ends(tmp_path: Path) -> None:
    """A config with a tuple survives JSON."""
    import dataclasses

    from workbench.config.model_config import ModelConfig

    config = ModelConfig("llama", 32, 16, 32, 2, 2, 1, 8, eos_token_id=(2, 3), layer_types=("full_attention",) * 2)
    package(config=config, bind_report=BindReport()).save(tmp_path / "p")
    assert load(tmp_path / "p").config == config
    assert dataclasses.is_dataclass(config)


def test_an_encoder_comes_back(tmp_path: Path) -> None:
    """Its config has other fields than a decoder's; the manifest alone says which."""
    built = build({"model_type": "bert", **SIZES, "max_position_embeddings": 64}, load_weights=False)
    for value in built.model.graph.initializers.values():
        if value.const_value is None:
            value.const_value = ir.tensor(np.zeros(value.shape.numpy(), value.dtype.numpy()), name=value.name)
    built.save(tmp_path / "p", progress=False)
    loaded = load(tmp_path / "p")
    assert loaded.config == built.config
    same_graphs(built.model, loaded.model)

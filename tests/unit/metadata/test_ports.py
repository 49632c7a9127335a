"""A workflow against real graphs: names, dtypes, ranks, dimensions and symbols; files of the package alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto as T
from onnx import helper

from tests.unit.metadata.edits import drop, put
from tests.unit.metadata.fixtures import base
from workbench import errors
from workbench.metadata import check_ports, convert, to_yaml

INPUTS = {
    "ids": (T.INT64, ["batch", "seq"]), "mask": (T.INT64, ["batch", "total"]),
    "pk": (T.FLOAT, ["batch", 2, "past", 16]), "pv": (T.FLOAT, ["batch", 2, "past", 16]),
}  # fmt: skip
OUTPUTS = {
    "scores": (T.FLOAT, ["batch", "seq", 258]), "nk": (T.FLOAT, ["batch", 2, "now", 16]),
    "nv": (T.FLOAT, ["batch", 2, "now", 16]),
}  # fmt: skip
Ports = dict[str, tuple[int, list[Any] | None]]


def graph(path: Path, inputs: Ports | None = None, outputs: Ports | None = None) -> None:
    inputs, outputs = inputs or INPUTS, outputs or OUTPUTS
    nodes = [helper.make_node("Made", list(inputs), list(outputs), domain="test")]
    made = helper.make_graph(
        nodes, "lm",
        [helper.make_tensor_value_info(name, *port) for name, port in inputs.items()],
        [helper.make_tensor_value_info(name, *port) for name, port in outputs.items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("test", 1)]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(helper.make_model(made, opset_imports=opsets).SerializeToString())


@pytest.fixture
def root(tmp_path: Path) -> Path:
    graph(tmp_path / "lm.onnx")
    return tmp_path


def said(report: Any, verdict: str) -> list[tuple[str, str]]:
    return [(row.port, row.detail) for row in report.entries if row.verdict == verdict]


def test_a_document_that_fits_its_graph(root: Path) -> None:
    report = check_ports(base("dec"), root)
    assert report.ok and repr(report) == "PortReport(7 agrees)"
    assert {row.component for row in report.entries} == {"lm"}
    assert next(row for row in report.entries if row.port == "pk").found == "float32[batch, 2, past, 16]"


DIFFERENT: list[tuple[dict[str, Any], str, str]] = [
    ({"ids": (T.INT32, ["batch", "seq"])}, "ids", "dtype int64, the graph has int32"),
    ({"ids": (T.INT64, ["batch"])}, "ids", "rank 2, the graph has 1"),
    ({"pk": (T.FLOAT, ["batch", 4, "past", 16])}, "pk", "axis 1 is 2, the graph has 4"),
    ({"scores": (T.FLOAT16, ["batch", "seq", 258])}, "scores", "dtype float32, the graph has float16"),
]


@pytest.mark.parametrize(("change", "port", "detail"), DIFFERENT)
def test_what_contradicts_the_graph_differs(root: Path, change: Ports, port: str, detail: str) -> None:
    outputs = {name: change.get(name, old) for name, old in OUTPUTS.items()}
    graph(root / "lm.onnx", {name: change.get(name, old) for name, old in INPUTS.items()}, outputs)
    report = check_ports(base("dec"), root)
    assert said(report, "differs") == [(port, detail)] and not report.ok


NOTED: list[tuple[dict[str, Any], str, str]] = [
    ({"pk": (T.FLOAT, ["batch", "heads", "past", 16])}, "pk", "axis 1 is 2, the graph leaves it free (heads)"),
    ({"ids": (T.INT64, [1, "seq"])}, "ids", "axis 0 is 'batch', the graph fixes it to 1"),
    ({"mask": (T.INT64, ["rows", "total"])}, "mask", "'batch' is rows here and batch in ids"),
    ({"ids": (T.INT64, None)}, "ids", "the graph does not say its rank"),
]


@pytest.mark.parametrize(("change", "port", "detail"), NOTED)
def test_what_is_said_more_or_less_exactly_is_noted(root: Path, change: Ports, port: str, detail: str) -> None:
    graph(root / "lm.onnx", {name: change.get(name, old) for name, old in INPUTS.items()})
    report = check_ports(base("dec"), root)
    assert report.ok and (port, detail) in said(report, "note")


def test_names_that_the_graph_does_not_have(root: Path) -> None:
    graph(root / "lm.onnx", {name: port for name, port in INPUTS.items() if name != "mask"})
    assert said(check_ports(base("dec"), root), "differs") == [("mask", "the graph has no such input")]
    data = base("dec")
    put("comp.lm.ports.inputs.mask.optional", True)(data)
    assert said(check_ports(data, root), "note") == [("mask", "the graph has no such input")]


def test_inputs_that_the_document_forgets(root: Path) -> None:
    graph(root / "lm.onnx", {**INPUTS, "more": (T.FLOAT, [])}, {**OUTPUTS, "extra": (T.FLOAT, [])})
    report = check_ports(base("dec"), root)
    assert [row.port for row in report.differing] == ["more"]
    assert said(report, "note") == [("extra", "not declared")]


def test_a_component_without_ports_is_held_by_what_names_them(root: Path) -> None:
    data = base("dec")
    drop("comp.lm.ports.inputs")(data)
    drop("comp.lm.ports.outputs")(data)
    assert check_ports(data, root).ok
    put("steps[0].steps[0].inputs.elsewhere", "prompt")(data)
    put("comp.lm.ports.roles.gone", "position_ids")(data)
    put("groups.kv.ports.lm.k0.output", "lost")(data)
    assert said(check_ports(data, root), "differs") == [
        ("elsewhere", "a step names it, the graph has no such input"),
        ("gone", "the role position_ids names it, the graph has no such input"),
        ("lost", "the state group kv names it, the graph has no such output"),
    ]


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (put("comp.lm.implementation.artifact", "none.onnx"), "there is no such file"),
        (put("comp.lm.implementation.artifact", "../lm.onnx"), "leaves the package"),
        (put("comp.lm.implementation.artifact", "/etc/hostname"), "leaves the package"),
        (put("comp.lm.implementation.artifact", "folder"), "no regular file"),
        (put("comp.lm.implementation.artifact", "junk.onnx"), "no ONNX graph"),
        (put("comp.lm.implementation.artifact", "empty.onnx"), "no ONNX graph"),
        (put("comp.lm.implementation.artifact", "link.onnx"), "leaves the package"),
    ],
)
def test_graphs_that_cannot_be_read(tmp_path: Path, edit: Callable[[Any], None], why: str) -> None:
    root = tmp_path / "package"
    graph(tmp_path / "lm.onnx")
    graph(root / "lm.onnx")
    (root / "folder").mkdir()
    (root / "junk.onnx").write_bytes(b"\x08\x99not a graph")
    (root / "empty.onnx").touch()
    (root / "link.onnx").symlink_to(tmp_path / "lm.onnx")
    data = base("dec")
    edit(data)
    (row,) = check_ports(data, root).entries
    assert row.verdict == "unread" and why in row.detail and not check_ports(data, root).ok


def test_weights_are_not_touched(root: Path) -> None:
    """A graph whose weights are in a file that is not there has the same ports."""
    tensor = TensorOutside("w", "absent.bin")
    model = onnx.load(root / "lm.onnx")
    model.graph.initializer.append(tensor)
    (root / "lm.onnx").write_bytes(model.SerializeToString())
    assert check_ports(base("dec"), root).ok


def TensorOutside(name: str, location: str) -> onnx.TensorProto:
    tensor = T(name=name, data_type=T.FLOAT, dims=[4], data_location=T.EXTERNAL)
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", location
    return tensor


def test_the_folder_is_found_by_the_document(root: Path) -> None:
    (root / "inference_metadata.yaml").write_text(to_yaml(base("dec")), encoding="utf-8")
    assert check_ports(root).ok and check_ports(root / "inference_metadata.yaml").ok
    assert check_ports(convert(base("dec"), "v1").data, root, dialect="v1").ok
    with pytest.raises(errors.ModelFileError, match="pass package_root"):
        check_ports(base("dec"))
    with pytest.raises(errors.ModelFileError, match="There is no folder"):
        check_ports(base("dec"), root / "none")
    with pytest.raises(errors.ArgumentError, match="package_root must be a path"):
        check_ports(base("dec"), 3)


def test_a_report_shows_itself(root: Path) -> None:
    data = base("dec")
    put("comp.lm.ports.roles.<b>", "position_ids")(data)
    report = check_ports(data, root)
    assert "<b>" not in report._repr_html_() and "&lt;b&gt;" in report._repr_html_()
    assert list(report.to_frame().columns) == list(report.COLUMNS)

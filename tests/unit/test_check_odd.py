"""check of odd graphs: the installed ONNX Runtime says whether a session can be made of them, and check does so too."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from workbench.check import check
from workbench.errors import ModelFileError, UnknownNameError
from workbench.explain import explain, why_not
from workbench.optimize import optimize

FLOAT = TensorProto.FLOAT


def value(name: str, dtype: int = FLOAT, shape: Sequence[int | str] | None = ("b", 8)) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def node(op: str, x: str = "x", y: str = "y", name: str = "it", domain: str = "", **more: object) -> onnx.NodeProto:
    return helper.make_node(op, [x], [y], name=name, domain=domain, **more)


def function(name: str, body: Sequence[onnx.NodeProto], opset: int = 17) -> onnx.FunctionProto:
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, ["x"], ["y"], list(body), imports)


def model(
    nodes: Sequence[onnx.NodeProto],
    opset: int = 17,
    functions: Sequence[onnx.FunctionProto] = (),
    x: onnx.ValueInfoProto | None = None,
    y: onnx.ValueInfoProto | None = None,
) -> onnx.ModelProto:
    graph = helper.make_graph(list(nodes), "g", [x or value("x")], [y or value("y")])
    imports = [helper.make_opsetid(domain, 1 if domain else opset) for domain in ("", "own")]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=10)


def two() -> onnx.FunctionProto:
    """A function with two outputs."""
    body = [node("Relu"), node("Neg", y="z")]
    return helper.make_function("own", "Two", ["x"], ["y", "z"], body, [helper.make_opsetid("", 17)])


def call_two(x: str, *y: str) -> onnx.NodeProto:
    return helper.make_node("Two", x.split(), list(y), name="it", domain="own")


CALL = node("Act", domain="own")
SEQUENCE = helper.make_tensor_sequence_value_info("y", FLOAT, None)
ODD: dict[str, tuple[Callable[[], onnx.ModelProto], set[str]]] = {
    "an old operator": (lambda: model([node("Relu")], opset=1), {"kernel"}),
    "an old opset": (lambda: model([node("Relu")], opset=7), set()),
    "an opset of the future": (lambda: model([node("Relu")], opset=99), {"opset"}),
    "no nodes": (lambda: model([], y=value("x")), set()),
    "an unknown operator": (lambda: model([node("Thing")]), {"unknown operator"}),
    "an unknown domain": (lambda: model([node("Thing", domain="own")]), {"domain"}),
    "an input without a type": (
        lambda: model([node("Relu")], x=helper.make_empty_tensor_value_info("x")), {"graph"},
    ),
    "an input without a shape": (lambda: model([node("Relu")], x=value("x", shape=None)), set()),
    "two nodes of one name": (lambda: model([node("Relu", y="t"), node("Relu", x="t")]), {"graph"}),
    "nodes without names": (lambda: model([node("Relu", y="t", name=""), node("Relu", x="t", name="")]), set()),
    "a sequence": (lambda: model([node("SequenceConstruct")], y=SEQUENCE), set()),
    "an operator with a body": (lambda: model([CALL], functions=[function("Act", [node("Erf")])]), set()),
    "a body of another opset": (lambda: model([CALL], functions=[function("Act", [node("Erf")], opset=13)]), set()),
    "a body within a body": (
        lambda: model([node("Outer", domain="own")], functions=[
            function("Act", [node("Erf")]), function("Outer", [CALL]),
        ]), set(),
    ),
    "a call with too few outputs": (lambda: model([call_two("x", "y")], functions=[two()]), {"graph", "domain"}),
    "a call with too many outputs": (lambda: model([call_two("x", *"ytu")], functions=[two()]), {"graph", "domain"}),
    "a call with too many inputs": (lambda: model([call_two("x x", "y", "t")], functions=[two()]), {"graph", "domain"}),
    "a body with an unknown operator": (
        lambda: model([CALL], functions=[function("Act", [node("Thing")])]), {"unknown operator"},
    ),
}  # fmt: skip


def really(proto: onnx.ModelProto) -> bool:
    """Whether ONNX Runtime makes a session of it."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception:
        return False
    return True


@pytest.mark.parametrize("name", ODD)
def test_the_verdict_is_that_of_onnxruntime(name: str, caplog: pytest.LogCaptureFixture) -> None:
    make, kinds = ODD[name]
    with caplog.at_level(logging.WARNING):
        report = check(make(), "cpu")
    assert (report.verdict != "refused") == really(make()), report
    assert {found.kind for found in report.findings if found.severity == "error"} == kinds
    assert not caplog.records


@pytest.mark.parametrize("name", ODD)
def test_nothing_else_breaks(name: str) -> None:
    """Stages, recordings, questions: an answer for each."""
    proto = ODD[name][0]()
    for stage in (None, "cleanup", "fuse", "lower"):
        made = optimize(proto, execution_provider="trt-rtx", stop_after=stage, record=True)
        assert made.recording is not None and len(made.recording.at(0)) == len(proto.graph.node)
    for rule in ("fuse/gelu", "lower/rms_norm"):
        assert why_not(proto, rule, execution_provider="cpu").verdict in ("no candidates", "not planned")
    if any(one.name for one in proto.graph.node):
        assert explain(proto, proto.graph.node[0].name, execution_provider="cpu")


def test_a_body_in_which_operators_are_others() -> None:
    """Softmax of opset 11 works on all that follows its axis: it is judged as the later one, and that is said."""
    proto = model([CALL], functions=[function("Act", [node("Softmax")], opset=11)])
    (found,) = check(proto, "cpu").findings
    assert (found.severity, found.kind, found.action) == ("warning", "opset", "not known")
    assert found.reason == "own.Act is of opset 11, in which Softmax may be another operator"


def test_a_node_inside_is_said_to_be_inside() -> None:
    """Rules look at the main graph; a question about a body or a branch is answered by saying so."""
    proto = model([CALL], functions=[function("Act", [node("Erf", name="inner")])])
    for provider in ("cpu", None):
        with pytest.raises(
            UnknownNameError, match="'inner' is in the body of the function own.Act, which it calls, and"
        ):
            explain(proto, "inner", execution_provider=provider)
    branches = {
        name: helper.make_graph([node("Relu", y=name, name=f"{name}_node")], name, [], [value(name)])
        for name in ("then_branch", "else_branch")
    }
    choice = helper.make_node("If", ["c"], ["y"], name="choice", **branches)
    graph = helper.make_graph([choice], "g", [value("x"), value("c", TensorProto.BOOL, ())], [value("y")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    with pytest.raises(UnknownNameError, match="'then_branch_node' is in a branch of an If, Loop or Scan, and steps"):
        explain(proto, "then_branch_node", execution_provider="cpu")


@pytest.mark.parametrize("names", [("Act",), ("Act", "Other")])
def test_functions_in_a_circle_are_refused(names: tuple[str, ...]) -> None:
    after = dict(zip(names, (*names[1:], names[0]), strict=True))
    bodies = [function(name, [node(after[name], domain="own")]) for name in names]
    proto = model([CALL], functions=[*bodies, function("Fine", [node("Erf")])])
    assert not really(proto)
    said = f"call themselves, or each other in a circle: {', '.join(f'own.{name}' for name in names)}. Such a model"
    for ask in (
        lambda: check(proto, "cpu"), lambda: optimize(proto, execution_provider="cpu"),
        lambda: why_not(proto, "fuse/gelu", execution_provider="cpu"),
    ):  # fmt: skip
        with pytest.raises(ModelFileError, match=said):
            ask()


def test_weights_whose_file_is_missing(tmp_path: Path) -> None:
    """As ONNX Runtime, which looks beside the model; of a proto nobody knows where its files are."""
    weight = numpy_helper.from_array(np.full(512, 0.5, np.float32), "w")
    proto = model([helper.make_node("Add", ["x", "w"], ["y"], name="it")], x=value("x", shape=(1, 512)), y=value("y"))
    proto.graph.initializer.append(weight)
    onnx.save(proto, str(tmp_path / "m.onnx"), save_as_external_data=True, location="w.bin", size_threshold=0)
    assert check(tmp_path / "m.onnx", "cpu").verdict == "runs"
    (tmp_path / "w.bin").rename(tmp_path / "elsewhere")
    report = check(tmp_path / "m.onnx", "cpu")
    assert (
        report.verdict == "refused" and "the file 'w.bin', which holds weights, is missing" in report.findings[0].reason
    )
    assert check(onnx.load(tmp_path / "m.onnx", load_external_data=False), "cpu").verdict == "runs"

"""What is published, for each request on its own; what a branch takes out of its cases; what a run starts with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.interpret.documents import (
    STEPS,
    application,
    binding,
    emit,
    graph,
    invoke,
    literal,
    output,
    ports,
    request,
    workflow,
    write_graph,
)
from workbench.errors import FeedsError, ModelFileError
from workbench.interpret import Limits, interpret


def emitting(*steps: Any, text: str = "int64[batch, s]", **inputs: Any) -> dict[str, Any]:
    return workflow(
        list(steps), inputs={"rows": request(text, "prompt_tokens"), **inputs}, outputs={"last": output(text)}
    )


ROWS = {"rows": [[1, 2, 3], [4, 5, 6]]}


# --- emit ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("mode", "words", "expected"),
    [
        ("replace", {}, [[1, 2, 3], [4, 5, 6]]),
        ("append", {}, [[1, 2, 3, 1, 2, 3], [4, 5, 6, 4, 5, 6]]),
        ("append", {"valid_length": "two"}, [[1, 2, 1, 2], [4, 5, 4, 5]]),
    ],
)
def test_modes(mode: str, words: Any, expected: Any) -> None:
    steps = [emit("rows", "last", mode, **words)] * 2
    run = interpret(emitting(*steps, two=literal("int64[]", 2)), ROWS)
    assert run.ok and run.outputs["last"].tolist() == expected
    assert run.outputs["last"].dtype == np.int64


def test_events_come_one_after_the_other() -> None:
    run = interpret(emitting(emit("rows", "last", "event"), emit("rows", "last", "event")), ROWS)
    assert [event.tolist() for event in run.outputs["last"]] == [ROWS["rows"]] * 2


def test_what_is_emitted_for_some_requests_alone_is_ragged() -> None:
    document = emitting(
        emit("rows", "last", "append"), emit("rows", "last", "append", when="who", valid_length="much"),
        who=application("bool[batch]", "who"), much=application("int64[batch]", "much"),
    )  # fmt: skip
    run = interpret(document, {**ROWS, "who": [False, True], "much": [3, 1]})
    assert [row.tolist() for row in run.outputs["last"]] == [[1, 2, 3], [4, 5, 6, 4]]
    assert "emit last: append 1 of 2" in run.trace[-1].title


def test_the_axis_of_growth_is_said_or_the_last() -> None:
    text, value = "float32[batch, 2, n]", np.arange(8.0, dtype=np.float32).reshape(2, 2, 2)
    for axis in (1, 2, None):
        words = {} if axis is None else {"axis": axis}
        document = emitting(*[emit("rows", "last", "append", **words)] * 2, text="float32[batch, k, n]")
        document["pipeline"]["workflow"]["inputs"]["rows"]["contract"]["shape"] = ["batch", "k", "n"]
        run = interpret(document, {"rows": value})
        np.testing.assert_array_equal(run.outputs["last"], np.concatenate([value, value], axis=axis or 2))
    assert text


def test_one_number_for_each_request_grows_into_a_row() -> None:
    document = emitting(emit("n", "last", "append"), emit("n", "last", "append"), n=application("int64[batch]", "n"))
    document["pipeline"]["workflow"]["outputs"]["last"] = output("int64[batch]")
    run = interpret(document, {**ROWS, "n": [7, 8]})
    assert run.outputs["last"].tolist() == [[7, 7], [8, 8]]


# --- branch ----------------------------------------------------------------------------------------------------
def seeing() -> dict[str, Any]:
    """A picture that may be absent: with it, its sum; without it, minus one."""
    return workflow(
        [
            {
                "kind": "branch", "predicate": "has_picture",
                "cases": {"true": invoke("see", {"bytes": "picture"}, {"y": "a"})},
                "default": invoke("blank", {"ids": "rows"}, {"y": "b"}),
                "outputs": {"feature": {"cases": {"true": "a"}, "default": "b"}},
            },
            emit("feature", "last"),
        ],
        inputs={
            "rows": request("int64[batch, s]", "prompt_tokens"),
            "picture": request("uint8[n]", "media", required=False, present_as="has_picture"),
        },
        outputs={"last": output("int64[]")},
        components={
            "see": binding({"bytes": "uint8[n]"}, {"y": "int64[]"}, "test.see"),
            "blank": binding({"ids": "int64[batch, s]"}, {"y": "int64[]"}, "test.blank"),
        },
    )  # fmt: skip


SEE = {"test.see": lambda f: {"y": f["bytes"].sum(dtype=np.int64)}, "test.blank": lambda f: {"y": np.int64(-1)}}


@pytest.mark.parametrize(("inputs", "expected", "case"), [({"media": [1, 2, 3]}, 6, "cases.true"), ({}, -1, "default")])
def test_optional_media_decides_a_branch(inputs: Any, expected: int, case: str) -> None:
    run = interpret(seeing(), {**ROWS, **inputs}, executors=SEE)
    assert run.ok and int(run.outputs["last"]) == expected
    assert [step.path for step in run.trace if step.kind == "invoke"] == [f"{STEPS}[0].{case}"]
    assert [step.kind for step in run.trace] == ["inputs", "branch", "invoke", "join", "emit"]


def test_a_whole_number_chooses_a_case() -> None:
    document = workflow(
        [{"kind": "branch", "predicate": "n", "cases": {"0": emit("a", "last"), "1": emit("b", "last")},
          "default": emit("c", "last")}],
        inputs={"n": request("int64[1]", "width"), **{x: literal("int64[]", i) for i, x in enumerate("abc", 10)}},
        outputs={"last": output("int64[]")},
    )  # fmt: skip
    found = [int(interpret(document, {"width": [n]}).outputs["last"]) for n in (0, 1, 2)]
    assert found == [10, 11, 12]


# --- inputs ----------------------------------------------------------------------------------------------------
def test_inputs_are_found_by_name_source_and_role() -> None:
    document = emitting(emit("rows", "last"), m=application("float32[k]", "mel", required=True))
    for word in ("rows", "prompt_tokens"):
        assert interpret(document, {word: [[1]], "mel": [0.5]}).ok
    with pytest.raises(FeedsError, match=r"inputs has 'row', and the workflow has no input.* Is 'rows' meant\?"):
        interpret(document, {"row": [[1]]})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([[1.5]], "The input 'rows' is float64[1, 1], and its contract says int64"),
        ([1, 2], "The input 'rows' has 1 axes (int64[2]), and its contract says 2"),
    ],
)
def test_an_input_that_does_not_fit_is_told_at_the_inputs(value: Any, text: str) -> None:
    run = interpret(emitting(emit("rows", "last")), {"rows": value})
    (found,) = run.diagnostics
    assert (found.code, found.step, run.status) == ("run.input", "pipeline.workflow.inputs", "failed")
    assert text in found.message


def test_defaults_have_a_size_from_the_requests_and_from_symbols() -> None:
    document = emitting(
        emit("rows", "last"), a=literal("float32[batch, s, 2]", 0.5), b=literal("int64[batch, 3]", [7, 8, 9]),
        c=literal("int64[2, k]", [1, 2, 3, 4, 5, 6]), d=literal("int64[ends]", 7),
    )  # fmt: skip
    run = interpret(document, ROWS)
    made = {one.port: one.value for one in run.trace[0].writes}
    assert made["a"].shape == (2, 3, 2) and made["b"].array.tolist() == [[7, 8, 9]] * 2
    assert made["c"].array.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert made["d"].array.tolist() == [7]  # one number fills one place
    lost = interpret(emitting(emit("rows", "last"), a=literal("float32[high, wide]", 0.5)), ROWS)
    assert "an axis 'high' whose size nothing given says" in lost.diagnostics[0].message


def test_one_symbol_may_have_two_sizes_in_two_inputs() -> None:
    document = emitting(emit("rows", "last"), more=application("int64[batch, s]", "more"), a=literal("int64[s]", 1))
    run = interpret(document, {**ROWS, "more": [[1], [2]]})
    assert run.ok and run.value("a").shape == (3,)  # the size in the first input


def test_an_array_of_the_package_is_an_input(tmp_path: Path) -> None:
    entry = {"contract": ports({"p": "int64[n]"}, {})["inputs"]["p"], "role": {"kind": "opaque"},
             "source": {"kind": "artifact", "path": "table.npy"}}  # fmt: skip
    document = emitting(emit("table", "last"), table=entry)
    document["pipeline"]["workflow"]["outputs"]["last"] = output("int64[n]")
    np.save(tmp_path / "table.npy", np.arange(3))
    assert interpret(document, ROWS, package_root=tmp_path).outputs["last"].tolist() == [0, 1, 2]
    (tmp_path / "table.npy").write_bytes(b"no array")
    run = interpret(document, ROWS, package_root=tmp_path)
    assert "'table.npy' of 'table' is no .npy file of numbers" in run.diagnostics[0].message


# --- components ----------------------------------------------------------------------------------------------------
def test_an_artifact_is_not_followed_out_of_the_package(tmp_path: Path) -> None:
    outside, package = tmp_path / "outside", tmp_path / "package"
    outside.mkdir(), package.mkdir()
    write_graph(outside, "g.onnx", "(int64[b, s] ids) => (int64[b, s] y) { y = Identity(ids) }")
    os.symlink(outside / "g.onnx", package / "g.onnx")
    said = ports({"ids": "int64[batch, s]"}, {"y": "int64[batch, s]"})
    document = emitting(invoke("g", {"ids": "rows"}, {"y": "made"}), emit("made", "last"))
    document["pipeline"]["workflow"]["components"]["g"] = graph("g.onnx", ports=said)
    run = interpret(document, ROWS, package_root=package)
    assert "'g.onnx' lies outside the package" in run.diagnostics[0].message
    assert interpret(document, ROWS, package_root=outside).ok
    alone = interpret(document, ROWS)
    assert "Give the folder of the package" in alone.diagnostics[0].hint


def test_an_adapter_is_refused_plainly_and_runs_as_a_function() -> None:
    document = emitting(invoke("a", {"x": "rows"}, {"y": "made"}), emit("made", "last"))
    flow = document["pipeline"]["workflow"]
    flow["manifest"]["adapter_abis"] = {"com.example.twice": "1"}
    flow["components"]["a"] = binding({"x": "int64[batch, s]"}, {"y": "int64[batch, s]"})
    flow["components"]["a"]["implementation"] = {"kind": "adapter", "abi": "com.example.twice", "version": "1"}
    run = interpret(document, ROWS)
    assert "The adapter 'a' (abi com.example.twice@1) cannot be run here" in run.diagnostics[0].message
    assert "executors={'com.example.twice': function}" in run.diagnostics[0].hint
    run = interpret(document, ROWS, executors={"com.example.twice": lambda f: {"y": f["x"] * 2}})
    assert run.outputs["last"].tolist() == [[2, 4, 6], [8, 10, 12]]


def test_a_function_cannot_change_what_others_read() -> None:
    kept = np.array([[0, 0, 0], [0, 0, 0]])

    def careless(feeds: Any) -> Any:
        with pytest.raises(ValueError, match="read-only"):
            feeds["x"] += 1
        return {"y": kept}

    document = emitting(invoke("a", {"x": "rows"}, {"y": "made"}), emit("made", "last"))
    flow = document["pipeline"]["workflow"]
    flow["components"]["a"] = binding({"x": "int64[batch, s]"}, {"y": "int64[batch, s]"}, "test.careless")
    run = interpret(document, ROWS, executors={"test.careless": careless})
    kept += 5
    assert run.outputs["last"].tolist() == [[0, 0, 0], [0, 0, 0]]


# --- what is refused before anything runs ----------------------------------------------------------------------------
def test_a_document_that_breaks_a_rule_is_not_run() -> None:
    with pytest.raises(ModelFileError, match=r"breaks a rule, so it is not run: error N224 .*'nothing' is emitted"):
        interpret(emitting(emit("nothing", "last")), ROWS)
    with pytest.raises(ModelFileError, match="B13 .*The document has no pipeline"):
        interpret({"schema_version": "v1"}, ROWS)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"seed": -1}, "seed must be a whole number, 0 or more; found int -1"),
        ({"limits": 3}, "limits must be a Limits; found int 3"),
        ({"sampling": "greedy"}, "sampling must be a Sampling; found str 'greedy'"),
        ({"max_new_tokens": True}, "max_new_tokens must be a whole number"),
        ({"inputs": [1]}, "inputs must be a mapping of names to arrays; found list"),
        ({"prompt": [5, 9]}, "prompt must be a text; found list"),
        ({"eos_token_ids": 2}, "eos_token_ids must be a list of token ids; found int 2"),
        ({"executors": {"x": 1}}, "executors must be a mapping of components, contracts or abis to functions"),
        ({"package_root": 3}, "package_root must be a path of a folder; found int 3"),
    ],
)
def test_arguments_of_a_wrong_type(words: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        interpret(emitting(emit("rows", "last")), **({"inputs": ROWS} | words))


def test_a_source_that_is_no_package(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="found int 3"):
        interpret(3)
    with pytest.raises(ModelFileError, match="There is no folder"):
        interpret(emitting(emit("rows", "last")), ROWS, package_root=tmp_path / "nothing")


def test_steps_may_be_nested_as_deep_as_a_document_can_be() -> None:
    step: Any = emit("rows", "last")
    for _ in range(25):
        step = {"kind": "sequence", "steps": [step]}
    run = interpret(emitting(step), ROWS)
    assert run.ok and run.trace[-1].path == f"{STEPS}[0]" + ".nodes[0]" * 25


def test_limits_are_checked() -> None:
    with pytest.raises(TypeError, match="seconds must be a number above 0, or None; found int 0"):
        Limits(seconds=0)


# --- faces ----------------------------------------------------------------------------------------------------
def test_faces_of_a_run() -> None:
    name = "<b>rows</b>"
    document = emitting(emit(name, "last"), **{name: application("int64[batch, s]", "r")})
    run = interpret(document, {**ROWS, "r": ROWS["rows"]})
    assert repr(run) == "WorkflowRun(done: last [2, 3]; 2 records; greedy)"
    assert "&lt;b&gt;rows" in run._repr_html_() and "<b>rows" not in run._repr_html_()
    frame = run.to_frame()
    assert list(frame.columns)[:3] == ["index", "path", "iteration"]
    assert frame[frame["direction"] == "in"]["elements"].tolist() == ["int64[2, 3] 1 2 3 4 5 6"]

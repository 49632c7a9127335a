"""Parts of a workflow of one's own that no document can hold: which part, what was found, what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from workbench.describe import WorkflowBuilder
from workbench.describe.contracts import contract
from workbench.describe.steps import branch, emit, invoke, loop, sequence
from workbench.errors import ArgumentError

IDS = contract("int64", "batch")
STEP = emit("a", "b")
BAD: dict[str, tuple[Callable[[WorkflowBuilder], Any], str]] = {
    "a size below 0": (
        lambda b: contract("int64", -1),
        r"The contract int64 \[-1\] .*greater than or equal to 0.*found -1",
    ),
    "a size of nothing": (lambda b: contract("int64", ""), r"The contract int64 \[''\] cannot be written: .*found ''"),
    "no size": (lambda b: contract("int64", None), r"The contract int64 \[None\] cannot be written: .*found None"),
    "no contract": (lambda b: b.request("a", None, "prompt_tokens"), "The input 'a' .*contract: .*found None"),
    "role of an output": (lambda b: b.output("o", IDS, "zzz"), "The output 'o' .*role: .*'tokens', .*found 'zzz'"),
    "no file": (lambda b: b.onnx("c", 3), "The component 'c' .*artifact: input should be a valid string; found 3"),
    "role of a port": (lambda b: b.onnx("c", "c.onnx", roles={"a": 3}), "The component 'c' .*roles.a: .*found 3"),
    "no such word": (lambda b: b.onnx("c", "c.onnx", colour=3), "The component 'c' .*colour: extra inputs .*found 3"),
    "no version": (lambda b: b.adapter("c", "abi", None, {}, {}), "The component 'c' .*version: field required; found"),
    "a cell of nothing": (lambda b: b.cell("s", IDS, 3), "The state cell 's' .*initializer: .*found 3"),
    "an effect": (lambda b: b.effect("e", "never ever"), "The effect 'e' .*retry: .*found 'never ever'"),
    "no step": (lambda b: (b.add(3), b.document()), "The workflow .*steps.0: .*found 3"),
    "a section": (lambda b: (b.section("model", 3), b.document()), "The workflow .*model: .*found 3"),
    "a call": (lambda b: invoke(3, {}, {}), "The call of a component .*component: .*found 3"),
    "an emit": (lambda b: emit("a", "b", mode="often"), "The emit .*mode: .*'replace', .*found 'often'"),
    "a loop": (
        lambda b: loop([STEP], continue_when="a", max_iterations=3, carried={}),
        "The loop .*max_iterations: .*found 3",
    ),
    "a branch": (lambda b: branch(None, {"1": STEP}), "The branch .*predicate: field required; found"),
    "a sequence": (lambda b: sequence(3), "The sequence of steps .*steps.0: .*found 3"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_no_document_can_hold(case: str) -> None:
    make, said = BAD[case]
    with pytest.raises(ArgumentError, match=said):
        make(WorkflowBuilder())

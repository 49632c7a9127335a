"""The way from the library's complaints to places of the document."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.metadata.edits import at, put
from tests.unit.metadata.fixtures import base
from workbench.metadata import validate
from workbench.metadata.document.ports import OnnxImplementation
from workbench.metadata.document.steps import InvokeStep, LoopStep
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.document.workflow import RequestSource
from workbench.metadata.parsing import model_at

W = ("pipeline", "workflow")


@pytest.mark.parametrize(
    ("place", "value", "where"),
    [
        # A key, a port or a case called like the kind beside it.
        ("steps[0].steps[0].invoke", 1, "pipeline.workflow.steps[0].steps[0].invoke"),
        ("steps[0].steps[0].inputs", {"kind": "x", "x": 3}, "pipeline.workflow.steps[0].steps[0].inputs.x"),
        ("steps[0].steps[0].outputs", {"kind": 3}, "pipeline.workflow.steps[0].steps[0].outputs.kind"),
        ("comp.lm.ports.roles", {"kind": "nobody"}, "pipeline.workflow.components.lm.ports.roles.kind"),
        ("steps[0].steps[0]", {"kind": "branch", "predicate": "x", "cases": {"branch": {"kind": "x"}}},
         "pipeline.workflow.steps[0].steps[0].cases.branch.kind"),
        ("in.mask.default", [1, {}], "pipeline.workflow.inputs.mask.default[1]"),
        ("preprocessing", {"image": {"outputs": [], "transforms": [{"op": "x", "size": {"width": 1}}]}},
         "preprocessing.image.transforms[0].size.height"),
    ],
)  # fmt: skip
def test_a_complaint_leads_to_its_place(place: str, value: Any, where: str) -> None:
    data = base("dec")
    put(place, value)(data)
    assert where in [d.where for d in validate(data)], validate(data)


def test_one_place_is_told_once() -> None:
    data = base("dec")
    at(data, "in.prompt.contract")["shape"] = [{}, -1, "", 2.5, True]
    found = validate(data)
    assert [(d.rule, d.path[-1]) for d in found] == [(7, 0), (8, 1), (9, 2), (7, 3), (7, 4)]


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ((*W, "steps", 0), LoopStep), ((*W, "steps", 0, "steps", 1), InvokeStep),
        ((*W, "inputs", "prompt", "source"), RequestSource), ((*W, "inputs", "prompt", "contract"), TensorContract),
        ((*W, "components", "lm", "implementation"), OnnxImplementation), ((*W, "inputs"), None),
        ((*W, "nothing"), None), ((*W, "steps", 99), None),
    ],
)  # fmt: skip
def test_the_model_of_a_place(path: tuple[str | int, ...], model: type | None) -> None:
    assert model_at(base("dec"), path) is model


def test_a_hint_names_the_closest_key() -> None:
    data = base("dec")
    at(data, "steps[0]")["continue_wen"] = "active"
    (found,) = validate(data)
    assert found.hint.startswith("Did you mean 'continue_when'? Known here: carried, continue_when,")

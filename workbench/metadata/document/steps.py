"""The five kinds of step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from workbench.metadata.document.base import Closed, Uint
from workbench.metadata.document.tensor import TensorContract


class SequenceStep(Closed):
    kind: Literal["sequence"]
    steps: tuple[Step, ...]


class InvokeStep(Closed):
    kind: Literal["invoke"]
    component: str
    inputs: Mapping[str, str] = {}
    outputs: Mapping[str, str] = {}


class Iteration(Closed):
    value: str
    contract: TensorContract


class Carry(Closed):
    """A state cell that a loop takes along: from its initializer or ``initial``, then ``next`` of each round."""

    cell: str
    initial: str | None = None
    next: str


class LoopStep(Closed):
    kind: Literal["loop"]
    setup: tuple[Step, ...] = ()
    steps: tuple[Step, ...]
    continue_when: str
    max_iterations: str
    termination: Literal["predicate", "generation_eos"] = "predicate"
    iteration: Iteration | None = None
    carried: tuple[Carry, ...] = ()


class BranchOutput(Closed):
    cases: Mapping[str, str]
    default: str | None = None


class BranchStep(Closed):
    kind: Literal["branch"]
    predicate: str
    cases: Mapping[str, Step]
    default: Step | None = None
    outputs: Mapping[str, BranchOutput] = {}


class EmitStep(Closed):
    kind: Literal["emit"]
    value: str
    when: str | None = None
    valid_length: str | None = None
    output: str
    mode: Literal["replace", "append", "event"]
    axis: Uint | None = None


Step = Annotated[SequenceStep | InvokeStep | LoopStep | BranchStep | EmitStep, Field(discriminator="kind")]

# These name Step before it is there.
for _model in (SequenceStep, LoopStep, BranchStep):
    _model.model_rebuild()

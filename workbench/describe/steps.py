"""The five kinds of step, made with only what is said of them: an absent word and its default are two documents.

Words of another type than a document has are an ``ArgumentError``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from workbench.describe.written import written
from workbench.metadata.document.steps import (
    BranchOutput,
    BranchStep,
    Carry,
    EmitStep,
    InvokeStep,
    Iteration,
    LoopStep,
    SequenceStep,
)
from workbench.metadata.document.tensor import TensorContract

AnyStep = InvokeStep | LoopStep | BranchStep | EmitStep | SequenceStep


def given(**words: Any) -> dict[str, Any]:
    """What was said: everything but None and empty lists and mappings."""
    return {word: value for word, value in words.items() if value is not None and value not in ((), {})}


@written("The call of a component")
def invoke(component: str, inputs: Mapping[str, str], outputs: Mapping[str, str]) -> InvokeStep:
    """One call: values by input port, names of the values made by output port."""
    return InvokeStep(**given(kind="invoke", component=component, inputs=dict(inputs), outputs=dict(outputs)))


@written("The emit")
def emit(
    value: str,
    output: str,
    *,
    mode: Literal["replace", "append", "event"] = "replace",
    when: str | None = None,
    valid_length: str | None = None,
    axis: int | None = None,
) -> EmitStep:
    """A value for the caller."""
    return EmitStep(
        **given(kind="emit", value=value, when=when, valid_length=valid_length, output=output, mode=mode, axis=axis)
    )


@written("The loop")
def loop(
    steps: Iterable[AnyStep],
    *,
    continue_when: str,
    max_iterations: str,
    carried: Mapping[str, str] | Iterable[Carry],
    setup: Iterable[AnyStep] = (),
    termination: Literal["predicate", "generation_eos"] = "predicate",
    iteration: tuple[str, TensorContract] | None = None,
) -> LoopStep:
    """A loop; ``carried`` maps a cell to the value of the body that is its next one."""
    carries = [Carry(cell=c, next=n) for c, n in carried.items()] if isinstance(carried, Mapping) else list(carried)
    counter = Iteration(value=iteration[0], contract=iteration[1]) if iteration else None
    words = given(setup=tuple(setup), iteration=counter, carried=tuple(carries))
    return LoopStep(
        kind="loop", steps=tuple(steps), continue_when=continue_when, max_iterations=max_iterations,
        termination=termination, **words,
    )  # fmt: skip


@written("The branch")
def branch(
    predicate: str,
    cases: Mapping[str, AnyStep],
    *,
    default: AnyStep | None = None,
    outputs: Mapping[str, tuple[Mapping[str, str], str | None]] | None = None,
) -> BranchStep:
    """A choice; ``outputs`` maps a new value to its source per case, and to that of the default."""
    made = {
        name: BranchOutput(**given(cases=dict(sources), default=otherwise))
        for name, (sources, otherwise) in (outputs or {}).items()
    }
    return BranchStep(**given(kind="branch", predicate=predicate, cases=dict(cases), default=default, outputs=made))


@written("The sequence of steps")
def sequence(*steps: AnyStep) -> SequenceStep:
    """Steps in their order, as one."""
    return SequenceStep(kind="sequence", steps=steps)


__all__ = ["AnyStep", "branch", "emit", "given", "invoke", "loop", "sequence"]

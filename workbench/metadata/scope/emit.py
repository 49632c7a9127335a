"""An emit: a value, or as much of it as is valid, into an output."""

from __future__ import annotations

from workbench.metadata.diagnostic import Path
from workbench.metadata.document.steps import EmitStep
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.scope.compare import axes_that_differ, is_count, is_flag, is_single, kinds_differ, ranks, shown
from workbench.metadata.scope.names import Draft
from workbench.metadata.scope.walk import Walk
from workbench.metadata.wording import few, q

_CORRECT = "Emit another value, or correct one of the two contracts."


def emit(walk: Walk, step: EmitStep, path: Path) -> None:
    value = walk.read(step.value, (*path, "value"), path, "emit", 224, "is emitted, and nothing defines it before.")
    _guard(walk, step, path, value)
    _length(walk, step, path, value)
    output = walk.workflow.outputs.get(step.output)
    if output is None:
        message = f"The workflow has no output {q(step.output)}."
        walk.tell(228, (*path, "output"), message, f"It has {few(walk.workflow.outputs)}.")
    elif value is not None and value.contract is not None:
        compare = _whole if step.valid_length is None else _prefix
        compare(walk, path, value.name, value.contract, step.output, output.contract)


def _guard(walk: Walk, step: EmitStep, path: Path, value: Draft | None) -> None:
    place = (*path, "when")
    draft = walk.read(step.when, place, path, "when") if step.when is not None else None
    if draft is not None and not is_flag(draft.contract):
        message = f"{q(draft.name)} says whether to emit, and is {shown(draft.contract)}."
        walk.tell(225, place, message, "Take a bool, one or one per request.")
    elif draft is not None:
        _by_request(walk, place, value, draft)


def _length(walk: Walk, step: EmitStep, path: Path, value: Draft | None) -> None:
    place = (*path, "valid_length")
    draft = walk.read(step.valid_length, place, path, "valid_length") if step.valid_length is not None else None
    if draft is not None and not is_count(draft.contract):
        message = f"{q(draft.name)} says how much to emit, and is {shown(draft.contract)}."
        walk.tell(226, place, message, "Take whole numbers, one or one per request.")
    elif draft is not None:
        _by_request(walk, place, value, draft)


def _by_request(walk: Walk, path: Path, value: Draft | None, control: Draft) -> None:
    """What is decided for each request needs a value that has, and says so, an entry for each."""
    if value is None or is_single(control.contract):
        return
    if value.contract is None or value.contract.request_axis is None:
        message = f"{q(control.name)} has an entry per request, and {q(value.name)} is emitted, whose layout is "
        message += f"{value.contract.batch_layout.kind if value.contract else 'not declared'}."
        walk.tell(227, path, message, "Make the value request_aligned, or decide for all requests at once.")


def _whole(
    walk: Walk, path: Path, name: str, given: TensorContract, output: str, wanted: TensorContract
) -> None:  # fmt: skip
    if kinds_differ(given, wanted):
        message = f"{q(name)} is {shown(given)}, and the output {q(output)} is {shown(wanted)}."
        walk.tell(229, (*path, "value"), message, _CORRECT)
    for axis, x, y in axes_that_differ(given, wanted):
        message = f"{q(name)} has {x} entries on axis {axis}, and the output {q(output)} has {y}."
        walk.tell(229, (*path, "value"), message, _CORRECT)


def _prefix(walk: Walk, path: Path, name: str, given: TensorContract, output: str, wanted: TensorContract) -> None:
    """A prefix is one of the last axis, whatever axis the step names."""
    if max(ranks(given)) == 0 or max(ranks(wanted)) == 0:
        message = f"A part of {q(name)} is emitted, and it or the output {q(output)} has no axis to take it of."
        walk.tell(230, (*path, "valid_length"), message, "Remove valid_length, or give both a rank of at least 1.")
    elif kinds_differ(given, wanted):
        message = f"{q(name)} is {shown(given)}, and the output {q(output)} is {shown(wanted)}."
        walk.tell(231, (*path, "value"), message, _CORRECT)
    else:
        for axis, x, y in axes_that_differ(given, wanted, (wanted.rank - 1,)):
            message = f"{q(name)} has {x} entries on axis {axis}, and the output {q(output)} has {y}."
            walk.tell(232, (*path, "value"), message, _CORRECT)

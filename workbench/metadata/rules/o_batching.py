"""Group O: how the requests of a batch lie in what is emitted.

233, 235 and 236 look at values that the top level sees; a value of a loop's body is none of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from workbench.metadata.context import Context
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.steps import EmitStep
from workbench.metadata.document.tensor import TensorContract
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.registry import Finding, workflow_rule
from workbench.metadata.wording import q


@dataclasses.dataclass(frozen=True)
class _Emit:
    path: Path
    step: EmitStep
    value: TensorContract | None  # None where the top level does not see it
    output: TensorContract

    @property
    def ragged(self) -> bool:
        """Whether it is emitted for some requests, or up to a length for each."""
        return self.step.when is not None or self.step.valid_length is not None


def _emits(context: Context, workflow: Workflow) -> Iterator[_Emit]:
    top = context.scope.top
    for path, step in context.emits:
        output, value = workflow.outputs.get(step.output), top.get(step.value)
        if output is not None:
            yield _Emit(path, step, value.contract if value else None, output.contract)


def _mixed(context: Context, workflow: Workflow) -> dict[str, _Emit]:
    """Outputs that get values of several layouts, with the first emit that differs from those before."""
    first: dict[str, _Emit] = {}
    found: dict[str, _Emit] = {}
    for emit in _emits(context, workflow):
        if emit.value is None:
            continue
        before = first.setdefault(emit.step.output, emit)
        if before.value is not None and before.value.batch_layout != emit.value.batch_layout:
            found.setdefault(emit.step.output, emit)
    return found


@workflow_rule(233, "All that is emitted into one output has one batch layout.", lowered=True)
def _one_layout(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for name, emit in _mixed(context, workflow).items():
        message = (
            f"The output {q(name)} gets {q(emit.step.value)}, which is {_kind(emit.value)}, and values of another "
        )
        yield Finding(
            (*emit.path, "value"), message + "batch layout.", "Give them one layout, or outputs of their own."
        )


def _kind(contract: TensorContract | None) -> str:
    return contract.batch_layout.kind if contract else "unknown"


def _without_axis(emit: _Emit) -> bool:
    # A rank of 0 has no axis at all: with a length that is rule 230's matter.
    no_axis_at_all = emit.output.rank == 0 and emit.step.valid_length is not None
    return emit.ragged and emit.output.request_axis is None and not no_axis_at_all


@workflow_rule(234, "What is emitted for some requests, or up to a length, has an output with an axis of requests.",
               lowered=True)  # fmt: skip
def _ragged(context: Context, workflow: Workflow) -> Iterator[Finding]:
    for emit in _emits(context, workflow):
        if _without_axis(emit):
            field = "when" if emit.step.when is not None else "valid_length"
            message = f"The output {q(emit.step.output)} is {_kind(emit.output)}, and this emit has {field}."
            yield Finding((*emit.path, "output"), message, "Make the output request_aligned.")


def _without_requests(context: Context) -> set[Path]:
    """Emits whose value lacks an axis of requests, which rule 227 tells."""
    return {finding.path[:-1] for finding in context.scope.findings(227)}


def _differs(emit: _Emit) -> bool:
    return emit.value is not None and emit.value.batch_layout != emit.output.batch_layout


@workflow_rule(235, "An emitted value has the batch layout of its output.", lowered=True)
def _same_layout(context: Context, workflow: Workflow) -> Iterator[Finding]:
    mixed, told = _mixed(context, workflow), _without_requests(context)
    for emit in _emits(context, workflow):
        # Of several layouts one must be another than the output's: rule 233. Rules 227 and 234 ask for an axis.
        if _differs(emit) and emit.step.output not in mixed and not _without_axis(emit) and emit.path not in told:
            message = f"{q(emit.step.value)} is {_kind(emit.value)}, and the output {q(emit.step.output)} is "
            yield Finding((*emit.path, "value"), f"{message}{_kind(emit.output)}.", "Make the two the same.")


@workflow_rule(236, "A workflow that is served emits no value that all requests share, scalars apart.", lowered=True)
def _shared(context: Context, workflow: Workflow) -> Iterator[Finding]:
    told = _without_requests(context)
    for emit in _emits(context, workflow) if workflow.serving else ():
        if emit.value is None or emit.value.rank == 0 or emit.value.row_scoped:
            continue
        if not _without_axis(emit) and emit.path not in told:
            message = f"{q(emit.step.value)} is the same for all requests, and goes into {q(emit.step.output)}."
            yield Finding((*emit.path, "value"), message, "Make it request_aligned.")

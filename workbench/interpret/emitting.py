"""What a run publishes: replaced, appended or one event after the other, for each request on its own."""

from __future__ import annotations

import numpy as np

from workbench.interpret.arrays import Array, described, numpy_dtype
from workbench.interpret.contracts import check, request_axis
from workbench.interpret.diagnostic import Violation
from workbench.interpret.scoped import Scope
from workbench.metadata.document.steps import EmitStep
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.wording import q


class Outputs:
    """What has been published so far. Rows are kept without their request axis; one row where there is none."""

    def __init__(self, workflow: Workflow, requests: int) -> None:
        self.workflow, self.requests = workflow, requests
        self._rows: dict[str, list[Array | None]] = {}
        self._axes: dict[str, int | None] = {}
        self._events: dict[str, list[Array]] = {}

    def emit(self, step: EmitStep, scope: Scope) -> tuple[str, Array]:
        """Publish a value; a word on what was published, and the output so far of the first request that has any.

        Raises:
            Violation: run.predicate, run.valid-length, run.emit, or the contract of the output is broken.
        """
        held = scope.read(step.value)
        contract = held.contract or self.workflow.outputs[step.output].contract
        axis = request_axis(contract, held.array)
        rows = [held.array] if axis is None else [np.take(held.array, i, axis) for i in range(held.array.shape[axis])]
        wanted, lengths = self._wanted(step, scope, len(rows)), self._lengths(step, scope, len(rows), held.array)
        self._fits(step, held.array)
        parts = [row if size is None else _prefix(row, size) for row, size in zip(rows, lengths, strict=True)]
        live = [row for row, take in enumerate(wanted) if take]
        self._publish(step, held.array, axis, parts, live)
        return f"{step.mode} {len(live)} of {len(rows)}" if axis is not None else step.mode, held.array

    def result(self) -> dict[str, Array | tuple[Array, ...]]:
        """Every output that was published, requests stacked where they have one shape."""
        found: dict[str, Array | tuple[Array, ...]] = {}
        for name in self.workflow.outputs:
            if name in self._events:
                found[name] = tuple(self._events[name])
            elif name in self._rows:
                found[name] = self._joined(name)
        return found

    # --- controls -------------------------------------------------------------------------------------------
    def _wanted(self, step: EmitStep, scope: Scope, rows: int) -> list[bool]:
        if step.when is None:
            return [True] * rows
        array = scope.read(step.when).array
        if array.dtype != np.bool_ or array.ndim > 1 or array.size not in (1, rows):
            raise Violation(
                "run.predicate",
                f"{q(step.when)} says whether to emit {q(step.value)}, and is "
                f"{described(array)}; a bool, one or one per request ({rows}), is taken.",
                "Correct what makes it.",
                step.when,
            )
        return [bool(x) for x in np.broadcast_to(array.reshape(-1), (rows,))]

    def _lengths(self, step: EmitStep, scope: Scope, rows: int, value: Array) -> list[int | None]:
        if step.valid_length is None:
            return [None] * rows
        array = scope.read(step.valid_length).array
        if array.dtype.kind not in "iu" or array.ndim > 1 or array.size not in (1, rows):
            raise Violation(
                "run.valid-length",
                f"{q(step.valid_length)} says how much of {q(step.value)} to emit, and "
                f"is {described(array)}; whole numbers, one or one per request ({rows}), are taken.",
                "Correct what makes it.",
                step.valid_length,
            )
        found = [int(x) for x in np.broadcast_to(array.reshape(-1), (rows,))]
        most = value.shape[-1] if value.ndim else 0
        for row, size in enumerate(found):
            if not 0 <= size <= most:
                raise Violation(
                    "run.valid-length",
                    f"{q(step.valid_length)} is {size} for request {row}, and {q(step.value)} has "
                    f"{most} entries on its last axis.",
                    "Give a length from 0 to that.",
                    step.valid_length,
                )
        return list(found)

    def _fits(self, step: EmitStep, value: Array) -> None:
        contract = self.workflow.outputs[step.output].contract
        free = {value.ndim - 1} if step.valid_length is not None else set()
        check(value, contract, f"{q(step.value)}, emitted as {q(step.output)},", step.value, None, free, self.requests)

    # --- rows -----------------------------------------------------------------------------------------------
    def _publish(self, step: EmitStep, value: Array, axis: int | None, parts: list[Array], live: list[int]) -> None:
        if step.mode == "event":
            whole = len(live) == len(parts) and step.valid_length is None
            self._events.setdefault(step.output, []).extend([value] if whole else [parts[row] for row in live])
            return
        held = self._rows.setdefault(step.output, [None] * len(parts))
        self._axes.setdefault(step.output, axis)
        if len(held) != len(parts):
            raise Violation(
                "run.rows",
                f"{q(step.output)} has {len(held)} requests so far, and {q(step.value)} has {len(parts)}.",
                "One entry per request must come out of each step.",
                step.value,
            )
        for row in live:
            held[row] = (
                parts[row].copy() if step.mode == "replace" else self._longer(step, value, axis, held[row], parts[row])
            )

    def _longer(self, step: EmitStep, value: Array, axis: int | None, before: Array | None, more: Array) -> Array:
        """A row with more behind it: on the axis of growth, the last without another word."""
        growth = value.ndim - 1 if step.axis is None else step.axis
        if more.ndim == 0:
            more, at = more.reshape(1), 0
        elif growth == axis or growth >= value.ndim:
            raise Violation(
                "run.emit",
                f"{q(step.value)} is {described(value)}, and cannot grow on axis {growth}.",
                "Name an axis that is not the one of the requests.",
                step.value,
            )
        else:
            at = growth - (axis is not None and axis < growth)
        if before is None:
            return more.copy()
        others = [(a, b) for i, (a, b) in enumerate(zip(before.shape, more.shape, strict=False)) if i != at]
        if before.ndim != more.ndim or any(a != b for a, b in others) or before.dtype != more.dtype:
            raise Violation(
                "run.emit",
                f"{q(step.output)} holds {described(before)} for a request, and "
                f"{described(more)} cannot be put behind it.",
                "Emit values of one kind.",
                step.value,
            )
        return np.concatenate([before, more], axis=at)

    def _joined(self, name: str) -> Array | tuple[Array, ...]:
        rows, axis = self._rows[name], self._axes[name]
        contract = self.workflow.outputs[name].contract
        shown = next((row for row in rows if row is not None), None)
        empty = np.zeros((0,) if shown is None else (0,) * shown.ndim, numpy_dtype(contract.dtype))
        arrays = [empty if row is None else row for row in rows]
        if axis is None:
            return arrays[0]
        if len({(array.shape, array.dtype) for array in arrays}) > 1:
            return tuple(arrays)
        return np.stack(arrays, axis=min(axis, arrays[0].ndim))


def _prefix(row: Array, size: int) -> Array:
    return row[..., :size] if row.ndim else row.reshape(1)[:size]

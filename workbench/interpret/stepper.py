"""Going through a run step by step, forth and back, and to where a step or a value of interest is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from workbench.errors import unknown
from workbench.interpret.arrays import Array
from workbench.interpret.trace import Trace, TraceStep, WorkflowRun
from workbench.interpret.values import TracedValue

if TYPE_CHECKING:
    from workbench.interpret.machine import Machine


class WorkflowStepper:
    """A run that stands at one record of its trace.

    ``step`` runs the next step, ``run_until`` goes on to a breakpoint, ``back`` and ``forward`` move over what has run
    already: nothing is run twice. ``position`` is -1 before the first record. A context manager: leaving it frees the
    loaded graphs.

    Made by :func:`workbench.interpret.stepper`.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._records: Iterator[TraceStep] | None = None
        self._trace: list[TraceStep] = []
        self.position = -1

    @property
    def current(self) -> TraceStep | None:
        """The record it stands at; None before the first."""
        return self._trace[self.position] if self.position >= 0 else None

    @property
    def finished(self) -> bool:
        """Whether nothing is left to be run; ``position`` may still be anywhere."""
        return self._machine.status != "running"

    @property
    def trace(self) -> Trace:
        """All that has run so far, wherever it stands."""
        return Trace(self._trace)

    @property
    def run(self) -> WorkflowRun:
        """What the run has given so far."""
        return self._machine.result(self.trace)

    def step(self) -> TraceStep | None:
        """The next record: run if it has not been; None at the end."""
        if self.position + 1 < len(self._trace):
            return self.forward()
        record = self._advance()
        if record is not None:
            self.position += 1
        return record

    def back(self) -> TraceStep | None:
        """One record back; None where it stands at the first already."""
        if self.position <= 0:
            return None
        self.position -= 1
        return self.current

    def forward(self) -> TraceStep | None:
        """One record forth over what has run; None at the last of it."""
        if self.position + 1 >= len(self._trace):
            return None
        self.position += 1
        return self.current

    def go_to(self, index: int) -> TraceStep:
        """Stand at a record that has run.

        Raises:
            UnknownNameError: there is no such record (yet).
        """
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(self._trace):
            raise unknown("record", index, [f"0 to {len(self._trace) - 1}"] if self._trace else [])
        self.position = index
        return self._trace[index]

    def run_until(
        self,
        breakpoint: str,
        *,
        iteration: int | tuple[int, ...] | None = None,
        when: Callable[[Array], object] | None = None,
    ) -> TraceStep | None:
        """Go on to the next record of a step, or to the next that makes a value; None where the run ends before.

        ``breakpoint`` is a step's path (``pipeline.workflow.steps.nodes[0].body.nodes[1]``) or the name of a value.
        ``iteration`` is the round of the innermost loop, or of all loops around it. ``when`` looks at the array of the
        value and says whether to stop; a value too large to be kept is looked at by none, and stops.

        Raises:
            UnknownNameError: the workflow has no such step and no such value.
        """
        self._machine.check_breakpoint(breakpoint)
        while (record := self.step()) is not None:
            if _hits(record, breakpoint, when) and _in_round(record, iteration):
                return record
        return None

    def finish(self) -> WorkflowRun:
        """Run to the end. Ctrl-C ends the run where it is; what it has given stays."""
        try:
            while self._advance() is not None:
                pass
        except KeyboardInterrupt:  # between two records; in one of them the machine takes it
            self._machine.interrupt()
            self._records = iter(())
        self.position = len(self._trace) - 1
        return self.run

    @property
    def values(self) -> dict[str, TracedValue]:
        """Every value that can be seen from where it stands, by name, in the order of their definition."""
        here = self.current
        if here is None:
            return {}
        found: dict[str, TracedValue] = {}
        for record in self._trace[: self.position + 1]:
            if _sees(here, record):
                found.update({one.value.name: one.value for one in record.writes})
        return found

    def value(self, name: str) -> TracedValue:
        """A value as it is where it stands.

        Raises:
            UnknownNameError: nothing of that name can be seen from there.
        """
        values = self.values
        if name not in values:
            raise unknown("value", name, values, "Only what has been made, and can be seen here, has a value.")
        return values[name]

    def close(self) -> None:
        """Free the loaded graphs. What has run stays."""
        self._machine.close()

    def _advance(self) -> TraceStep | None:
        if self._records is None:
            self._records = self._machine.records()
        record = next(self._records, None)
        if record is not None:
            self._trace.append(record)
        return record

    def __enter__(self) -> WorkflowStepper:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        where = "before the first record" if self.current is None else repr(self.current)
        return f"WorkflowStepper(at {where}; {len(self._trace)} run, {self._machine.status})"

    def _repr_html_(self) -> str:
        from workbench.analysis.markup import block, escape
        from workbench.metadata.analyses.tables import as_html

        rows = [value.row() for value in self.values.values()]
        return block(
            "Workflow stepper",
            f"<p>{escape(self)}</p>",
            as_html("Values", ("value", "dtype", "shape", "elements"), rows),
        )

    def to_frame(self) -> Any:
        """The values where it stands, a row each."""
        import pandas as pd

        columns = ["value", "dtype", "shape", "elements", "low", "high", "mean", "non_finite", "kept"]
        return pd.DataFrame([value.row() for value in self.values.values()], columns=columns)


def _hits(record: TraceStep, breakpoint: str, when: Callable[[Array], object] | None) -> bool:
    if record.path == breakpoint:
        return when is None or any(_wanted(one.value, when) for one in record.writes)
    made = [one.value for one in record.writes if one.value.name == breakpoint]
    return any(when is None or _wanted(value, when) for value in made)


def _wanted(value: TracedValue, when: Callable[[Array], object]) -> bool:
    return value.array is None or bool(when(value.array))


def _in_round(record: TraceStep, iteration: int | tuple[int, ...] | None) -> bool:
    if iteration is None:
        return True
    wanted = iteration if isinstance(iteration, tuple) else (iteration,)
    return record.iteration[-len(wanted) :] == wanted


def _sees(here: TraceStep, record: TraceStep) -> bool:
    """Whether what a record made is visible at another one: in a scope, and a round, around it."""
    inside = here.scope[: len(record.scope)] == record.scope
    return inside and here.iteration[: len(record.iteration)] == record.iteration

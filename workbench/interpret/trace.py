"""The record of a run: what each step read and made, in the order in which they ran."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from workbench.analysis.markup import block, escape, plural
from workbench.errors import unknown
from workbench.interpret.arrays import Array, sizes
from workbench.interpret.diagnostic import RunDiagnostic
from workbench.interpret.values import TracedValue
from workbench.metadata.analyses.tables import Table, as_html
from workbench.metadata.diagnostic import Path

StepKind = Literal["inputs", "invoke", "enter", "test", "carry", "leave", "branch", "join", "emit"]
"""What a record is about: the inputs of the run; a call; a loop that is entered (its cells start), whose condition is
tested, whose round ends (its cells are carried), that is left; a case that is chosen, what leaves it; an emit."""
Status = Literal["running", "done", "failed", "stopped", "interrupted"]


@dataclasses.dataclass(frozen=True, eq=False)
class Traced:
    """A value as a step met it: ``port`` is what the step calls it (a port, ``when``, a cell), ``note`` says where it
    came from when that is not the value of the document's name.
    """

    port: str
    value: TracedValue
    note: str = ""


@dataclasses.dataclass(frozen=True, eq=False)
class TraceStep:
    """One record.

    ``path`` names the step (``pipeline.workflow.steps.nodes[0].body.nodes[1]``; ``pipeline.workflow.inputs`` for the
    first record), ``place`` is where it stands in the document, ``iteration`` the rounds of the loops around it, the
    outermost first. ``reads`` and ``writes`` are in the order of the document. ``scope`` is the list of steps, or the
    case, that sees what it writes: in this round, and in what is inside of it.
    """

    index: int
    path: str
    place: Path
    kind: StepKind
    title: str
    iteration: tuple[int, ...] = ()
    reads: tuple[Traced, ...] = ()
    writes: tuple[Traced, ...] = ()
    diagnostics: tuple[RunDiagnostic, ...] = ()
    seconds: float = 0.0
    component: str = ""
    scope: Path = ()

    def __repr__(self) -> str:
        rounds = f" round {'.'.join(map(str, self.iteration))}" if self.iteration else ""
        wrong = f", {plural(len(self.diagnostics), 'diagnostic')}" if self.diagnostics else ""
        return f"TraceStep({self.index}: {self.path}{rounds} {self.title}{wrong})"

    def to_frame(self) -> Any:
        """A row for each value that it read or made."""
        return Trace((self,)).to_frame()

    def _repr_html_(self) -> str:
        rows = _rows(self)
        found = "".join(f"<li>{escape(one)}</li>" for one in self.diagnostics)
        shown = as_html(repr(self), ("direction", "port", "value", "elements", "note"), rows)
        return block(self.title, shown, f"<ul>{found}</ul>" if found else "")

    @property
    def failed(self) -> bool:
        """Whether the run could not go on after it."""
        return any(found.severity == "error" for found in self.diagnostics)


class Trace(tuple[TraceStep, ...], Table):
    """All records of a run, in order."""

    COLUMNS = ("index", "path", "iteration", "kind", "title", "direction", "port", "value", "elements", "note")
    LINES = ("index", "round", "step", "title", "in", "out")

    def rows(self) -> list[dict[str, Any]]:
        """A row for each value that a step read or made; one without a value for a step with none."""
        return [row for step in self for row in _rows(step)]

    def lines(self) -> list[dict[str, Any]]:
        """A row for each record: index, round, step, title, and the first few values that it read and made."""
        return [
            {
                "index": step.index, "round": ".".join(map(str, step.iteration)),
                "step": step.path.removeprefix("pipeline.workflow."), "title": step.title,
                "in": _first_of(step.reads), "out": _first_of(step.writes),
            }
            for step in self
        ]  # fmt: skip

    def at(self, path: str) -> Trace:
        """The records of one step, over all rounds."""
        return Trace(step for step in self if step.path == path)

    def value(self, name: str) -> tuple[TracedValue, ...]:
        """Every value that a name had, in the order in which they were made."""
        return tuple(made.value for step in self for made in step.writes if made.value.name == name)

    def __repr__(self) -> str:
        return f"Trace({plural(len(self), 'record')})"

    __str__ = __repr__


def _first_of(met: tuple[Traced, ...], most: int = 2) -> str:
    more = f"; {len(met) - most} more" if len(met) > most else ""
    return "; ".join(f"{one.port} {one.value.text}" for one in met[:most]) + more


def _rows(step: TraceStep) -> list[dict[str, Any]]:
    about = {
        "index": step.index, "path": step.path, "iteration": ".".join(map(str, step.iteration)), "kind": step.kind,
        "title": step.title,
    }  # fmt: skip
    sides = [("in", one) for one in step.reads] + [("out", one) for one in step.writes]
    if not sides:
        return [about | {"direction": "", "port": "", "value": "", "elements": "", "note": ""}]
    return [
        about | {"direction": side, "port": one.port, "value": one.value.name, "elements": one.value.text,
                 "note": one.note}
        for side, one in sides
    ]  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class WorkflowRun:
    """What a run gave. ``outputs`` maps each output that was published to its array; to a tuple of arrays, one a
    request, where they differ in length; or to the tuple of its events.

    ``status``: done; failed (an error of ``diagnostics`` says at which step); stopped by a limit; interrupted; running
    (a stepper that has not come to the end). Everything up to there is in ``trace``.
    """

    outputs: Mapping[str, Array | tuple[Array, ...]]
    trace: Trace
    diagnostics: tuple[RunDiagnostic, ...]
    status: Status
    seed: int
    sampling: str
    token_output: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "outputs", MappingProxyType(dict(self.outputs)))

    @property
    def ok(self) -> bool:
        """Whether it came to its end without an error."""
        return self.status == "done"

    @property
    def tokens(self) -> tuple[tuple[int, ...], ...]:
        """The token ids that were published for each request; nothing where no output holds tokens."""
        found = self.outputs.get(self.token_output)
        return () if found is None else tuple(tuple(int(x) for x in row.reshape(-1)) for row in found)

    def value(self, name: str, iteration: tuple[int, ...] | None = None) -> TracedValue:
        """The last value that a name had, or the last it had in a round (of all loops around, the outermost first).

        Raises:
            UnknownNameError: no step made it, or not in that round.
        """
        made = [(step.iteration, one.value) for step in self.trace for one in step.writes if one.value.name == name]
        found = [value for at, value in made if iteration is None or at == iteration]
        if not found:
            if made:
                raise unknown(f"round of {name!r}", iteration, dict.fromkeys(str(at) for at, _ in made))
            raise unknown("value", name, {one.value.name for step in self.trace for one in step.writes})
        return found[-1]

    def to_frame(self) -> Any:
        """A row for each value that a step read or made."""
        return self.trace.to_frame()

    def __repr__(self) -> str:
        made = ", ".join(f"{name} {_said(value)}" for name, value in self.outputs.items()) or "nothing published"
        found = "".join(f"\n  {one}" for one in self.diagnostics[:20])
        return f"WorkflowRun({self.status}: {made}; {plural(len(self.trace), 'record')}; {self.sampling}){found}"

    def _repr_html_(self) -> str:
        found = "".join(f"<li>{escape(one)}</li>" for one in self.diagnostics)
        head = f"<p>{escape(repr(self).splitlines()[0])}</p>" + (f"<ul>{found}</ul>" if found else "")
        return block("Workflow run", head, Trace(self.trace[:200])._repr_html_())


def _said(value: Array | tuple[Array, ...]) -> str:
    return f"{len(value)} arrays" if isinstance(value, tuple) else sizes(value.shape)

"""Records while they are being made, and how much of each value there is room for."""

from __future__ import annotations

import dataclasses
import time

from workbench.errors import Severity
from workbench.interpret.arrays import Array
from workbench.interpret.diagnostic import RunDiagnostic, Violation
from workbench.interpret.limits import Limits
from workbench.interpret.scoped import Scope
from workbench.interpret.trace import StepKind, Traced, TraceStep
from workbench.interpret.values import TracedValue, traced
from workbench.metadata.diagnostic import Path


@dataclasses.dataclass(frozen=True)
class At:
    """A step: its place in the document, and its path in the words of the reference."""

    place: Path
    path: str

    def child(self, place: Path, word: str) -> At:
        return At((*self.place, *place), f"{self.path}.{word}")


class Keeper:
    """Keeps values while there is room. An array that several records show is kept once."""

    def __init__(self, limits: Limits) -> None:
        self.limits, self.bytes = limits, 0
        self._known: dict[tuple[int, str], tuple[Array, TracedValue]] = {}

    def value(self, name: str, array: Array) -> TracedValue:
        found = self._known.get((id(array), name))
        if found is not None and found[0] is array:
            return found[1]
        keep = array.nbytes <= self.limits.value_bytes and self.bytes + array.nbytes <= self.limits.kept_bytes
        self.bytes += array.nbytes if keep else 0
        made = traced(name, array, keep)
        self._known[(id(array), name)] = (array, made)
        return made

    def forget(self) -> None:
        """Let go of the arrays of the last round: what the trace keeps are copies."""
        self._known.clear()


class Draft:
    """One record on its way."""

    def __init__(self, keeper: Keeper, kind: StepKind, at: At, title: str, scope: Scope, component: str = "") -> None:
        self.keeper, self.kind, self.at, self.title = keeper, kind, at, title
        self.iteration, self.scope, self.component = scope.iteration, scope.place, component
        self.reads: list[Traced] = []
        self.writes: list[Traced] = []
        self.found: list[RunDiagnostic] = []
        self._began = time.perf_counter()

    def read(self, port: str, name: str, array: Array, note: str = "") -> None:
        self.reads.append(Traced(port, self.keeper.value(name or port, array), note))

    def write(self, port: str, name: str, array: Array, note: str = "") -> None:
        self.writes.append(Traced(port, self.keeper.value(name, array), note))

    def tell(self, found: Violation, severity: Severity = "error") -> None:
        at = self.at
        self.found.append(RunDiagnostic(
            found.code, severity, found.message, at.path, found.hint, at.path, at.place, self.iteration, found.value
        ))  # fmt: skip

    def done(self, index: int) -> TraceStep:
        return TraceStep(
            index, self.at.path, self.at.place, self.kind, self.title, self.iteration, tuple(self.reads),
            tuple(self.writes), tuple(self.found), time.perf_counter() - self._began, self.component, self.scope,
        )  # fmt: skip

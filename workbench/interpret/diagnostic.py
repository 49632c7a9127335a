"""What can be wrong while a workflow runs: a stable code for each, and the step where it was found."""

from __future__ import annotations

import dataclasses

from workbench import errors
from workbench.metadata.diagnostic import Path

CODES: dict[str, str] = {
    "run.input": "An input of the workflow is missing, or does not fit its contract.",
    "run.dtype": "A value has another element type than its contract says.",
    "run.rank": "A value has another number of axes than its contract says.",
    "run.dimension": "An axis has another size than the number its contract fixes.",
    "run.symbol": "One symbol stands for two sizes within one call.",
    "run.missing-output": "A component did not give an output that the step reads from it.",
    "run.component": "A component failed, or cannot be run here.",
    "run.invariant": "A carried cell that is invariant changed its shape.",
    "run.growth": "A growing axis did not grow by what it must.",
    "run.beyond-max": "A growing or bounded axis is longer than its maximum.",
    "run.rows": "The number of requests changed from one round to the next.",
    "run.scatter": "A place to write at lies outside the capacity of its buffer.",
    "run.predicate": "What decides about a loop, a branch or an emit is no flag or number that it may be.",
    "run.case": "A branch has no case, and no default, for the value of its predicate.",
    "run.loop-bound": "A loop has more rounds than the document or the limits of the run allow.",
    "run.valid-length": "An emit is told to publish more than there is, or less than nothing.",
    "run.emit": "An emitted value does not fit what its output holds already.",
    "run.non-finite": "NaN or Inf came out of a component.",
    "run.ignored": "The document says something that this run does not follow.",
    "run.undefined": "A step reads a value that no step before it made.",
    "run.limit": "The run stopped at a limit of its own.",
    "run.interrupted": "The run was interrupted.",
}
"""Every code of a run's diagnostics, and what it means."""


@dataclasses.dataclass(frozen=True)
class RunDiagnostic(errors.Diagnostic):
    """One finding of a run.

    ``step`` is the path of the step (``pipeline.workflow.steps.nodes[0].body.nodes[1]``), ``place`` where it stands in
    the document, ``iteration`` the rounds of the loops around it (the outermost first; the first is 0), ``value`` the
    name of the value it is about.
    """

    step: str = ""
    place: Path = ()
    iteration: tuple[int, ...] = ()
    value: str = ""

    @property
    def sentence(self) -> str:
        """What the code means in general."""
        return CODES[self.code]

    def __str__(self) -> str:
        rounds = f", round {'.'.join(map(str, self.iteration))}" if self.iteration else ""
        hint = f" Hint: {self.hint}" if self.hint else ""
        return f"{self.severity} {self.code} [{self.step}{rounds}]: {self.message}{hint}"


class Violation(Exception):
    """Raised inside the interpreter where a step cannot go on; it becomes a diagnostic of that step."""

    def __init__(self, code: str, message: str, hint: str = "", value: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.hint, self.value = code, message, hint, value

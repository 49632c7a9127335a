"""Where a pipeline stands: a frozen picture of its steps, for text, tables and views."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

from workbench.analysis.markup import block, escape, table
from workbench.steps.choices import Choices

if TYPE_CHECKING:
    import pandas as pd

State = Literal["not run", "running", "done", "stale", "failed"]
"""``stale``: a choice or an earlier step has changed since. ``failed``: ``problem`` says why."""

COLUMNS = ["step", "state", "seconds", "size", "says"]


@dataclasses.dataclass(frozen=True, eq=False)
class StepState:
    """One step: what became of it, how long it took, how much it made, what it reports, and its Python."""

    name: str
    title: str
    does: str
    state: State
    seconds: float | None
    size: str
    reports: tuple[Any, ...]
    problem: str
    code: str

    @property
    def says(self) -> str:
        """The first line of each report, or what went wrong."""
        return self.problem or "; ".join(repr(report).split("\n")[0] for report in self.reports)


@dataclasses.dataclass(frozen=True, eq=False)
class PipelineState:
    """All steps at one moment, with the choices of that moment.

    Text and HTML leave times out, so that they are the same each time; ``to_frame`` has them.
    """

    choices: Choices
    steps: tuple[StepState, ...]

    def __getitem__(self, name: str) -> StepState:
        return next(step for step in self.steps if step.name == name)

    @property
    def done(self) -> int:
        """How many steps are done and not stale."""
        return sum(step.state == "done" for step in self.steps)

    def to_frame(self) -> pd.DataFrame:
        """A row per step: step, state, seconds, size, says."""
        import pandas as pd

        return pd.DataFrame([[s.name, s.state, s.seconds, s.size, s.says] for s in self.steps], columns=COLUMNS)

    @property
    def title(self) -> str:
        """The model, for whom, and how far it is."""
        dtype = f" {self.choices.dtype}" if self.choices.dtype else ""
        of = f"{model_name(self.choices.model)} for {self.choices.execution_provider}{dtype}"
        return f"Pipeline({of}: {self.done} of {len(self.steps)} steps done)"

    def __repr__(self) -> str:
        lines = [f"  {s.name:<8} {s.state:<8} {' | '.join(filter(None, (s.size, s.says)))}" for s in self.steps]
        return "\n".join([self.title, *map(str.rstrip, lines)])

    def _repr_html_(self) -> str:
        rows = [[step.title, step.state, step.size, step.says] for step in self.steps]
        code = f"<details><summary>Python</summary><pre>{escape(self.steps[-1].code)}</pre></details>"
        return block(self.title, table(["step", "state", "size", "says"], rows), code)


def model_name(model: Any) -> str:
    """A model in a word or two: a name or path as it is, a config by its family."""
    if isinstance(model, dict):
        return f"a {model.get('model_type', 'model without a type')} config"
    return str(model) if isinstance(model, str) or hasattr(model, "__fspath__") else f"a {type(model).__name__}"

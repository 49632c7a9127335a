"""The pipeline as an object: choices, what was run with which of them, and what therefore is out of date."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable
from typing import Any

from workbench.errors import WorkbenchError
from workbench.steps.choices import NAMES, STEPS, Choices, Step, step_of
from workbench.steps.code import code
from workbench.steps.state import PipelineState, State, StepState
from workbench.steps.work import WORK, Hooks, Made, Stopped

_log = logging.getLogger(__name__)
QUIET = Hooks()


@dataclasses.dataclass(frozen=True, eq=False)
class _Record:
    """A step that ended: with which choices, after which run of the step before, and how."""

    key: tuple[Any, ...]
    serial: int
    seconds: float
    made: Made | None
    problem: str = ""


class Pipeline:
    """Steps from a model to an answer, run one by one.

    A step is done as long as its choices are those that it was run with and the step before it was not run again;
    otherwise it is stale. A choice that is changed back makes its steps done again.

    ``changed`` is called, from the thread that works, whenever a step begins or ends.
    """

    def __init__(self, choices: Choices | None = None, *, changed: Callable[[], None] = lambda: None) -> None:
        self.choices = choices or Choices()
        self._changed = changed
        self._records: dict[str, _Record] = {}
        self._failures: dict[str, _Record] = {}
        self._running = ""
        self._serial = 0
        self._written: set[str] = set()

    # --- what there is ----------------------------------------------------------------------------------------------

    def state(self) -> PipelineState:
        """A frozen picture of now."""
        return PipelineState(self.choices, tuple(self._picture(step) for step in STEPS))

    def code(self, name: str) -> str:
        """The Python that does the same, up to a step."""
        return code(name, self._effective())

    def product(self, name: str) -> Any:
        """What a step made; None where it was not run, failed, or is stale."""
        record = self._records.get(name)
        return record.made.product if record and record.made and self._is(step_of(name)) == "done" else None

    def _effective(self) -> Choices:
        """A folder that this pipeline wrote may be replaced by it: running a step again is what it is for."""
        again = self.choices.folder in self._written
        return dataclasses.replace(self.choices, overwrite=True) if again else self.choices

    def _picture(self, step: Step) -> StepState:
        state = self._is(step)
        kept = self._failures if state == "failed" else self._records
        record = kept.get(step.name) if state != "running" else None
        made = record.made if record else None
        return StepState(
            name=step.name,
            title=step.title,
            does=step.does,
            state=state,
            seconds=record.seconds if record else None,
            size=made.size if made else "",
            reports=made.reports if made else (),
            problem=record.problem if record else "",
            code=self.code(step.name),
        )

    def _is(self, step: Step) -> State:
        if self._running == step.name:
            return "running"
        key, ready = self._key(step), self._ready(step)
        if ready and step.name in self._failures and self._failures[step.name].key == key:
            return "failed"
        record = self._records.get(step.name)
        if record is None:
            return "not run"
        return "done" if ready and record.key == key else "stale"

    def _ready(self, step: Step) -> bool:
        """Whether the step before is done."""
        at = NAMES.index(step.name)
        return at == 0 or self._is(STEPS[at - 1]) == "done"

    def _key(self, step: Step) -> tuple[Any, ...]:
        at = NAMES.index(step.name)
        before = self._records.get(NAMES[at - 1]) if at else None
        return (before.serial if before else 0, *self.choices.of(step))

    # --- changing it ------------------------------------------------------------------------------------------------

    def choose(self, **words: Any) -> Pipeline:
        """Change choices; the steps that depend on them become stale.

        Raises:
            UnknownNameError, ArgumentError: see :meth:`Choices.changed`.
        """
        self.choices = self.choices.changed(words)
        return self

    def run(self, to: str = NAMES[-1], *, again_from: str = "", hooks: Hooks = QUIET) -> Pipeline:
        """Run what is not done, up to a step; ``again_from`` runs that step and those after it even if they are done.

        A step that fails keeps its text in the state and ends the run; nothing is raised for it. A step that was
        stopped is as it was before.

        Raises:
            Stopped: by ``hooks.check``.
            UnknownNameError: no step of that name.
        """
        last = NAMES.index(step_of(to).name)
        first_again = NAMES.index(step_of(again_from).name) if again_from else len(NAMES)
        for at, step in enumerate(STEPS[: last + 1]):
            hooks.check()
            if at >= first_again or self._is(step) != "done":
                if not self._run(step, hooks):
                    break
        return self

    def _run(self, step: Step, hooks: Hooks) -> bool:
        key, start = self._key(step), time.perf_counter()
        self._running = step.name
        self._changed()
        made, problem = None, ""
        try:
            made = WORK[step.name](self._effective(), self._products(), hooks)
        except WorkbenchError as error:
            problem = str(error)
        except Stopped:
            raise
        except Exception as error:
            _log.debug("step %s failed", step.name, exc_info=True)
            problem = f"Unexpected {type(error).__name__}: {error}"
        finally:
            self._running = ""
            if made is not None or problem:
                self._keep(step, key, time.perf_counter() - start, made, problem)
            self._changed()
        return made is not None

    def _keep(self, step: Step, key: tuple[Any, ...], seconds: float, made: Made | None, problem: str) -> None:
        """A failure does not displace what was made before: with the choices of then that is still good."""
        self._serial += 1
        record = _Record(key, self._serial, seconds, made, problem)
        if made is None:
            self._failures[step.name] = record
        else:
            self._records[step.name] = record
            self._failures.pop(step.name, None)
        if step.name == "package" and made is not None:
            self._written.add(self.choices.folder)

    def _products(self) -> dict[str, Any]:
        return {name: record.made.product for name, record in self._records.items() if record.made}

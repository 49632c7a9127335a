"""``PipelineStepper``: from a model's name to an answer in steps that are run, looked at, changed and run again.

Thin on purpose: :class:`~workbench.steps.Pipeline` knows what depends on what; this file runs it in a background
thread and puts its state into a view, and the reports of the step that is open below it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets as widgets

from workbench.errors import WorkbenchError
from workbench.steps import NAMES, Choices, Hooks, Pipeline, PipelineState, Stopped
from workbench.steps.choices import step_of
from workbench.widgets.around import AroundView
from workbench.widgets.job import Cancelled, Job, WithJob
from workbench.widgets.panel_views import CSS, scroll
from workbench.widgets.steps_view import StepsView, plain


class PipelineStepper(WithJob, AroundView):
    """Source, config, generic graph, EP graph, package, check, answer: seven steps with a state each.

    ``run()`` works at once and returns the stepper, for scripts and tested notebooks; the buttons work in a background
    thread, and Cancel stops it. ``pipeline`` holds choices and products, ``view`` is what is seen and also what a
    ``Report`` keeps alive.

    Args:
        model: what ``build`` takes.
        choices: fields of :class:`~workbench.steps.Choices`: ``execution_provider``, ``dtype``, ``folder``, ...

    Raises:
        UnknownNameError: no choice of that name.
        ArgumentError: a value has a type that is not taken.
    """

    def __init__(self, model: Any = "smollm2-135m", **choices: Any) -> None:
        self.pipeline = Pipeline(Choices().changed({"model": model, **choices}), changed=self._refresh)
        self.view = StepsView(self.pipeline.state(), self._asked)
        self.reports = widgets.HTML()
        self.reports.add_class("ep-workbench-panel")
        super().__init__([widgets.HTML(CSS), self.view, self.reports])
        self.add_class("wb-stepper-panel")
        self.view.observe(self._chosen, "choices")
        self.view.observe(lambda _: self._show_reports(), "step")

    @property
    def result(self) -> PipelineState:
        """Where the pipeline stands."""
        return self.pipeline.state()

    # --- from Python ------------------------------------------------------------------------------------------------

    def choose(self, **choices: Any) -> PipelineStepper:
        """Change choices; steps that depend on them become stale.

        Raises:
            UnknownNameError, ArgumentError: see the constructor.
        """
        self.pipeline.choose(**choices)
        self._refresh()
        return self

    def run(self, to: str = NAMES[-1], *, again_from: str = "") -> PipelineStepper:
        """Run what is not done, up to a step, in this thread; ``again_from`` that step again even if it is done.

        Raises:
            UnknownNameError: no step of that name.
        """
        step_of(to)
        if again_from:
            step_of(again_from)
        self.cancel()
        self.wait()
        self._job = Job(lambda job: self._work(job, to, again_from))
        self._job.run()
        return self

    def start(self, to: str = NAMES[-1], *, again_from: str = "") -> None:
        """The same in a background thread; nothing happens while one is at it."""
        if self.wait(0):
            self.view.busy = True
            self._job = Job(lambda job: self._work(job, to, again_from))
            self._job.start()

    def cancel(self) -> None:
        """Stop as soon as the step that is running lets itself be stopped; what was done stays."""
        if self._stop():
            self.view.said = "Stopping ..."

    def close(self) -> None:
        """Stop the work and remove the widgets."""
        self._stop()
        super().close()

    # --- from the browser -------------------------------------------------------------------------------------------

    def _asked(self, what: str, step: str) -> None:
        """A button was pressed."""
        if what == "cancel":
            self.cancel()
        elif what == "all":
            self.start()
        elif what in ("step", "from") and step in NAMES:
            self.start(step if what == "step" else NAMES[-1], again_from=step)

    def _chosen(self, change: Mapping[str, Any]) -> None:
        """A field was changed; a model that is no text stays as long as nobody writes over its name."""
        before = plain(self.pipeline.choices)
        words = {name: value for name, value in change["new"].items() if before.get(name, value) != value}
        if not words:
            return
        try:
            self.pipeline.choose(**words)
            stale = sum(step.state == "stale" for step in self.result.steps)
            self.view.said = f"Changed {', '.join(words)}; {stale} steps are stale."
        except WorkbenchError as error:
            self.view.said = str(error)
        self._refresh()

    # --- work -------------------------------------------------------------------------------------------------------

    def _work(self, job: Job, to: str, again_from: str) -> None:
        self.view.busy, self.view.answer = True, ""
        try:
            self.pipeline.run(to, again_from=again_from, hooks=self._hooks(job))
            self.view.said = self._ended()
        except Stopped:
            self.view.said = "Stopped. What was done stays."
        except BaseException:  # an interrupt of the kernel: say so, and let it pass
            self.view.said = "Interrupted. What was done stays."
            raise
        finally:
            self.view.busy = False
            self._refresh()

    def _hooks(self, job: Job) -> Hooks:
        def check() -> None:
            try:
                job.check()
            except Cancelled:
                raise Stopped from None

        def piece(text: str) -> None:
            self.view.answer = text

        return Hooks(check, piece)

    def _ended(self) -> str:
        state = self.result
        failed = next((step for step in state.steps if step.state == "failed"), None)
        if failed is not None:
            return f"{failed.title} failed."
        return f"{state.done} of {len(state.steps)} steps are done."

    def _refresh(self) -> None:
        """Into the view what the pipeline knows; called from the thread that works, too."""
        state = self.pipeline.state()
        running = next((step for step in state.steps if step.state == "running"), None)
        if running is not None:
            self.view.step, self.view.said = running.name, f"{running.title}: running ..."
        self.view.show(state)
        self._show_reports()

    def _show_reports(self) -> None:
        reports = self.view.result[self.view.step].reports
        self.reports.value = "".join(scroll(html) for html in map(_html, reports))


def _html(report: Any) -> str:
    return str(report._repr_html_())

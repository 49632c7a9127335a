"""``WorkflowView``: a workflow to look at, its ONNX components one click away, a recorded run to step through."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ipywidgets as widgets
import onnx_ir as ir

from workbench.errors import WorkbenchError, unknown, wrong_type
from workbench.metadata.files import look_for
from workbench.metadata.flow import WorkflowMap, workflow_map
from workbench.widgets.around import AroundView
from workbench.widgets.flow_view import FlowView
from workbench.widgets.job import Cancelled, Job, WithJob

_STEPPER = "Make the view with run=workbench.interpret.stepper(...)."
_SHOWN_EACH = 0.3
"""Seconds between two moments that are shown of a run that goes on."""


class WorkflowView(WithJob, AroundView):
    """The steps, the state and the faults of a workflow document; a component's graph opens below.

    ``view`` is what is seen, and what a ``Report`` keeps alive; ``view.node`` is the path of the chosen step. A stepper
    runs on in a background thread where a button of the view asks for it, and Cancel stops it after the step that is
    running; ``go_on`` runs in this thread.

    Args:
        source: a document (path, folder of a package, text, mapping), or a ``WorkflowMap``.
        models: graphs by component or by file name, or the folder of the package, where they are read when somebody
            opens them. A ``source`` that is a folder is its own.
        run: a recorded run to step through (``WorkflowRun``), or a ``WorkflowStepper``, which runs on when the end of
            what it has recorded is reached.
        dialect: what the document is written in; ``auto`` is what it looks like.
    """

    view: FlowView

    def __init__(
        self,
        source: Any,
        *,
        models: Mapping[str, ir.Model] | str | os.PathLike[str] | None = None,
        run: Any = None,
        dialect: str = "auto",
        **options: Any,
    ) -> None:
        shown = source if isinstance(source, WorkflowMap) else workflow_map(source, dialect=dialect)
        self._models = _models(source, models)
        self._run = _checked(run)
        options.setdefault("moment", max(getattr(run, "position", 0), 0))
        self.view = FlowView(
            shown, run.trace if run is not None else (), opens=self._known(shown), live=self._live, asked=self._asked,
            **options,
        )  # fmt: skip
        self.graph = widgets.VBox()
        self.said = widgets.HTML()
        super().__init__([self.view, self.said, self.graph])

    @property
    def result(self) -> WorkflowMap:
        """The map that is shown."""
        shown: WorkflowMap = self.view.result
        return shown

    # --- graphs ---------------------------------------------------------------------------------------------------
    def _known(self, shown: WorkflowMap) -> list[str]:
        """Components whose graph can be opened."""
        return [name for name in shown.artifacts if self._model(shown, name) is not None]

    def show_graph(self, component: str) -> Any:
        """Open the graph of an ONNX component below, and return its view; a ``GraphView``.

        Raises:
            UnknownNameError: no such component, or no graph was given for it.
            ModelFileError: its file cannot be read.
        """
        from workbench.analysis.diff.one_graph import one_graph

        known = self._known(self.result)
        if component not in known:
            raise unknown("component with a graph", component, known)
        view = one_graph(self._model(self.result, component), component).widget()
        self.graph.children = [view]
        self.said.value = ""
        return view

    def _model(self, shown: WorkflowMap, component: str) -> Any:
        """Its file, below the folder only; or the graph that goes by its name, its file, or what that is called."""
        file = shown.artifacts[component]
        if isinstance(self._models, Path):
            return self._models / file if look_for(self._models, file) == "there" else None
        folder, _, name = file.rpartition("/")
        names = (component, file, folder or name.partition(".")[0])
        return next((self._models[key] for key in names if key in self._models), None)

    # --- from the browser -----------------------------------------------------------------------------------------
    def _asked(self, message: Mapping[str, Any]) -> None:
        """A button was pressed: what goes wrong is said below, since nobody reads a traceback of a click."""
        from workbench.analysis.markup import escape

        try:
            if message.get("do") == "graph":
                self.show_graph(str(message.get("component", "")))
            elif message.get("do") in ("step", "on"):
                self.start(to_stop=message["do"] == "on")
            elif message.get("do") == "cancel":
                self.cancel()
        except WorkbenchError as error:
            self.graph.children = []
            self.said.value = f"<p>{escape(error)}</p>"

    # --- a stepper ------------------------------------------------------------------------------------------------
    @property
    def _live(self) -> bool:
        return hasattr(self._run, "step") and not self._run.finished

    def go_on(self, *, to_stop: bool = False) -> None:
        """Run a stepper's next step; or on to the next of the view's ``breakpoints``, or to the end. Here and now: what
        runs in the background is stopped first.

        Raises:
            ArgumentError: the view has no stepper, and nothing can be run.
        """
        if not hasattr(self._run, "step"):
            raise wrong_type("run", self._run, "a WorkflowStepper to go on with", _STEPPER)
        self.cancel()
        self.wait()
        self._job = Job(lambda job: self._work(job, to_stop))
        self._job.run()

    def start(self, *, to_stop: bool = False) -> None:
        """The same in a background thread; nothing happens while one is at it, or where nothing is left to be run."""
        if self._live and self.wait(0):
            self.view.busy = True
            self._job = Job(lambda job: self._work(job, to_stop))
            self._job.start()

    def cancel(self) -> None:
        """Stop after the step that is running; what has run stays, and can be gone on with."""
        if self._stop():
            self.view.run_said = "Stopping after this step ..."

    def close(self) -> None:
        """Stop what runs and remove the widgets."""
        self._stop()
        super().close()

    def _work(self, job: Job, to_stop: bool) -> None:
        said = "The run broke off."
        self.view.busy, self.view.run_said = True, "Running ..." if to_stop else ""
        try:
            self._steps(job, to_stop)
            said = ""
        except Cancelled:
            said = "Cancelled: what has run stays."
        except WorkbenchError as error:
            said = str(error)
        finally:
            self._show_run()
            self.view.busy, self.view.run_said = False, said

    def _steps(self, job: Job, to_stop: bool) -> None:
        run, stops, shown = self._run, set(self.view.breakpoints), time.monotonic()
        while run.position + 1 < len(run.trace):
            run.forward()
        while (record := run.step()) is not None:
            if not to_stop or self.view.stops_at(record, stops):
                return
            job.check()
            if time.monotonic() - shown > _SHOWN_EACH:
                self._show_run()
                shown = time.monotonic()

    def _show_run(self) -> None:
        self.view.show_trace(self._run.trace, live=self._live, moment=max(self._run.position, 0))


def _checked(run: Any) -> Any:
    if run is not None and not hasattr(run, "trace"):
        raise wrong_type("run", run, "a WorkflowRun or a WorkflowStepper", "workbench.interpret gives both.")
    return run


def _models(source: Any, given: Any) -> Mapping[str, Any] | Path:
    """Where graphs come from: what was given and what ``describe`` made; else the folder, if the source is one."""
    own = getattr(source, "artifacts", None)
    made = own if isinstance(own, Mapping) and not isinstance(source, WorkflowMap) else {}
    if isinstance(given, Mapping):
        return {**made, **given}
    if isinstance(given, str | os.PathLike):
        return Path(given)
    if given is not None:
        raise wrong_type("models", given, "graphs by component, or the folder of a package")
    return Path(source) if isinstance(source, str | os.PathLike) and _is_folder(source) else made


def _is_folder(given: Any) -> bool:
    try:
        return Path(given).is_dir()
    except (OSError, ValueError):  # the text of a document is no path
        return False

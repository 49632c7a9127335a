"""The panel: choose a model and execution providers, run, and read the results in tabs.

Thin on purpose: ``compare`` and its results do the work; this file lays out widgets and moves results into them.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as widgets

from workbench.ep import default_comparison
from workbench.ep import execution_providers as known_providers
from workbench.errors import WorkbenchError, wrong_type
from workbench.types import FLOAT_DTYPES, dtype_word, parse_dtype
from workbench.widgets.job import Cancelled, Job, WithJob
from workbench.widgets.netron_tab import NetronTab
from workbench.widgets.panel_views import (
    CSS,
    Results,
    error_html,
    quiet_html,
    static_html,
    static_text,
    status_html,
    tab_html,
)

TABS = ("Ops", "Fusions", "Misses", "Parity", "Netron")
_BEFORE = "Nothing has run yet: choose, then press Run."
_STEPS = 4
_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Request:
    """What the controls ask for at the moment Run is pressed."""

    model: str
    execution_providers: tuple[str, ...]
    dtype: str | None
    prompt: str


class ComparePanel(WithJob, widgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """One model for several execution providers, side by side, in a notebook.

    ``run()`` works at once and returns the panel (for scripts and tested notebooks); the Run button works in a
    background thread, and Cancel stops it after its current step. The same results are in ``results``.

    Args:
        model: what ``compare`` takes.
        execution_providers: those that are ticked; None takes ``compare``'s own choice.
        dtype: ``float32``, ``float16``, ``bfloat16``, or None for each provider's default.
        prompt: for parity; an empty one draws tokens from a seed.
        compare: the function that makes the comparison.

    Raises:
        UnknownNameError: the dtype has a name that nothing answers to.
        ArgumentError: names or prompt are no text.
    """

    def __init__(
        self,
        model: Any = "smollm2-135m",
        execution_providers: Sequence[str] | None = None,
        *,
        dtype: str | None = None,
        prompt: str = "The capital of France is",
        compare: Callable[..., Any] | None = None,
    ) -> None:
        word = None if dtype is None else dtype_word(parse_dtype(dtype))
        self._compare = compare or _compare
        self._given = model
        self.results: Results | None = None
        self.problem = ""
        self.state = "not run"
        if not isinstance(prompt, str | None):
            raise wrong_type("prompt", prompt, "a text")
        self._make_controls(str(model), _names(execution_providers), word, prompt or "")
        self._make_tabs()
        super().__init__([widgets.HTML(CSS), self._controls, self._tabs])
        self.add_class("ep-workbench-panel")
        self._say(_BEFORE, 0)

    # --- layout -------------------------------------------------------------------------------------------------

    def _make_controls(self, model: str, ticked: tuple[str, ...], dtype: str | None, prompt: str) -> None:
        narrow, wide = widgets.Layout(width="260px"), widgets.Layout(width="420px")
        self.model_box = widgets.Text(model, description="Model", layout=narrow)
        self.dtype_box = widgets.Dropdown(
            options=[("provider's default", ""), *((word, word) for word in FLOAT_DTYPES)],
            value=dtype or "",
            description="Dtype",
            layout=narrow,
        )
        self.provider_boxes = {
            name: widgets.Checkbox(name in ticked, description=name, indent=False, layout=widgets.Layout(width="auto"))
            for name in dict.fromkeys((*known_providers(), *ticked))
        }
        self.prompt_box = widgets.Text(prompt, description="Prompt", layout=wide)
        self.run_button = widgets.Button(description="Run", icon="play", button_style="primary")
        self.cancel_button = widgets.Button(description="Cancel", icon="stop", disabled=True)
        self.progress = widgets.IntProgress(0, 0, _STEPS, layout=widgets.Layout(width="160px"))
        self.status = widgets.HTML()
        self.run_button.on_click(lambda _: self.start())
        self.cancel_button.on_click(lambda _: self.cancel())
        row = widgets.Layout(flex_flow="row wrap", align_items="center")
        providers = widgets.HBox(
            [widgets.Label("Execution providers"), *self.provider_boxes.values()],
            layout=widgets.Layout(flex_flow="row wrap", align_items="center", grid_gap="0 14px"),
        )
        self._controls = widgets.VBox(
            [
                widgets.HBox([self.model_box, self.dtype_box, self.prompt_box], layout=row),
                providers,
                widgets.HBox([self.run_button, self.cancel_button, self.progress, self.status], layout=row),
            ]
        )

    def _make_tabs(self) -> None:
        self.pages = {name: widgets.HTML(quiet_html(_BEFORE)) for name in TABS[:-1]}
        self.netron = NetronTab()
        self._tabs = widgets.Tab([*self.pages.values(), self.netron], titles=TABS)

    # --- work ---------------------------------------------------------------------------------------------------

    def run(self) -> ComparePanel:
        """Do the work now, in this thread, and return the panel, so that a notebook shows it."""
        self.cancel()
        self.wait()
        self._begin().run()
        return self

    def start(self) -> None:
        """Do the work in a background thread; nothing happens while one is at it."""
        if self.wait(0):
            self._begin().start()

    def cancel(self) -> None:
        """Stop after the current step; results of the step are dropped."""
        if self._job is not None:
            self._job.cancel()
            self.cancel_button.disabled = True
            self.status.value = status_html("Stopping after this step ...")

    def close(self) -> None:
        """Stop the work, end every Netron, and remove the widgets."""
        self._stop()
        if hasattr(self, "netron"):
            self.netron.close_views()
        super().close()

    def _begin(self) -> Job:
        request = self._request()
        self._job = Job(lambda job: self._guarded(job, request))
        self._enable(False)
        return self._job

    def _request(self) -> Request:
        ticked = tuple(name for name, box in self.provider_boxes.items() if box.value)
        return Request(self.model_box.value.strip(), ticked, self.dtype_box.value or None, self.prompt_box.value)

    def _guarded(self, job: Job, request: Request) -> None:
        """Run the steps; whatever goes wrong becomes a text in the panel."""
        self.results, self.problem, self.state = None, "", "running"
        self.netron.offer({})
        for page in self.pages.values():
            page.value = quiet_html("Running ...")
        try:
            self._steps(job, request)
            self.state = "done"
        except Cancelled:
            self._fail("cancelled", "Cancelled. Press Run to start again.")
        except WorkbenchError as error:
            self._fail("failed", str(error))
        except Exception as error:
            _log.debug("the panel's work failed", exc_info=True)
            self._fail("failed", f"Unexpected {type(error).__name__}: {error}")
        except BaseException:  # an interrupt of the kernel: say so, and let it pass
            self._fail("interrupted", "Interrupted. Press Run to start again.")
            raise
        finally:
            self._enable(True)

    def _steps(self, job: Job, request: Request) -> None:
        if not request.execution_providers:
            raise WorkbenchError("No execution provider is ticked: tick at least one.")
        self._say(f"Building graphs for {', '.join(request.execution_providers)} ...", 1)
        source = self._given if request.model == str(self._given) else request.model
        comparison = self._compare(source, execution_providers=request.execution_providers, dtype=request.dtype)
        job.check()
        self._say("Counting ...", 2)
        results = Results(comparison, comparison.ops(), comparison.fusions(), comparison.misses())
        job.check()
        self._show(results)
        self._say("Running each graph, one after the other ...", 3)
        parity = comparison.parity(request.prompt) if request.prompt else comparison.parity()
        job.check()
        self._show(dataclasses.replace(results, parity=parity))
        self._say(f"Done: parity {parity.conclusion}.", _STEPS)

    # --- showing ------------------------------------------------------------------------------------------------

    def _show(self, results: Results) -> None:
        pages = tab_html(results, but=self.results.views() if self.results is not None else ())
        self.results = results
        for name, html in pages.items():
            self.pages[name].value = html
        comparison = results.comparison
        self.netron.offer({"generic": comparison.generic} | {name: comparison[name].model for name in comparison})

    def _fail(self, state: str, text: str) -> None:
        self.state, self.problem = state, text
        there = self.results.views() if self.results is not None else {}
        for name, page in self.pages.items():
            if name not in there:  # what an earlier step found stays
                page.value = error_html(text)
        self.progress.bar_style = "danger" if state == "failed" else "warning"
        self.status.value = status_html({"failed": "Failed: see below."}.get(state, text))

    def _say(self, text: str, step: int) -> None:
        self.progress.value = step
        self.progress.bar_style = "success" if step == _STEPS else "info"
        self.status.value = status_html(text)

    def _enable(self, ready: bool) -> None:
        boxes = [self.model_box, self.dtype_box, self.prompt_box, self.run_button, *self.provider_boxes.values()]
        for box in boxes:
            box.disabled = not ready
        self.cancel_button.disabled = ready

    # --- without a kernel ---------------------------------------------------------------------------------------

    def _title(self) -> str:
        request = self._request()
        dtype = f", {request.dtype}" if request.dtype else ""
        names = ", ".join(request.execution_providers) or "no execution provider"
        return f"ComparePanel({request.model}{dtype}: {names}; {self.state})"

    def __repr__(self) -> str:
        return static_text(self._title(), self.results, self.problem)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        data: dict[str, Any] = dict(super()._repr_mimebundle_(**options))
        data["text/plain"] = repr(self)
        data["text/html"] = static_html(self._title(), self.results, self.problem)
        return data


def _names(given: Sequence[str] | None) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given or default_comparison()
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise wrong_type("execution_providers", given, "a list of names")
    return tuple(names)


def _compare(*args: Any, **options: Any) -> Any:
    from workbench.compare import compare

    return compare(*args, **options)

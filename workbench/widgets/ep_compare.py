"""``EpCompare``: execution providers side by side in numbers, with the view behind each number one click away."""

from __future__ import annotations

import logging
from typing import Any

import ipywidgets as widgets

from workbench.analysis.ep_summary import EpSummary
from workbench.errors import WorkbenchError, wrong_type
from workbench.types import FLOAT_DTYPES
from workbench.widgets.around import AroundView
from workbench.widgets.ep_cells import behind
from workbench.widgets.ep_table import EpTable, opens
from workbench.widgets.job import Cancelled, Job, WithJob
from workbench.widgets.panel_views import CSS, status_html

_log = logging.getLogger(__name__)
_DEFAULT = ""
KEPT = 6
"""Views behind cells that stay alive; the one that is shown is one of them."""


class EpCompare(WithJob, AroundView):
    """A table with a column per execution provider; a cell opens what is behind its number below the table.

    ``view`` is the table itself, with the traits ``execution_provider`` and ``row``. Where the comparison knows how it
    was made, another dtype can be chosen: the graphs are built again in a background thread, which can be cancelled.

    Args:
        comparison: what ``compare`` returned.
        parity: what ``comparison.parity()`` returned, if it was run.

    Raises:
        ArgumentError: what is given is no comparison.
    """

    def __init__(self, comparison: Any, parity: Any = None) -> None:
        if not hasattr(comparison, "generic") or not hasattr(comparison, "matrix"):
            raise wrong_type("comparison", comparison, "a Comparison", "workbench.compare(model) makes one.")
        self.comparison, self.parity = comparison, parity
        self.problem = ""
        self._made_times = 0
        self._shown: dict[tuple[str, str, int], tuple[widgets.Widget, ...]] = {}
        self.view = EpTable(comparison.summary(parity))
        self.child = widgets.VBox([])
        self._make_controls()
        controls = [self._controls] if self._can_rebuild() else []
        super().__init__([widgets.HTML(CSS), *controls, self.view, self.child])
        self.add_class("wb-compare")
        self.view.observe(self._opened, ["execution_provider", "row"])

    @property
    def result(self) -> EpSummary:
        """The summary that is shown."""
        summary: EpSummary = self.view.result
        return summary

    def select(self, execution_provider: str, row: str) -> EpCompare:
        """Choose a cell, as a click does."""
        with self.view.hold_trait_notifications():
            self.view.execution_provider, self.view.row = execution_provider, row
        return self

    def _opened(self, _: Any = None) -> None:
        """Show what is behind the chosen cell. One click changes two traits; the second time it is there already."""
        key = (self.view.execution_provider, self.view.row, self._made_times)
        chosen = key[0] in self.result.execution_providers
        self.child.children = self._behind(key) if chosen and opens(*key[:2]) else ()

    def _behind(self, key: tuple[str, str, int]) -> tuple[widgets.Widget, ...]:
        """Views stay for a while after they were left: going back finds them as they were. The oldest are closed."""
        if key not in self._shown:
            self._shown[key] = tuple(behind(self.comparison, self.parity, *key[:2]))
        self._shown[key] = self._shown.pop(key)  # the last one used stands last
        while len(self._shown) > KEPT:
            for old in self._shown.pop(next(iter(self._shown))):
                old.close()
        return self._shown[key]

    # --- another dtype ----------------------------------------------------------------------------------------------

    def _can_rebuild(self) -> bool:
        return getattr(self.comparison, "recipe", None) is not None

    def _make_controls(self) -> None:
        options = [("as it was made", "as made"), ("provider's default", _DEFAULT), *((d, d) for d in FLOAT_DTYPES)]
        self.dtype_box = widgets.Dropdown(options=options, description="Dtype", layout=widgets.Layout(width="260px"))
        self.cancel_button = widgets.Button(description="Cancel", icon="stop", disabled=True)
        self.status = widgets.HTML(status_html(""))
        self._made, self._made_parity = self.comparison, self.parity
        self.dtype_box.observe(lambda change: self.start(change["new"]), "value")
        self.cancel_button.on_click(lambda _: self.cancel())
        row = widgets.Layout(flex_flow="row wrap", align_items="center")
        self._controls = widgets.HBox([self.dtype_box, self.cancel_button, self.status], layout=row)

    def start(self, dtype: str) -> None:
        """Build all graphs in a dtype, in a background thread; an earlier one is told to stop first."""
        self.cancel()
        earlier = self._job
        self._job = Job(lambda job: self._guarded(job, dtype, earlier))
        self.cancel_button.disabled = False
        self._job.start()

    def cancel(self) -> None:
        """Stop building after the execution provider that is at it; what is shown stays."""
        if self._stop():
            self.status.value = status_html("Stopping after this step ...")

    def _guarded(self, job: Job, dtype: str, earlier: Job | None) -> None:
        if earlier is not None:
            earlier.wait()  # in this thread, so that nobody has to wait for it
        self.problem = ""
        try:
            job.check()
            self._rebuild(job, dtype)
        except Cancelled:
            self._say("Cancelled; the table shows what was there before.")
        except WorkbenchError as error:
            self._fail(str(error))
        except Exception as error:
            _log.debug("building in another dtype failed", exc_info=True)
            self._fail(f"Unexpected {type(error).__name__}: {error}")
        finally:
            self.cancel_button.disabled = job is self._job or self.cancel_button.disabled

    def _rebuild(self, job: Job, dtype: str) -> None:
        if dtype == "as made":
            comparison, parity = self._made, self._made_parity
        else:
            self._say(f"Building graphs in {dtype or 'the default dtypes'} ...")
            comparison, parity = self._made.in_dtype(dtype or None, check=job.check), None
        job.check()
        self.comparison, self.parity = comparison, parity
        self._made_times += 1
        self.view.show(comparison.summary(parity))
        self._opened()
        self._say("" if dtype == "as made" else "Done. Parity was not run for these graphs.")

    def _say(self, text: str) -> None:
        self.status.value = status_html(text)

    def _fail(self, text: str) -> None:
        self.problem = text
        self._say(f"Not built: {text}")

    def close(self) -> None:
        """Stop the work and remove the widgets."""
        self._stop()
        for old in (widget for group in getattr(self, "_shown", {}).values() for widget in group):
            old.close()
        super().close()

"""What the panel shows, as HTML and text made from results. No widgets and no state here."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any

from workbench.analysis.markup import escape
from workbench.viz.page import image

if TYPE_CHECKING:
    from workbench.analysis.misses import MissTable
    from workbench.analysis.parity_report import ParityReport
    from workbench.analysis.tables import FusionTable, OpTable

# JupyterLab's own variables, so that the panel follows its theme; the fallbacks are for other front ends.
CSS = """<style>
.ep-workbench-panel { color: var(--jp-ui-font-color1, inherit); }
.ep-workbench-panel .widget-html-content, .ep-workbench-panel .jupyter-widget-html-content { line-height: 1.45; }
.ep-workbench-panel table { border-collapse: collapse; margin: 4px 0 12px; font-size: 12px;
  color: var(--jp-ui-font-color1, inherit); }
.ep-workbench-panel th, .ep-workbench-panel td { padding: 3px 10px; vertical-align: top;
  border-bottom: 1px solid var(--jp-border-color2, #c8c8c8); }
.ep-workbench-panel th { border-bottom: 2px solid var(--jp-border-color1, #9a9a9a); white-space: nowrap; }
.ep-workbench-panel tbody tr:nth-child(even) { background: var(--jp-layout-color2, transparent); }
.ep-workbench-panel img { max-width: 100%; height: auto; border-radius: 4px; margin: 4px 0; }
.ep-workbench-panel .wb-scroll { overflow-x: auto; max-width: 100%; }
.ep-workbench-panel .wb-error { border-left: 4px solid var(--jp-error-color1, #b04a00); padding: 2px 10px;
  white-space: pre-wrap; }
.ep-workbench-panel .wb-quiet { color: var(--jp-ui-font-color2, inherit); }
</style>"""


@dataclasses.dataclass(frozen=True)
class Results:
    """Everything that one run of the panel found."""

    comparison: Any
    ops: OpTable
    fusions: FusionTable
    misses: MissTable
    parity: ParityReport | None = None

    def views(self) -> dict[str, Any]:
        """Results by the name of their tab, in the order of the tabs."""
        named = {"Ops": self.ops, "Fusions": self.fusions, "Misses": self.misses.summary(), "Parity": self.parity}
        return {name: result for name, result in named.items() if result is not None}


def tab_html(results: Results, *, but: Container[str] = ()) -> dict[str, str]:
    """Tables and pictures for each tab that has a result, ``but`` for those that show theirs already."""
    pictures: dict[str, Callable[[], str]] = {
        "Ops": lambda: image(results.ops.plot()),
        "Fusions": lambda: image(results.fusions.plot()),
        "Misses": lambda: image(results.misses.plot()) if results.misses.rows else "",
        "Parity": lambda: _parity_pictures(results.parity),
    }
    shown = {name: result for name, result in results.views().items() if name not in but}
    return {name: pictures[name]() + scroll(result._repr_html_()) for name, result in shown.items()}


def _parity_pictures(parity: ParityReport | None) -> str:
    return image(parity.plot("scatter")) + image(parity.plot("position")) if parity is not None else ""


def scroll(html: str) -> str:
    """HTML that is scrolled by itself where it is wider than the page."""
    return f'<div class="wb-scroll">{html}</div>'


def status_html(text: str) -> str:
    """The status line: read aloud by screen readers when it changes."""
    return f'<div role="status" aria-live="polite">{escape(text)}</div>'


def error_html(text: str) -> str:
    """An error's text; never a traceback, never markup."""
    return f'<div role="alert" class="wb-error">{escape(text)}</div>'


def quiet_html(text: str) -> str:
    """A sentence where a result is still missing."""
    return f'<p class="wb-quiet">{escape(text)}</p>'


def static_html(title: str, results: Results | None, problem: str) -> str:
    """The panel for pages without a kernel: tables, no pictures, nothing that changes from machine to machine."""
    parts = [f"<p><strong>{escape(title)}</strong></p>"]
    if problem:
        parts.append(f"<p>{escape(problem)}</p>")
    if results is not None:
        parts += [view._repr_html_() for view in results.views().values()]
    return f"<div>{''.join(parts)}</div>"


def static_text(title: str, results: Results | None, problem: str) -> str:
    """The panel for terminals."""
    views = results.views().values() if results is not None else ()
    return "\n".join([title, *([problem] if problem else []), *map(repr, views)])

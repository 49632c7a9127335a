"""``workflow_report``: everything there is to see of a workflow document on one offline page."""

from __future__ import annotations

from typing import Any

from workbench.metadata.analyses import (
    cache_dependencies,
    derived_capabilities,
    opened,
    state_lifetimes,
    value_table,
)
from workbench.widgets.report import Report
from workbench.widgets.workflow import WorkflowView

_ANALYSES = (
    ("Values", value_table), ("State", state_lifetimes), ("What a cached result depends on", cache_dependencies),
    ("Capabilities", derived_capabilities),
)  # fmt: skip


def workflow_report(source: Any, *, title: str = "Workflow", run: Any = None, dialect: str = "auto") -> Report:
    """The steps, and a run of them, then values, state, cache facts and capabilities as tables to filter.

    A document that is wrong is shown as far as it can be read.

    Args:
        source, run, dialect: as for :class:`WorkflowView`.
        title: of the page.

    Raises:
        ArgumentError: a source, or a run, of another type.
    """
    view = WorkflowView(source, run=run, dialect=dialect)
    parts: list[tuple[str, Any]] = [("Steps", view)]
    if len(view.result.nodes) > 1:
        context = opened(source, dialect)
        parts += [(heading, analysis(context).widget()) for heading, analysis in _ANALYSES]
    return Report(title, *parts)

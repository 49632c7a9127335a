"""What is behind a cell of the table of execution providers: another view, or a table. No state here."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import ipywidgets as widgets

from workbench.analysis.ep_columns import port, weights
from workbench.analysis.ep_summary import Port
from workbench.analysis.markup import block, escape, plural, table
from workbench.analysis.tables import GENERIC, OpTable, op_table
from workbench.errors import WorkbenchError
from workbench.widgets.ep_table import opens

MOST_WEIGHTS = 200
_log = logging.getLogger(__name__)
Shown = list[widgets.Widget]


def behind(comparison: Any, parity: Any, execution_provider: str, row: str) -> Shown:
    """Widgets for a cell; whatever goes wrong becomes a text."""
    try:
        return OPEN[row](comparison, parity, execution_provider) if opens(execution_provider, row) else []
    except WorkbenchError as error:
        return [_problem(str(error))]
    except Exception as error:
        _log.debug("the view behind a cell failed", exc_info=True)
        return [_problem(f"Unexpected {type(error).__name__}: {error}")]


def html(text: str) -> widgets.HTML:
    """A table in the colours of the front end; the style sheet of the panel reaches it, and no other view."""
    shown = widgets.HTML(f'<div class="wb-scroll">{text}</div>')
    shown.add_class("ep-workbench-panel")
    return shown


def _problem(text: str) -> widgets.HTML:
    return html(f'<div class="wb-error" role="alert">This view could not be made: {escape(text)}</div>')


def _ops(comparison: Any, parity: Any, name: str) -> Shown:
    from workbench.widgets.op_histogram import OpHistogram

    models = (
        {GENERIC: comparison.generic}
        if name == GENERIC
        else {GENERIC: comparison.generic, name: _model(comparison, name)}
    )
    ops: OpTable = op_table(models)
    return [OpHistogram(ops, base=GENERIC, mode="counts" if name == GENERIC else "difference")]


def _nodes(comparison: Any, parity: Any, name: str) -> Shown:
    """The difference of both graphs, node by node."""
    if name == GENERIC:
        return _ops(comparison, parity, name)
    try:
        from workbench.analysis.diff import diff
    except ImportError:
        return _ops(comparison, parity, name)
    generic = next(iter(comparison[name].generic.values()), comparison.generic)
    return [diff(generic, _model(comparison, name), labels=(GENERIC, name)).widget()]


def _fusions(comparison: Any, parity: Any, name: str) -> Shown:
    try:
        from workbench.widgets.fusion_report import FusionReport
    except ImportError:
        return [html(comparison.fusions()._repr_html_())]
    view = FusionReport(comparison)
    view.execution_provider = name
    return [view]


def _inputs(comparison: Any, parity: Any, name: str) -> Shown:
    graph = _model(comparison, name).graph
    dropped = () if name == GENERIC else comparison[name].report.dropped_inputs
    note = f"<p>Dropped, because nothing reads it: {escape(', '.join(dropped))}</p>" if dropped else ""
    return [html(_ports(f"{name}: {plural(len(graph.inputs), 'input')}", map(port, graph.inputs)) + note)]


def _outputs(comparison: Any, parity: Any, name: str) -> Shown:
    graph = _model(comparison, name).graph
    return [html(_ports(f"{name}: {plural(len(graph.outputs), 'output')}", map(port, graph.outputs)))]


def _ports(title: str, ports: Any) -> str:
    rows = [[one.name, one.dtype, one.shape] for one in ports if isinstance(one, Port)]
    return block(title, table(["name", "dtype", "shape"], rows, empty="There are none."))


def _size(comparison: Any, parity: Any, name: str) -> Shown:
    found = sorted(weights(_model(comparison, name)), key=lambda weight: (-(weight.nbytes or 0), weight.names))
    rows = [[", ".join(w.names), w.dtype, w.shape, "unknown" if w.nbytes is None else w.nbytes] for w in found]
    left = f"<p>{len(rows) - MOST_WEIGHTS:,} smaller ones are not listed.</p>" if len(rows) > MOST_WEIGHTS else ""
    title = f"{name}: {plural(len(rows), 'weight')}, the largest first"
    return [
        html(block(title, table(["name", "dtype", "shape", "bytes"], rows[:MOST_WEIGHTS], empty="No weights.")) + left)
    ]


def _diagnostics(comparison: Any, parity: Any, name: str) -> Shown:
    found = comparison[name].diagnostics
    rows = [[d.severity, d.code, d.message, d.where, d.hint] for d in found]
    columns = ["severity", "code", "message", "where", "hint"]
    return [html(block(f"{name}: {plural(len(rows), 'diagnostic')}", table(columns, rows, empty="Nothing was found.")))]


def _parity(comparison: Any, parity: Any, name: str) -> Shown:
    if parity is None:
        return [html("<p>Nothing was run. Give the report of a run: "
                     "<code>EpCompare(comparison, comparison.parity())</code></p>")]  # fmt: skip
    from workbench.viz.page import image

    pictures = image(parity.plot("scatter")) + image(parity.plot("position"))
    return [html(pictures + parity._repr_html_())]


def _model(comparison: Any, name: str) -> Any:
    return comparison.generic if name == GENERIC else comparison[name].model


OPEN: dict[str, Callable[[Any, Any, str], Shown]] = {
    "nodes": _nodes,
    "ops": _ops,
    "casts": _ops,
    "fusions": _fusions,
    "lowered": _fusions,
    "inputs": _inputs,
    "outputs": _outputs,
    "size": _size,
    "diagnostics": _diagnostics,
    "parity": _parity,
}

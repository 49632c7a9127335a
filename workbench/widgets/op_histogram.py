"""``OpHistogram``: operators of one or several graphs as bars, to sort, search, fold and choose from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import traitlets

from workbench.analysis.histogram import OpHistogram as Histogram
from workbench.analysis.histogram import histogram
from workbench.analysis.tables import OpTable, op_table
from workbench.errors import unknown
from workbench.widgets.pack import Column
from workbench.widgets.view import View

MODES = ("counts", "difference")


class OpHistogram(View):
    """Nodes per operator, subgraphs and functions counted, as bars with their numbers.

    Choosing a bar sets ``op`` (``com.microsoft.GroupQueryAttention``) and ``execution_provider``, the name of the
    graph; link them to filter another view.

    Args:
        result: an ``OpTable``, an analysis ``OpHistogram``, a ``Comparison``, models by name, or whatever
            ``histogram`` counts (a model, a proto, a path, a package of one model).
        base: the graph that others are compared with; None takes the first.
        mode: ``counts`` or ``difference``.

    Raises:
        UnknownNameError: ``base`` is none of the graphs, or the mode does not exist.
        UnsupportedError, ModelFileError: what is given holds no graph.
    """

    module = "op_histogram"
    styles = ("op_histogram",)
    label = "Operators"

    base = traitlets.Unicode("").tag(sync=True)
    mode = traitlets.Unicode(MODES[0]).tag(sync=True)

    def __init__(self, result: Any, *, base: str | None = None, mode: str = MODES[0], **options: Any) -> None:
        ops = as_table(result)
        names = list(ops.histograms)
        if base is not None and base not in names:
            raise unknown("graph", base, names)
        if mode not in MODES:
            raise unknown("mode", mode, MODES)
        super().__init__(ops, base=base if base is not None else next(iter(names), ""), mode=mode, **options)

    def columns(self, result: OpTable) -> Mapping[str, Column]:
        """Operators, and their counts in every graph, row after row."""
        ops = result.ops()
        counts = [h.counts.get(op, 0) for op in ops for h in result.histograms.values()]
        return {
            "name": [str(op) for op in ops],
            "domain": [op.domain for op in ops],
            "count": np.array(counts, dtype=np.int32),
        }

    def facts(self, result: OpTable) -> Mapping[str, Any]:
        """Graphs and their sizes."""
        return {"names": list(result.histograms), "totals": [h.total for h in result.histograms.values()]}

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The live view; without a kernel the same bars as a picture."""
        from workbench.viz.op_bars import differences_svg, table_svg

        data, metadata = super()._repr_mimebundle_(**options)
        differs = self.mode == MODES[1] and len(self.result.histograms) > 1
        draw = differences_svg if differs else table_svg
        static = {kind: value for kind, value in data.items() if kind != "text/html"}
        return static | {"image/svg+xml": draw(self.result, self.base)}, metadata


def as_table(result: Any) -> OpTable:
    """The operator table of whatever has one, or can be counted."""
    if isinstance(result, OpTable):
        return result
    if isinstance(result, Histogram):
        return OpTable({"": result})
    if callable(getattr(result, "ops", None)) and hasattr(result, "generic"):
        return as_table(result.ops())  # a comparison
    if isinstance(result, Mapping) and len(result) != 1:
        return op_table({str(name): model if isinstance(model, Histogram) else histogram(model)
                         for name, model in result.items()})  # fmt: skip
    return OpTable({"": histogram(result)})

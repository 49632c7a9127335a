"""The table of :class:`~workbench.widgets.ep_compare.EpCompare`: alive by itself too, on pages without a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets

from workbench.analysis.ep_summary import EpSummary
from workbench.analysis.tables import GENERIC
from workbench.widgets.view import View

OPENS = {
    "nodes": "the graph difference",
    "ops": "the operators",
    "casts": "the operators",
    "fusions": "the fusion report",
    "lowered": "the fusion report",
    "inputs": "the list of inputs",
    "outputs": "the list of outputs",
    "size": "the list of weights",
    "diagnostics": "the diagnostics",
    "parity": "the parity report",
}
"""What a cell of a row opens; rows that are not here have a sentence and nothing behind it."""


class EpTable(View):
    """A summary as a table whose cells can be chosen: that sets ``execution_provider`` and ``row``."""

    module = "ep_table"
    styles = ("ep_table",)
    label = "Execution providers side by side"

    row = traitlets.Unicode("").tag(sync=True)

    def facts(self, result: EpSummary) -> Mapping[str, Any]:
        """Every cell: its text, what is known about it, and what it opens."""
        return {
            "name": result.name,
            "execution_providers": list(result.execution_providers),
            "rows": [
                {"row": row, "title": title, "cells": [_cell(result, name, row) for name in result.execution_providers]}
                for row, title, _ in result.rows()
            ],
        }

    def state(self) -> dict[str, Any]:
        """Without a kernel a cell tells what is known and opens nothing, and does not promise to."""
        shown = super().state()
        rows = [
            {**line, "cells": [{**cell, "opens": ""} for cell in line["cells"]]} for line in shown["_facts"]["rows"]
        ]
        return shown | {"_facts": {**shown["_facts"], "rows": rows}}

    def show(self, result: EpSummary) -> None:
        """Show another summary; the same cell stays chosen."""
        self._result = result
        self._facts = dict(self.facts(result))


def _cell(summary: EpSummary, name: str, row: str) -> dict[str, str]:
    column = summary[name]
    return {"text": column.text(row), "facts": column.facts(row), "opens": opens(name, row)}


def opens(name: str, row: str) -> str:
    """What is behind a cell, in words; empty for nothing."""
    if name == GENERIC:  # nothing was fused or compared there, and its nodes differ from nothing
        generic = {"nodes": "the operators", "fusions": "", "lowered": "", "parity": "", "diagnostics": ""}
        return generic.get(row, OPENS.get(row, ""))
    return OPENS.get(row, "")

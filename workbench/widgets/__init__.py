"""Views for notebooks: thin, over the frozen results of analysis. Only this folder knows ipywidgets and Netron.

Names are looked up when they are used, so that one view does not load all others.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.widgets.capability_matrix import CapabilityMatrix
    from workbench.widgets.document_table import DocumentTable
    from workbench.widgets.ep_compare import EpCompare
    from workbench.widgets.ep_matrix import EpMatrix
    from workbench.widgets.fusion_report import FusionReport
    from workbench.widgets.graph_diff import GraphDiffView
    from workbench.widgets.linked import link
    from workbench.widgets.op_histogram import OpHistogram
    from workbench.widgets.panel import ComparePanel
    from workbench.widgets.replay import PipelineReplay
    from workbench.widgets.report import Report
    from workbench.widgets.stepper import PipelineStepper
    from workbench.widgets.view import View
    from workbench.widgets.workflow import WorkflowView
    from workbench.widgets.workflow_page import workflow_report

__all__ = [
    "CapabilityMatrix",
    "ComparePanel",
    "DocumentTable",
    "EpCompare",
    "EpMatrix",
    "FusionReport",
    "GraphDiffView",
    "OpHistogram",
    "PipelineReplay",
    "PipelineStepper",
    "Report",
    "View",
    "WorkflowView",
    "link",
    "workflow_report",
]

_MODULES = {
    "CapabilityMatrix": "capability_matrix",
    "ComparePanel": "panel",
    "DocumentTable": "document_table",
    "EpCompare": "ep_compare",
    "EpMatrix": "ep_matrix",
    "FusionReport": "fusion_report",
    "GraphDiffView": "graph_diff",
    "OpHistogram": "op_histogram",
    "PipelineReplay": "replay",
    "PipelineStepper": "stepper",
    "Report": "report",
    "View": "view",
    "WorkflowView": "workflow",
    "link": "linked",
    "workflow_report": "workflow_page",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})

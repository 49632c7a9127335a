"""EP Workbench: inspect what ONNX Runtime's execution providers need of a transformer's graph.

Names are loaded when they are first used, so that importing the package costs no more than importing onnxscript.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from workbench.analysis.diff import GraphDiff, diff
    from workbench.analysis.ep_summary import EpSummary
    from workbench.analysis.histogram import OpHistogram, histogram
    from workbench.analysis.misses import MissTable
    from workbench.analysis.parity_report import ParityReport
    from workbench.analysis.rule_matrix import RuleMatrix
    from workbench.analysis.tables import FusionTable, OpTable
    from workbench.build import build, build_from_module
    from workbench.check import check
    from workbench.compare import Comparison, compare
    from workbench.components.decoder import CausalLM
    from workbench.config.model_config import ModelConfig, RopeConfig
    from workbench.describe import InferenceMetadata, describe
    from workbench.ep import execution_providers, get_ep, register_ep
    from workbench.ep.base import ExecutionProvider, Kernel
    from workbench.errors import (
        ArgumentError,
        ConfigError,
        Diagnostic,
        ExecutionError,
        FeedsError,
        FusionError,
        LegalityError,
        LossyImportError,
        ModelFileError,
        OfflineError,
        SaveError,
        UnknownNameError,
        UnsupportedError,
        WeightsError,
        WorkbenchError,
    )  # fmt: skip
    from workbench.explain import explain, why_not
    from workbench.export import export, lint
    from workbench.importing import GenaiImport, import_genai_config
    from workbench.optimize import Optimized, optimize
    from workbench.package import Package, load
    from workbench.rules.recording import Recording
    from workbench.rules.report import Miss, OptimizationReport, RuleReport
    from workbench.runtime.chat import chat
    from workbench.runtime.generate import generate, run
    from workbench.runtime.ort_cpu import OrtCpuSession, SessionSettings
    from workbench.support import support
    from workbench.widgets.netron import open_in_netron
    from workbench.widgets.panel import ComparePanel
    from workbench.widgets.report import Report
    from workbench.zoo import families

_PLACES = {
    # make
    "build": "build",
    "build_from_module": "build",
    "compare": "compare",
    "load": "package",
    "optimize": "optimize",
    # hand over
    "describe": "describe",
    "export": "export",
    "import_genai_config": "importing",
    "lint": "export",
    # run
    "chat": "runtime.chat",
    "generate": "runtime.generate",
    "run": "runtime.generate",
    # look
    "check": "check",
    "diff": "analysis.diff",
    "explain": "explain",
    "histogram": "analysis.histogram",
    "open_in_netron": "widgets.netron",
    "why_not": "explain",
    "ComparePanel": "widgets.panel",
    "Report": "widgets.report",
    # results
    "Comparison": "compare",
    "EpSummary": "analysis.ep_summary",
    "GenaiImport": "importing",
    "InferenceMetadata": "describe",
    "FusionTable": "analysis.tables",
    "GraphDiff": "analysis.diff",
    "MissTable": "analysis.misses",
    "OpHistogram": "analysis.histogram",
    "OpTable": "analysis.tables",
    "OptimizationReport": "rules.report",
    "Optimized": "optimize",
    "Package": "package",
    "ParityReport": "analysis.parity_report",
    "Recording": "rules.recording",
    "RuleMatrix": "analysis.rule_matrix",
    "RuleReport": "rules.report",
    "Miss": "rules.report",
    # facts and models
    "CausalLM": "components.decoder",
    "ExecutionProvider": "ep.base",
    "Kernel": "ep.base",
    "ModelConfig": "config.model_config",
    "RopeConfig": "config.model_config",
    "execution_providers": "ep",
    "register_ep": "ep",
    "families": "zoo",
    "support": "support",
    "get_ep": "ep",
    # sessions
    "OrtCpuSession": "runtime.ort_cpu",
    "SessionSettings": "runtime.ort_cpu",
    # errors
    "ArgumentError": "errors",
    "ConfigError": "errors",
    "Diagnostic": "errors",
    "ExecutionError": "errors",
    "FeedsError": "errors",
    "FusionError": "errors",
    "LegalityError": "errors",
    "LossyImportError": "errors",
    "ModelFileError": "errors",
    "OfflineError": "errors",
    "SaveError": "errors",
    "UnknownNameError": "errors",
    "UnsupportedError": "errors",
    "WeightsError": "errors",
    "WorkbenchError": "errors",
}

__all__ = [
    "build", "build_from_module", "compare", "load", "optimize",
    "describe", "export", "import_genai_config", "lint",
    "run", "generate", "chat",
    "check", "diff", "explain", "histogram", "why_not", "open_in_netron", "ComparePanel", "Report",
    "Comparison", "EpSummary", "FusionTable", "GenaiImport", "GraphDiff", "InferenceMetadata", "MissTable",
    "OpHistogram", "OpTable", "OptimizationReport", "Optimized", "Package",
    "ParityReport", "Recording", "RuleMatrix", "RuleReport", "Miss",
    "CausalLM", "ExecutionProvider", "Kernel", "ModelConfig", "RopeConfig", "execution_providers",
    "families", "get_ep", "register_ep", "support",
    "OrtCpuSession", "SessionSettings",
    "ArgumentError", "ConfigError", "Diagnostic", "ExecutionError", "FeedsError", "FusionError", "LegalityError",
    "LossyImportError", "ModelFileError", "OfflineError", "SaveError", "UnknownNameError", "UnsupportedError",
    "WeightsError", "WorkbenchError",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"workbench.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """Keeps ``workbench.build`` the function: importing the module of that name would put the module there."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and name in _PLACES:
            value = getattr(value, name)
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

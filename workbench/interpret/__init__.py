"""Workflows run here: every step on ONNX Runtime's CPU kernels, every value to be looked at."""

from workbench.interpret.diagnostic import CODES, RunDiagnostic
from workbench.interpret.limits import Limits
from workbench.interpret.stepper import WorkflowStepper
from workbench.interpret.trace import Trace, Traced, TraceStep, WorkflowRun
from workbench.interpret.values import TracedValue

__all__ = [
    "CODES", "Limits", "RunDiagnostic", "Trace", "TraceStep", "Traced", "TracedValue", "WorkflowRun", "WorkflowStepper",
]  # fmt: skip

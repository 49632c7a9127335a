"""Workflows run here: every step on ONNX Runtime's CPU kernels, every value to be looked at.

``interpret`` runs a package's workflow to its end, ``stepper`` goes through it step by step. The meaning of each step
is the document's; ``docs/running-a-workflow.md`` says where a document leaves something open, and what is done then.
"""

from workbench.interpret.diagnostic import CODES, RunDiagnostic
from workbench.interpret.limits import Limits
from workbench.interpret.running import interpret, stepper
from workbench.interpret.sampling import Sampling
from workbench.interpret.stepper import WorkflowStepper
from workbench.interpret.trace import Trace, Traced, TraceStep, WorkflowRun
from workbench.interpret.values import TracedValue

__all__ = [
    "CODES", "Limits", "RunDiagnostic", "Sampling", "Trace", "TraceStep", "Traced", "TracedValue", "WorkflowRun",
    "WorkflowStepper", "interpret", "stepper",
]  # fmt: skip

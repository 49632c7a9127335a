"""From a model's name to an answer of the client, step by step: what was chosen, what was run, what is out of date."""

from __future__ import annotations

from workbench.steps.choices import NAMES, STEPS, Choices, Step
from workbench.steps.pipeline import Pipeline
from workbench.steps.state import PipelineState, StepState
from workbench.steps.work import Hooks, Stopped

__all__ = ["NAMES", "STEPS", "Choices", "Hooks", "Pipeline", "PipelineState", "Step", "StepState", "Stopped"]

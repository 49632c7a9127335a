"""The steps of a pipeline as a view: states, choices, the Python of each, and what a person asks for by its buttons."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import traitlets

from workbench.ep import execution_providers
from workbench.steps import STEPS, Choices, PipelineState, StepState
from workbench.steps.state import model_name
from workbench.types import FLOAT_DTYPES
from workbench.widgets.view import View

_MOST_TEXT = 4000  # characters of one report in the browser


class StepsView(View):
    """A :class:`~workbench.steps.PipelineState` to look at and to act on.

    ``step`` is the step that is open, ``choices`` what the fields hold. ``alive`` is False on pages without a kernel,
    where nothing can be run; ``said`` is the status line, ``answer`` what the client has said so far.
    """

    module = "stepper"
    styles = ("stepper",)
    label = "Pipeline, step by step"

    step = traitlets.Unicode(STEPS[0].name).tag(sync=True)
    choices = traitlets.Dict().tag(sync=True)
    alive = traitlets.Bool(True).tag(sync=True)
    busy = traitlets.Bool(False).tag(sync=True)
    said = traitlets.Unicode("").tag(sync=True)
    answer = traitlets.Unicode("").tag(sync=True)

    @traitlets.validate("step")
    def _known(self, proposal: Any) -> str:
        names = [step.name for step in STEPS]
        return proposal["value"] if proposal["value"] in names else names[0]

    def __init__(self, result: PipelineState, asked: Callable[[str, str], None] = lambda what, step: None) -> None:
        super().__init__(result, choices=plain(result.choices))
        self.on_msg(lambda _, message, buffers: asked(str(message.get("do", "")), str(message.get("step", ""))))

    def facts(self, result: PipelineState) -> Mapping[str, Any]:
        """What each step is, what became of it, and what can be chosen."""
        chosen = result.choices.execution_provider
        return {
            "title": result.title,
            "done": result.done,
            "steps": [_facts(state, step.choices) for state, step in zip(result.steps, STEPS, strict=True)],
            "options": {
                "execution_provider": list(dict.fromkeys((*execution_providers(), chosen))),
                "dtype": ["", *FLOAT_DTYPES],
                "padding": ["right", "any"],
            },
        }

    def show(self, result: PipelineState) -> None:
        """Show another moment."""
        self._result = result
        with self.hold_trait_notifications():
            self._facts = dict(self.facts(result))
            self.choices = plain(result.choices)

    def state(self) -> dict[str, Any]:
        """A page without a kernel shows the same and runs nothing."""
        return super().state() | {"alive": False, "busy": False}


def plain(choices: Choices) -> dict[str, Any]:
    """Choices as the browser holds them: a model that is no text by what it is called."""
    words = {field.name: getattr(choices, field.name) for field in dataclasses.fields(choices)}
    return words | {"model": model_name(choices.model)}


def _facts(state: StepState, choices: tuple[str, ...]) -> dict[str, Any]:
    return {
        "name": state.name, "title": state.title, "does": state.does, "state": state.state, "seconds": state.seconds,
        "size": state.size, "problem": state.problem, "code": state.code, "choices": list(choices),
        "reports": [repr(report)[:_MOST_TEXT] for report in state.reports],
    }  # fmt: skip

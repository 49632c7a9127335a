"""A recorded pipeline to step through: what each rewrite took away and what it put there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol

import numpy as np
import traitlets

from workbench.errors import wrong_type
from workbench.widgets.pack import Column
from workbench.widgets.view import View

SEPARATOR = "\x1f"
"""Between the texts of one node: not in any name that somebody wrote."""


class Node(Protocol):
    """What is shown of a recorded node."""

    key: int
    name: str
    scope: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]

    @property
    def op(self) -> str: ...


class PipelineReplay(View):
    """Step through a :class:`~workbench.rules.recording.Recording`.

    ``step`` is the number of the step that is shown, 0 for the start; ``rule`` the rule that steps are filtered by, and
    ``node`` the node that a person chose.

    Raises:
        ArgumentError: what is given is no recording.
    """

    module: ClassVar[str] = "replay"
    styles: ClassVar[tuple[str, ...]] = ("small_graph", "replay")
    label: ClassVar[str] = "Pipeline, step by step"

    step = traitlets.Int(0).tag(sync=True)

    def __init__(self, recording: Any, **options: Any) -> None:
        if not hasattr(recording, "steps") or not hasattr(recording, "counts"):
            hint = "optimize(model, record=True).recording and comparison.replay() are some."
            raise wrong_type("recording", recording, "a Recording", hint)
        super().__init__(recording, **options)

    @traitlets.validate("step")
    def _within(self, proposal: Any) -> int:
        return min(max(0, proposal["value"]), len(self._result.steps))

    def facts(self, recording: Any) -> Mapping[str, Any]:
        places = {(s.stage, s.rule): [s.stage, s.rule, s.file, s.line] for s in recording.steps}
        return {
            "title": f"{recording.execution_provider} {recording.dtype}",
            "rules": list(places.values()),
            "ops": _ops(recording),
        }

    def columns(self, recording: Any) -> Mapping[str, Column]:
        """Steps, and behind ``from`` the nodes of each: those removed first, ``split`` of them, then those added."""
        steps = recording.steps
        rules = {place: i for i, place in enumerate(dict.fromkeys((s.stage, s.rule) for s in steps))}
        sizes = np.cumsum([0, *(len(s.removed) + len(s.added) for s in steps)])
        return {
            "rule": np.array([rules[s.stage, s.rule] for s in steps], np.int32),
            "seconds": np.array([s.seconds for s in steps], np.float32),
            "split": np.array([len(s.removed) for s in steps], np.int32),
            "from": sizes.astype(np.int32),
            "count": np.array(recording.counts, np.int32),
            "anchor": [s.anchor for s in steps],
            "scope": [s.scope for s in steps],
            **_nodes(_all_nodes(recording), _ops(recording)),
        }


def _all_nodes(recording: Any) -> list[Node]:
    return [node for step in recording.steps for side in (step.removed, step.added) for node in side]


def _ops(recording: Any) -> list[str]:
    return list(dict.fromkeys(node.op for node in _all_nodes(recording)))


def _nodes(nodes: list[Node], ops: Iterable[str]) -> dict[str, Column]:
    places = {op: i for i, op in enumerate(ops)}
    return {
        "key": np.array([node.key for node in nodes], np.int32),
        "op": np.array([places[node.op] for node in nodes], np.int32),
        "name": [node.name for node in nodes],
        "node_scope": [node.scope for node in nodes],
        "inputs": [SEPARATOR.join(node.inputs) for node in nodes],
        "outputs": [SEPARATOR.join(node.outputs) for node in nodes],
        "attributes": [SEPARATOR.join(f"{name} = {text}" for name, text in node.attributes) for node in nodes],
    }

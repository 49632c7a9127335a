"""Watching the pipeline: who is told of each rewrite and pass, and writes the recording. Off, nothing of it runs."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

import onnx_ir as ir

from workbench.rules.base import Rewrite, Rule
from workbench.rules.graph import scope
from workbench.rules.recording import RecordedNode, RecordedStep, Recording

if TYPE_CHECKING:
    from workbench.rules.plan import Step
    from workbench.rules.report import Miss

Tell = Callable[[str, Callable[..., Any]], None]
"""Called by a pass when it is done: its name (``fold/weights``), and where it is written."""
LONGEST = 60


def quiet(rule: str, where: Callable[..., Any]) -> None:
    """Nobody listens."""


class Watch(Protocol):
    """Who is told what the pipeline does, while the graph still is as a rule saw it."""

    def begin(self) -> None:
        """Something starts."""

    def asks(self, model: ir.Model, step: Step, anchors: list[ir.Node]) -> None:
        """A rule is going to look at these candidates."""

    def passed(self, rule: str, where: Callable[..., Any]) -> None:
        """A pass over the whole graph is done."""

    def rewrote(self, rule: Rule, anchor: tuple[str, str], removed: Iterable[ir.Node], change: Rewrite) -> None:
        """A rule has rewritten a node, given by name and scope."""

    def refused(self, rule: Rule, miss: Miss, node: ir.Node | None) -> None:
        """A rule has left a node alone; without the node: a part of what it then rewrote."""


class Recorder:
    """Keeps a record of each node of the main graph, and from what changes makes steps."""

    def __init__(self, model: ir.Model) -> None:
        self.model = model
        self._keys: dict[ir.Node, int] = {}
        self._live = {node: self._record(node) for node in model.graph}
        self._first = tuple(self._live.values())
        self._inputs, self._constants = _names(model.graph.inputs), frozenset(model.graph.initializers)
        self._steps: list[RecordedStep] = []
        self._refused: list[tuple[str, str, int]] = []
        self.begin()

    def begin(self) -> None:
        """From now on time counts for the next step."""
        self._since = time.perf_counter()

    def passed(self, rule: str, where: Callable[..., Any]) -> None:
        """A pass over the whole graph is done: whatever differs from before is its doing."""
        seconds = time.perf_counter() - self._since
        now = {node: self._record(node) for node in self.model.graph}
        removed = [record for node, record in self._live.items() if now.get(node) != record]
        added = [record for node, record in now.items() if self._live.get(node) != record]
        self._live = now
        self._step(rule.split("/")[0], rule, "", "", removed, added, seconds, where)

    def rewrote(self, rule: Rule, anchor: tuple[str, str], removed: Iterable[ir.Node], change: Rewrite) -> None:
        """A rule has rewritten a node, given by name and scope."""
        seconds = time.perf_counter() - self._since
        gone = [self._live.pop(node) for node in removed]
        come = {node: self._record(node) for node in change.nodes}
        self._live |= come
        self._step(rule.stage.name.lower(), rule.name, *anchor, gone, come.values(), seconds, rule.rewrite)

    def asks(self, model: ir.Model, step: Step, anchors: list[ir.Node]) -> None:
        """Nothing to keep: a step is written when something has changed."""

    def refused(self, rule: Rule, miss: Miss, node: ir.Node | None) -> None:
        """A rule has left a node alone, or a part of it."""
        self._refused.append((rule.name, miss.node, len(self._steps)))

    def recording(self, execution_provider: str, dtype: str) -> Recording:
        """Everything since the start."""
        graph = self.model.graph
        return Recording(
            execution_provider, dtype, self._first, tuple(self._steps), self._inputs, _names(graph.outputs),
            self._constants | frozenset(graph.initializers), tuple(self._refused),
        )  # fmt: skip

    def _step(
        self, stage: str, rule: str, anchor: str, scope: str, removed: Iterable[RecordedNode],
        added: Iterable[RecordedNode], seconds: float, where: Callable[..., Any],
    ) -> None:  # fmt: skip
        index = len(self._steps) + 1
        step = RecordedStep(index, stage, rule, anchor, scope, tuple(removed), tuple(added), seconds, *_place(where))
        self._steps.append(step)
        self.begin()

    def _record(self, node: ir.Node) -> RecordedNode:
        key = self._keys.setdefault(node, len(self._keys))
        attributes = tuple((name, _short(attribute)) for name, attribute in node.attributes.items())
        return RecordedNode(
            key, node.name or "", node.op_type, node.domain, scope(node), _names(node.inputs), _names(node.outputs),
            attributes, node.overload,
        )  # fmt: skip


def _names(values: Iterable[ir.Value | None]) -> tuple[str, ...]:
    return tuple(value.name or "" if value is not None else "" for value in values)


def _short(attribute: Any) -> str:
    """An attribute's value in a few characters; tensors and graphs are not looked into."""
    value = attribute.value
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype.name.lower()}[{', '.join(map(str, value.shape))}]"
    if attribute.type in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS):
        return "graph"
    text = str(list(value)) if isinstance(value, tuple) else str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _place(where: Callable[..., Any]) -> tuple[str, int]:
    """File and line of a function; the file as it is imported, since a machine's folders tell nothing."""
    function = inspect.unwrap(where)
    code, module = getattr(function, "__code__", None), getattr(function, "__module__", "") or ""
    ours = module.split(".")[0] == __name__.split(".")[0]
    return (f"{module.replace('.', '/')}.py" if ours else module), code.co_firstlineno if code is not None else 0

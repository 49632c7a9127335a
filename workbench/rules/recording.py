"""What the pipeline did, step by step: every rewrite and every pass, as the nodes that went and the nodes that came."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import wrong_type

if TYPE_CHECKING:
    import pandas as pd

    from workbench.widgets.replay import PipelineReplay

COLUMNS = [
    "index", "stage", "rule", "anchor", "scope", "removed", "added", "rewired", "node", "seconds", "file", "line",
]  # fmt: skip


@dataclasses.dataclass(frozen=True, slots=True)
class RecordedNode:
    """A node as it was at one moment. ``key`` is the same for as long as the node lives, whatever it is called.

    ``attributes`` are names with short texts: a tensor is only named by dtype and shape.
    """

    key: int
    name: str
    op_type: str
    domain: str = ""
    scope: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    attributes: tuple[tuple[str, str], ...] = ()
    overload: str = ""

    @property
    def op(self) -> str:
        """``MatMul``, ``com.microsoft.GroupQueryAttention``."""
        return f"{self.domain}.{self.op_type}" if self.domain else self.op_type


@dataclasses.dataclass(frozen=True)
class RecordedStep:
    """One rewrite, or one pass over the whole graph (its ``anchor`` is empty, and it may have changed nothing).

    A node that is only renamed or reads something else stands in both ``removed`` and ``added``, under one key.
    ``file`` and ``line`` say where the rule or pass is written.
    """

    index: int
    stage: str
    rule: str
    anchor: str
    scope: str
    removed: tuple[RecordedNode, ...]
    added: tuple[RecordedNode, ...]
    seconds: float = dataclasses.field(default=0.0, compare=False)
    file: str = ""
    line: int = 0

    @property
    def rewired(self) -> frozenset[int]:
        """Keys of nodes that stayed, under another name or over other inputs."""
        return frozenset(node.key for node in self.removed) & frozenset(node.key for node in self.added)

    @property
    def gain(self) -> int:
        """Nodes after it minus nodes before it."""
        return len(self.added) - len(self.removed)

    def __repr__(self) -> str:
        where = f" at {self.anchor}" if self.anchor else ""
        return f"RecordedStep({self.index} {self.stage} {self.rule}{where}: -{len(self.removed)} +{len(self.added)})"


@dataclasses.dataclass(frozen=True, slots=True)
class StepRun:
    """Steps of one rule or pass that follow each other: what a list of thousands folds to."""

    stage: str
    rule: str
    first: int
    steps: int
    removed: int
    added: int
    rewired: int
    nodes: int
    """Nodes of the graph after the last of them."""


@dataclasses.dataclass(frozen=True)
class Recording:
    """A pipeline's run over the main graph, from the graph that it was given to the one that it made.

    Steps count from 1, and ``at(0)`` is the start. ``constants`` names the values that are initializers at the start or
    at the end, ``refused`` says for each miss after which step the rule looked.
    """

    execution_provider: str
    dtype: str
    first: tuple[RecordedNode, ...]
    steps: tuple[RecordedStep, ...]
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    constants: frozenset[str] = frozenset()
    refused: tuple[tuple[str, str, int], ...] = ()

    @property
    def start(self) -> tuple[str, ...]:
        """Names of the nodes that the pipeline was given."""
        return tuple(node.name for node in self.first)

    @property
    def end(self) -> tuple[str, ...]:
        """Names of the nodes of the provider's graph."""
        return tuple(node.name for node in self.at(len(self.steps)))

    @property
    def counts(self) -> tuple[int, ...]:
        """How many nodes the graph has at the start and after each step."""
        return tuple(itertools.accumulate((step.gain for step in self.steps), initial=len(self.first)))

    def at(self, index: int) -> tuple[RecordedNode, ...]:
        """The nodes that are there after a step, in the order in which they came; 0 is the start.

        Raises:
            ArgumentError: no number of a step.
        """
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index <= len(self.steps):
            raise wrong_type("index", index, f"the number of a step, 0 (the start) to {len(self.steps)}")
        live = {node.key: node for node in self.first}
        for step in self.steps[:index]:
            stay = {node.key for node in step.added}
            for node in step.removed:
                if node.key not in stay:
                    del live[node.key]
            live |= {node.key: node for node in step.added}
        return tuple(live.values())

    def looked(self, rule: str, node: str) -> int | None:
        """After which step a rule looked at a node and left it alone; None where no such miss was recorded."""
        return next((index for who, where, index in self.refused if (who, where) == (rule, node)), None)

    def runs(self) -> tuple[StepRun, ...]:
        """The steps folded: a row for each rule or pass that ran."""
        return tuple(self._runs())

    def _runs(self) -> Iterator[StepRun]:
        counts = self.counts
        for (stage, rule), found in itertools.groupby(self.steps, key=lambda step: (step.stage, step.rule)):
            steps = list(found)
            rewired = sum(len(step.rewired) for step in steps)
            removed, added = (
                sum(len(getattr(step, side)) for step in steps) - rewired for side in ("removed", "added")
            )
            nodes = counts[steps[-1].index]
            yield StepRun(stage, rule, steps[0].index, len(steps), removed, added, rewired, nodes)

    def to_frame(self) -> pd.DataFrame:
        """A row per step: index, stage, rule, anchor, scope, removed, added, rewired, node, seconds, file, line.

        ``removed``, ``added`` and ``rewired`` are numbers of nodes, ``node`` how many the graph then has.
        """
        import pandas as pd

        rows = [
            [s.index, s.stage, s.rule, s.anchor, s.scope, len(s.removed) - len(s.rewired),
             len(s.added) - len(s.rewired), len(s.rewired), nodes, s.seconds, s.file, s.line]
            for s, nodes in zip(self.steps, self.counts[1:], strict=True)
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=COLUMNS)

    def widget(self) -> PipelineReplay:
        """The steps one by one, with what went and what came."""
        from workbench.widgets.replay import PipelineReplay

        return PipelineReplay(self)

    def save_html(self, path: str | os.PathLike[str]) -> Path:
        """One self-contained page with the steps, offline and without a kernel.

        Raises:
            SaveError: the folder is missing, full or not writable.
        """
        return Path(self.widget().save_html(path))

    def __repr__(self) -> str:
        done = [f"{run.rule} {run.steps}" for run in self.runs() if run.stage in ("fuse", "lower")]
        counts = self.counts
        return (
            f"Recording({self.execution_provider} {self.dtype}: {len(self.steps)} steps, {counts[0]} -> {counts[-1]} "
            f"nodes; {', '.join(done) or 'no rewrites'})"
        )

    def _repr_html_(self) -> str:
        """No seconds in it: the same run looks the same each time."""
        from workbench.viz.replay import replay_html

        return replay_html(self)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

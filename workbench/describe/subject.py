"""What a kind looks at: a package, the facts of its graphs, and the words of its configuration."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import onnx_ir as ir

from workbench.analysis.graph_facts import GraphFacts, Port, graph_facts
from workbench.config.model_config import ModelConfig
from workbench.describe.axes import PAST, PRESENT, named
from workbench.package import Package

_WORDS = ("key", "value")


@dataclasses.dataclass(frozen=True)
class CachePair:
    """A layer's keys, or its values: the port they come in by and the one they leave by."""

    layer: int
    role: str
    past: Port
    present: Port


@dataclasses.dataclass(frozen=True, eq=False)
class Subject:
    """A package on its way into a document."""

    package: Package
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """What was said of it beside its graphs; the kind knows the words."""
    artifacts: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Files of graphs that are not called after their component."""

    @functools.cached_property
    def graphs(self) -> Mapping[str, GraphFacts]:
        """Facts by graph; of a decoder alone with a name for each axis that its loop has to speak of."""
        facts = {key: graph_facts(model) for key, model in self.package.models.items()}
        return {"model": named(facts["model"])} if tuple(facts) == ("model",) else facts

    @property
    def config(self) -> ModelConfig | None:
        """The configuration of a text generator, or None for anything else."""
        return self.package.config if isinstance(self.package.config, ModelConfig) else None

    def with_model(self, key: str, model: ir.Model) -> Subject:
        """The same with another graph."""
        return Subject(dataclasses.replace(self.package, models={**self.package.models, key: model}))

    def artifact(self, key: str) -> str:
        """The file that a graph is saved as."""
        return self.artifacts.get(key, f"{key}.onnx")

    def cache(self, key: str = "model") -> tuple[CachePair, ...]:
        """The key/value cache of a graph, layer by layer, keys first."""
        facts, found = self.graphs[key], []
        pasts, presents = (tuple(map(facts.layers, templates)) for templates in (PAST, PRESENT))
        for layer in sorted({layer for names in pasts for layer in names}):
            for role, past, present in zip(_WORDS, pasts, presents, strict=True):
                if layer in past and layer in present:
                    found.append(CachePair(layer, role, facts.inputs[past[layer]], facts.outputs[present[layer]]))
        return tuple(found)

    def window(self, layer: int, key: str = "model") -> int | None:
        """How many tokens a layer attends to; None for all of them. Of a graph without configuration: as far as its
        operators say."""
        if self.config is not None:
            return self.config.window(layer)
        ops = self.graphs[key].cache_ops(PAST[0]).get(layer, ())
        return next((op.window for op in ops if op.window), None)

    def writes_in_place(self, key: str = "model") -> bool:
        """Whether new keys and values may be written into the buffer of the old ones."""
        return self.graphs[key].shares_buffer(*PAST)


__all__ = ["PAST", "PRESENT", "CachePair", "Subject"]

"""``cache_dependencies``: everything that what a workflow publishes or keeps depends on, with the way to each."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterator
from typing import Any, Literal

from workbench.metadata.analyses.opening import Source, opened
from workbench.metadata.analyses.tables import Table
from workbench.metadata.context import WORKFLOW, Context
from workbench.metadata.diagnostic import Path, show_path
from workbench.metadata.document.ports import AdapterImplementation, Component, OnnxImplementation
from workbench.metadata.document.steps import BranchStep, EmitStep, InvokeStep, LoopStep
from workbench.metadata.document.workflow import Workflow
from workbench.metadata.references import joins

Kind = Literal["component", "adapter", "input", "external_state", "profile"]
_SHOWN = 8  # stations of a way that its text names
KINDS: tuple[Kind, ...] = ("component", "adapter", "input", "external_state", "profile")


@dataclasses.dataclass(frozen=True)
class Link:
    """One station on the way back from what is published: an emit, a carry, a value, a component, a section."""

    what: str
    name: str
    path: Path

    def __str__(self) -> str:
        return f"{self.what} {self.name}"


class _Way:
    """A station and the one before it, towards what is published. ``seed`` is the first, ``length`` counts all."""

    __slots__ = ("before", "length", "link", "seed")

    def __init__(self, link: Link, before: _Way | None = None) -> None:
        self.link, self.before = link, before
        self.seed: Link = link if before is None else before.seed
        self.length: int = 1 if before is None else before.length + 1

    def last(self, most: int) -> list[Link]:
        """The stations nearest to this one, in the order from what is published."""
        links: list[Link] = []
        way: _Way | None = self
        while way is not None and len(links) < most:
            links.append(way.link)
            way = way.before
        return links[::-1]


@dataclasses.dataclass(frozen=True)
class CacheFact:
    """``text`` is the fact as a cache key holds it; ``why`` leads from what is published to it."""

    kind: Kind
    text: str
    way: _Way = dataclasses.field(repr=False, compare=False)

    @property
    def why(self) -> tuple[Link, ...]:
        return tuple(self.way.last(self.way.length))

    @property
    def because(self) -> str:
        """The way in words; of a long one the start and the end."""
        if self.way.length <= _SHOWN:
            return " <- ".join(map(str, self.why))
        between = f"... ({self.way.length - _SHOWN + 1} more)"
        return " <- ".join([str(self.way.seed), between, *map(str, self.way.last(_SHOWN - 1))])

    def __repr__(self) -> str:
        return f"CacheFact({self.text!r} because {self.because})"


@dataclasses.dataclass(frozen=True, repr=False)
class CacheDependencies(Table):
    """In the order component, adapter, input, external state, profile; each sorted by text."""

    entries: tuple[CacheFact, ...]
    COLUMNS = ("kind", "fact", "because", "path")
    BRIEF = COLUMNS[1:3]

    @property
    def facts(self) -> tuple[str, ...]:
        return tuple(entry.text for entry in self.entries)

    def why(self, fact: str) -> tuple[Link, ...]:
        """The way to a fact; empty for one that is none."""
        return next((entry.why for entry in self.entries if entry.text == fact), ())

    def rows(self) -> list[dict[str, Any]]:
        return [
            {"kind": e.kind, "fact": e.text, "because": e.because, "path": show_path(e.way.link.path)}
            for e in self.entries
        ]  # fmt: skip

    def __repr__(self) -> str:
        counts = [f"{n} {kind}" for kind in KINDS if (n := sum(e.kind == kind for e in self.entries))]
        return f"CacheDependencies({', '.join(counts) or 'none'})"


def cache_dependencies(source: Source, *, dialect: str = "auto") -> CacheDependencies:
    """What a cached result of the workflow depends on. Names are taken as the reference does: without their scopes."""
    context = opened(source, dialect)
    if context.workflow is None:
        return CacheDependencies(())
    walk = _Walk(context, context.workflow)
    found: dict[str, CacheFact] = {}
    for fact in walk.facts():
        found.setdefault(fact.text, fact)
    return CacheDependencies(tuple(sorted(found.values(), key=lambda fact: (KINDS.index(fact.kind), fact.text))))


class _Walk:
    """From what is published back to inputs and components, the nearest first."""

    def __init__(self, context: Context, workflow: Workflow) -> None:
        self.context, self.workflow = context, workflow
        self.made: dict[str, list[tuple[InvokeStep, Path]]] = {}
        self.joined: dict[str, list[tuple[str, Path]]] = {}
        for placed in context.steps:
            if isinstance(placed.step, InvokeStep):
                for value in placed.step.outputs.values():
                    self.made.setdefault(value, []).append((placed.step, placed.path))
            elif isinstance(placed.step, BranchStep):
                for tail, _, value in joins(placed.step):
                    self.joined.setdefault(str(tail[1]), []).append((value, (*placed.path, *tail)))
        self.values: dict[str, _Way] = {}
        self.components: dict[str, _Way] = {}
        self._run()

    def _seeds(self) -> Iterator[tuple[str, _Way]]:
        for placed in self.context.steps:
            step, path = placed.step, placed.path
            if isinstance(step, EmitStep):
                yield step.value, _Way(Link("emit into", step.output, path))
            elif isinstance(step, LoopStep):
                for index, carry in enumerate(step.carried):
                    way = _Way(Link("carried cell", carry.cell, (*path, "carried", index)))
                    yield carry.next, way
                    cell = self.workflow.state.get(carry.cell)
                    start = carry.initial or (cell.initializer if cell else None)
                    if start is not None:
                        yield start, way

    def _run(self) -> None:
        waiting = deque(self._seeds())
        while waiting:
            name, way = waiting.popleft()
            if name in self.values:
                continue
            self.values[name] = here = _Way(Link("value", name, way.link.path), way)
            for value, path in self.joined.get(name, ()):
                waiting.append((value, _Way(Link("branch output", name, path), here)))
            for step, path in self.made.get(name, ()):
                there = _Way(Link("component", step.component, path), here)
                self.components.setdefault(step.component, there)
                waiting.extend((value, there) for value in step.inputs.values())

    # --- facts --------------------------------------------------------------------------------------------
    def facts(self) -> Iterator[CacheFact]:
        for name, way in self.components.items():
            component = self.workflow.components.get(name)
            if component is not None:
                yield from _of_component(name, component, way)
        yield from self._sections()
        yield from self._inputs()

    def _sections(self) -> Iterator[CacheFact]:
        document = self.context.document
        for alias, artifact in (document.adapters.artifacts if document.adapters else {}).items():
            link = Link("section adapters, artifact", alias, ("adapters", "artifacts", alias))
            yield CacheFact("adapter", f"adapter:{alias}@{artifact.identity}:{artifact.version}", _Way(link))
        for name, profile in document.profiles.items():
            if profile.generation_affecting:
                link = Link("generation-affecting profile", name, ("profiles", name))
                yield CacheFact("profile", f"profile:{name}@{profile.version}", _Way(link))

    def _inputs(self) -> Iterator[CacheFact]:
        for name, entry in self.workflow.inputs.items():
            if entry.externally_suppliable and name in self.values:
                yield _input(name, self.values[name], (*WORKFLOW, "inputs", name))
        preprocessing = self.context.document.preprocessing
        image = preprocessing.image if preprocessing else None
        for index, output in enumerate(image.outputs if image else ()):
            if output.name in self.values:
                path: Path = ("preprocessing", "image", "outputs", index)
                yield _input(output.name, self.values[output.name], path)


def _input(name: str, way: _Way, path: Path) -> CacheFact:
    return CacheFact("input", f"input:{name}", _Way(Link("supplied from outside", name, path), way))


def _of_component(name: str, component: Component, way: _Way) -> Iterator[CacheFact]:
    path = (*WORKFLOW, "components", name)
    where = Link("implementation", name, (*path, "implementation"))
    yield CacheFact("component", f"component:{name}={_implementation(component)}", _Way(where, way))
    for fact in component.cache_affects_state:
        link = Link("external state", fact, (*path, "cache_affects_state"))
        yield CacheFact("external_state", f"external_state:{fact}", _Way(link, way))


def _implementation(component: Component) -> str:
    found = component.implementation
    if isinstance(found, OnnxImplementation):
        return f"onnx:{found.artifact}"
    if isinstance(found, AdapterImplementation):
        return f"adapter:{found.abi}@{found.version}" + (f":{found.artifact}" if found.artifact is not None else "")
    return "binding"

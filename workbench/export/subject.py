"""What the checks of ``lint`` look at: the words of a config, the facts of its graph, the tokenizer's vocabulary."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench.analysis.graph_facts import GraphFacts
from workbench.errors import Diagnostic, Severity
from workbench.export.keys import DEFAULT_NAMES

Findings = Iterator[Diagnostic]


@dataclasses.dataclass(frozen=True, eq=False)
class Subject:
    """One folder, read. ``facts`` is None where the graph could not be; ``vocabulary`` is one more than the largest
    id of the tokenizer; ``made_for`` is the execution provider of our own manifest, empty in folders of others."""

    config: Mapping[str, Any]
    facts: GraphFacts | None = None
    graph: str = ""
    vocabulary: int | None = None
    made_for: str = ""

    def at(self, path: str) -> Any:
        """What stands at ``model.decoder.head_size``, say; None where nothing does."""
        found: Any = self.config
        for part in path.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return found

    def whole(self, path: str) -> int | None:
        """A whole number, or None for anything else: wrong kinds are another check's business."""
        found = self.at(path)
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def name(self, key: str) -> str:
        """The name or template by which the client looks for an input or an output."""
        for part in ("inputs", "outputs"):
            found = self.at(f"model.decoder.{part}.{key}")
            if isinstance(found, str):
                return found
        return DEFAULT_NAMES.get(key, "")

    def says(self, key: str) -> bool:
        """Whether the config itself names that input or output."""
        return any(isinstance(self.at(f"model.decoder.{part}.{key}"), str) for part in ("inputs", "outputs"))

    @property
    def past(self) -> tuple[str, str]:
        """Templates of the cache's inputs."""
        return self.name("past_key_names"), self.name("past_value_names")

    @property
    def present(self) -> tuple[str, str]:
        """Templates of the cache's outputs."""
        return self.name("present_key_names"), self.name("present_value_names")

    @property
    def providers(self) -> Mapping[str, Mapping[str, Any]]:
        """Entries of ``provider_options`` by name, as far as they can be read."""
        listed = self.at("model.decoder.session_options.provider_options")
        entries = [entry for entry in listed if isinstance(entry, Mapping)] if isinstance(listed, list) else []
        return {str(name): o if isinstance(o, Mapping) else {} for entry in entries for name, o in entry.items()}


@dataclasses.dataclass(frozen=True)
class Check:
    """One kind of contradiction: its code, what it is about, and how it is found."""

    code: str
    about: str
    find: Callable[[Subject], Findings]


@dataclasses.dataclass(frozen=True)
class GraphCheck:
    """A kind that needs the graph."""

    code: str
    about: str
    find: Callable[[Subject, GraphFacts], Findings]


def finding(code: str, message: str, where: str, hint: str, severity: Severity = "error") -> Diagnostic:
    """A finding of ``lint``."""
    return Diagnostic(code, severity, message, where, hint)

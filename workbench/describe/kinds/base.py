"""What a kind of package is: its name, how it is recognised, and how its workflow is written."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from workbench.describe.builder import WorkflowBuilder
from workbench.describe.subject import Subject

Writer = Callable[[Subject, WorkflowBuilder], None]


@dataclasses.dataclass(frozen=True)
class Kind:
    """``fits`` says whether a package is of this kind; ``write`` puts its workflow into a builder; ``spell``, where
    there is one, a workflow that leaves no step to the runtime."""

    name: str
    about: str
    fits: Callable[[Subject], bool]
    write: Writer
    spell: Writer | None = None
    components: Mapping[str, str] = dataclasses.field(default_factory=lambda: {"model": "the one graph"})
    """Graphs by name, and what each is for."""
    optional: Mapping[str, str] = dataclasses.field(default_factory=dict)
    facts: type[Any] | None = None
    """The record of what its graphs do not tell; None where they tell everything."""


__all__ = ["Kind", "Writer"]

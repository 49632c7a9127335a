"""The speculative region: what runs again when a proposal is rejected."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from workbench.metadata.context import Context, Placed
from workbench.metadata.diagnostic import Path
from workbench.metadata.document.steps import InvokeStep, LoopStep


@dataclasses.dataclass(frozen=True)
class Region:
    """An innermost loop that invokes both the proposer and the target, in its body or its setup.

    ``components`` are all that run in it, in order, each with the path of the first step that invokes it.
    """

    loop: Path
    components: dict[str, Path]

    def __repr__(self) -> str:
        return f"Region({len(self.components)} components)"


def regions(context: Context) -> tuple[Region, ...]:
    """The speculative regions of a document; none where no loop invokes both roles."""
    contract = context.document.speculative
    if contract is None:
        return ()
    both = _loops_around(context, contract.proposer) & _loops_around(context, contract.target)
    # A loop that has another of them inside it is not innermost.
    outer = {path for placed in context.steps if placed.path in both for path in _around(placed)}
    found: dict[Path, dict[str, Path]] = {path: {} for path, _ in context.loops if path in both - outer}
    for placed in context.steps if found else ():
        if isinstance(placed.step, InvokeStep):
            for path in _around(placed):
                if path in found:
                    found[path].setdefault(placed.step.component, placed.path)
    return tuple(Region(path, components) for path, components in found.items())


def _around(placed: Placed) -> Iterator[Path]:
    return (outer.path for outer in placed.around if isinstance(outer.step, LoopStep))


def _loops_around(context: Context, component: str) -> set[Path]:
    return {path for placed in context.invokes.get(component, ()) for path in _around(placed)}

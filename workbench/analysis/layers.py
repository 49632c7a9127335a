"""Where a node stands in a model: in which layer of which stack, or in which part outside the layers.

A scope such as ``model.layers.3.mlp.experts.7`` belongs to layer 3 of the stack ``model.layers``: the first number is
the layer, what follows it (experts) lies inside. Everything else is a part: ``embed``, ``norm``, ``lm_head``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

OUTSIDE = "outside"
"""Name of the place of nodes that no part of the model owns: masks, lengths, position tables."""


@dataclasses.dataclass(frozen=True, order=True)
class Spot:
    """``stack`` and ``layer``, or the ``part`` outside of any stack (empty for nodes that no part owns)."""

    stack: str = ""
    layer: int = -1
    part: str = ""

    @property
    def is_layer(self) -> bool:
        """Whether it is a layer of a stack."""
        return self.layer >= 0


class Layout:
    """Names of places, from the scopes of a whole model: names are short where nothing can be confused."""

    def __init__(self, scopes: Iterable[str]) -> None:
        paths = [tuple(scope.split(".")) for scope in dict.fromkeys(scopes) if scope]
        stacks = dict.fromkeys(found[0] for path in paths if (found := _layer(path)))
        self.stacks = tuple(stacks)
        self._parents = {stack[:-1] for stack in stacks} or _single_root(paths)

    def spot(self, scope: str) -> Spot:
        """The place of a scope."""
        path = tuple(scope.split(".")) if scope else ()
        if found := _layer(path):
            stack, layer = found
            return Spot(".".join(stack), layer)
        return Spot(part=self._part(path))

    def stack_name(self, stack: str) -> str:
        """``layers`` where the model has one stack, else the whole path: ``vision.blocks``."""
        return stack.rsplit(".", 1)[-1] if len(self.stacks) < 2 else stack

    def part_scope(self, scope: str) -> str:
        """The dotted path of the part that a scope lies in: ``model.norm`` for what is inside of it."""
        path = tuple(scope.split("."))
        return ".".join(path[: len(self._parent(path)) + 1])

    def _parent(self, path: tuple[str, ...]) -> tuple[str, ...]:
        return max((p for p in self._parents if path[: len(p)] == p), key=len, default=())

    def _part(self, path: tuple[str, ...]) -> str:
        if not path or path in self._parents:
            return ""
        parent = self._parent(path)
        name = path[len(parent)]
        name = "embed" if name.startswith("embed") else name
        return ".".join((*parent, name)) if len(self._parents) > 1 else name


def _layer(path: tuple[str, ...]) -> tuple[tuple[str, ...], int] | None:
    """The stack and the layer's number, at the first component that is a number."""
    for i, component in enumerate(path):
        if component.isdecimal():
            return path[:i], int(component)
    return None


def _single_root(paths: list[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """Without layers: the one module that has parts of its own, so that they are told apart."""
    roots = {path[:1] for path in paths if len(path) > 1}
    return roots if len(roots) == 1 else set()


def ranges(numbers: Iterable[int]) -> str:
    """``0-3,5`` for 0, 1, 2, 3, 5."""
    runs: list[list[int]] = []
    for n in sorted(set(numbers)):
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in runs)

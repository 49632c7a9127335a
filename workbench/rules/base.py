"""The record of a rule: what it looks at, what leaves the graph, what enters it, and one pure function.

Our own record and not a pattern rewriter: a rule walks a few producers and *says why* it leaves a candidate alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence, Set
from typing import get_args

import onnx_ir as ir

from workbench.errors import WorkbenchError, unknown, wrong_type
from workbench.rules.pattern import parse
from workbench.types import MissKind, OpId, Padding, Role, Stage


class Refusal(Exception):
    """Raised by a rewrite that cannot prove its precondition: a sentence for people, and the kind of the miss.

    ``at`` is the node or value that the sentence speaks of, where it is another than the anchor.

    Raises:
        UnknownNameError: there is no such kind.
    """

    def __init__(self, reason: str, *, kind: MissKind = "precondition", at: ir.Node | ir.Value | None = None) -> None:
        super().__init__(reason)
        if kind not in get_args(MissKind):
            raise unknown("kind of a miss", kind, get_args(MissKind))
        self.kind: MissKind = kind
        self.at = at


def every(node: ir.Node) -> bool:
    """The ``looks_at`` of rules for which each anchor is a candidate."""
    return True


@dataclasses.dataclass(frozen=True)
class Rewrite:
    """New nodes to stand where the anchor stood, and which old values they replace.

    A value that takes the place of another takes its name as well, if it is new.

    ``functions`` names the semantic functions (and overloads) used by ``nodes``. ``left`` says what the rewrite could
    have taken with it and did not, and why. ``initializers`` are weights made from others.
    """

    nodes: Sequence[ir.Node]
    replace: Mapping[ir.Value, ir.Value]
    functions: Sequence[tuple[OpId, str]] = ()
    left: Sequence[str] = ()
    initializers: Sequence[ir.Value] = ()


@dataclasses.dataclass(frozen=True)
class Site:
    """Where a rule works: the anchor and what the plan allows there. Never an execution provider.

    ``allows`` holds the optional features of the produced operator that the kernel has; ``inline`` says that no
    function of ours may stay. The model is for reading. A rule that walks ``model.graph`` passes over nodes that were
    replaced before: until the rule is through they are still listed, with ``node.graph`` None and no inputs.
    """

    node: ir.Node
    model: ir.Model
    dtype: ir.DataType
    allows: frozenset[str]
    padding: Padding = "right"
    inline: bool = True


@dataclasses.dataclass(frozen=True)
class Rule:
    """One rewrite rule.

    ``anchors`` are the operators it starts from and ``looks_at`` which of those are candidates (the others are counted
    nowhere). ``removes`` and ``produces`` are what plans are derived from; ``optional`` are features it produces where
    the kernel has them and does without elsewhere. ``needs`` states the precondition in one line, ``pattern`` what the
    rule looks for in a few (see ``workbench.rules.pattern``); it is for reading, and ``rewrite`` is the truth.

    Raises:
        ArgumentError: ``removes``, ``produces`` or ``optional`` is no set.
        WorkbenchError: a pattern that cannot be read, or whose last line is none of the anchors.
    """

    name: str
    stage: Stage
    anchors: tuple[OpId, ...]
    removes: frozenset[OpId]
    produces: frozenset[OpId]
    rewrite: Callable[[Site], Rewrite]
    needs: str
    looks_at: Callable[[ir.Node], bool] = every
    optional: frozenset[OpId] = frozenset()
    roles: frozenset[Role] = frozenset(Role)
    after: tuple[str, ...] = ()
    pattern: str = ""

    def __post_init__(self) -> None:
        for field in ("removes", "produces", "optional"):
            if not isinstance(found := getattr(self, field), Set):
                raise wrong_type(f"{field} of the rule {self.name!r}", found, "a frozenset of OpIds")
        if not isinstance(self.pattern, str):
            raise wrong_type("pattern", self.pattern, "a text of lines, as `out = Gelu(x)`")
        if not self.pattern:
            return
        last, anchors = parse(self.pattern).anchor, [str(use) for use in self.anchors]
        if not set(last.ops) <= set(anchors):
            raise WorkbenchError(
                f"The pattern of rule {self.name!r} ends with {last.wanted}, and the rule starts from "
                f"{' or '.join(anchors)}. The last line of a pattern is the anchor: put it there."
            )

    def __repr__(self) -> str:
        return f"Rule({self.name!r})"

"""How far a graph agrees with a rule's pattern: both are walked from the anchor upwards, line by line."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Literal

import onnx_ir as ir

from workbench.rules.graph import is_constant, use_of, value_in
from workbench.rules.pattern import Input, Line, Pattern, parse

State = Literal["ok", "mismatch", "optional", "unreached"]
UNREACHED = "not reached: what reads it does not agree"


@dataclasses.dataclass(frozen=True)
class Pair:
    """A line of the pattern beside what the graph has there.

    ``state`` is ``optional`` where a node that may be absent is absent, and ``unreached`` where a mismatch below ended
    the walk. ``sentence`` says what differs; ``node`` is the graph node's name, ``value`` the value that was followed.
    """

    pattern: str
    graph: str
    state: State
    sentence: str = ""
    node: str = ""
    value: str = ""

    @property
    def ok(self) -> bool:
        return self.state in ("ok", "optional")

    def __str__(self) -> str:
        sign = {"ok": "=", "optional": "·", "mismatch": "≠", "unreached": "?"}[self.state]
        return f"{sign} {self.pattern}" + (f"   {self.sentence}" if self.sentence else f"   {self.graph}")


@dataclasses.dataclass(frozen=True)
class Alignment:
    """A pair for each line of a pattern, in the pattern's order. Empty where the rule has no pattern."""

    pairs: tuple[Pair, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every line agrees; a rule that still refused did so for something a pattern does not say."""
        return bool(self.pairs) and all(pair.ok for pair in self.pairs)

    @property
    def mismatches(self) -> tuple[Pair, ...]:
        return tuple(pair for pair in self.pairs if pair.state == "mismatch")

    def __repr__(self) -> str:
        if not self.pairs:
            return "Alignment(no pattern)"
        agree = sum(pair.ok for pair in self.pairs)
        return f"Alignment({agree} of {len(self.pairs)} lines agree)"

    def __str__(self) -> str:
        return "\n".join(map(str, self.pairs))


def nearest(pattern: str | Pattern, anchor: ir.Node) -> Alignment:
    """Lay a rule's pattern beside a graph, from the anchor upwards."""
    if isinstance(pattern, str) and not pattern.strip():
        return Alignment()
    read = parse(pattern) if isinstance(pattern, str) else pattern
    walk = _Walk(read)
    walk.node(read.anchor, anchor)
    left = [Pair(str(line), "", "unreached", UNREACHED) for line in read.lines]
    return Alignment(tuple(walk.pairs.get(line.name, pair) for line, pair in zip(read.lines, left, strict=True)))


@dataclasses.dataclass
class _Walk:
    """What has been found so far: a pair for each line's name, and the value that each name stands for."""

    pattern: Pattern
    pairs: dict[str, Pair] = dataclasses.field(default_factory=dict)
    bound: dict[str, ir.Value] = dataclasses.field(default_factory=dict)

    def node(self, line: Line, node: ir.Node) -> None:
        if not _is(node, line):
            self._differs(line, f"pattern wants {line.wanted}, graph has {_called(node)}", node)
            return
        problems = self._inputs(line, node)
        sentence = "; ".join(problems)
        self.pairs[line.name] = Pair(
            str(line), text_of(node), "mismatch" if problems else "ok", sentence, node.name or ""
        )

    def _differs(self, line: Line, sentence: str, node: ir.Node | None, value: ir.Value | None = None) -> None:
        graph = text_of(node) if node is not None else _source(value)
        name = node.name or "" if node is not None else ""
        self.pairs[line.name] = Pair(str(line), graph, "mismatch", sentence, name, _name(value))

    def _inputs(self, line: Line, node: ir.Node) -> list[str]:
        """What is wrong with the inputs, in the order that fits best where any will do."""
        orders = itertools.permutations(line.inputs) if line.any_order else iter([line.inputs])
        tried = [self._tried(order, node) for order in orders]
        best = min(tried, key=lambda walk_and_problems: walk_and_problems[0]._wrong() + len(walk_and_problems[1]))
        self.pairs, self.bound = best[0].pairs, best[0].bound
        return best[1]

    def _tried(self, inputs: tuple[Input, ...], node: ir.Node) -> tuple[_Walk, list[str]]:
        walk = _Walk(self.pattern, dict(self.pairs), dict(self.bound))
        found = [walk._value(wanted, value_in(node, i), i) for i, wanted in enumerate(inputs)]
        return walk, [problem for problem in found if problem]

    def _wrong(self) -> int:
        return sum(not pair.ok for pair in self.pairs.values())

    def _value(self, wanted: Input, value: ir.Value | None, index: int) -> str:
        """Follow one input; what is wrong with it, where no line of its own can say so."""
        if wanted.mark == "_":
            return ""
        if wanted.mark == "-":
            return f"pattern wants nothing as input {index}, graph has {_source(value)}" if value is not None else ""
        line = self.pattern.makes(wanted.name)
        if value is None:
            return self._absent(wanted, line, index)
        if wanted.name in self.bound:
            first = self.bound[wanted.name]
            wants = f"pattern wants {wanted.name} again ({_name(first)!r}), graph has {_name(value)!r}"
            return "" if first is value else wants
        self.bound[wanted.name] = value
        if line is not None:
            return self._made_by(line, value, index)
        constant = wanted.mark != "!" or is_constant(value)
        return "" if constant else f"pattern wants a constant {wanted.name}, graph has {_source(value)}"

    def _absent(self, wanted: Input, line: Line | None, index: int) -> str:
        if wanted.mark == "?":
            return ""
        if line is not None:
            self._differs(line, f"pattern wants {line.wanted}, the graph has no input {index} there", None)
            return ""
        return f"pattern wants {wanted.name} as input {index}, the graph has none"

    def _made_by(self, line: Line, value: ir.Value, index: int) -> str:
        maker = value.producer()
        if maker is not None and _is(maker, line):
            self.node(line, maker)
            return ""
        if not line.optional:
            self._differs(line, f"pattern wants {line.wanted}, graph has {_source(value)}", maker, value)
            return ""
        sentence = f"{line.wanted} may be absent, and is"
        self.pairs[line.name] = Pair(str(line), _source(value), "optional", sentence, "", _name(value))
        return self._value(line.inputs[0], value, index)


def _is(node: ir.Node, line: Line) -> bool:
    return not line.ops or str(use_of(node)) in line.ops


def _name(value: ir.Value | None) -> str:
    return value.name or "" if value is not None else ""


def _called(node: ir.Node) -> str:
    if node.name:
        return f"{use_of(node)} {node.name!r}"
    return f"an unnamed {use_of(node)}, which makes {_name(node.outputs[0]) if node.outputs else ''!r}"


def _source(value: ir.Value | None) -> str:
    """Where a value comes from, in words."""
    if value is None:
        return "nothing"
    maker = value.producer()
    if maker is not None:
        return _called(maker)
    return f"the {'initializer' if value.is_initializer() else 'graph input'} {value.name!r}"


def text_of(node: ir.Node) -> str:
    """A node as a line: ``'/norm' = RMSNormalization(sum, scale)``."""
    inputs = ", ".join(_name(value) or "-" for value in node.inputs)
    return f"{', '.join(_name(value) for value in node.outputs if value.name)} = {use_of(node)}({inputs})"


__all__ = ["Alignment", "Pair", "nearest", "text_of"]

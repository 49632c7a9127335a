"""If -> Where: both branches are computed, one is chosen. LongRopeTable has a body of its own without If.

Only branches that cannot fail and have no effect are taken out of their If: what is not chosen is computed as well, so
an index out of range, an integer division or a random number in it would change what the graph does.

Before::

    out = If(condition) { then: f(x) } { else: g(x) }    # or LongRopeTable(...)

After::

    out = Where(condition, f(x), g(x))                   # or LongRopeTable:without_if(...)
"""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from workbench.functions import LONG_ROPE_TABLE, WITHOUT_IF
from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import new, other_body, rank, required, use_of
from workbench.types import OpId, Stage

IF, WHERE, CONSTANT, IDENTITY = OpId("If"), OpId("Where"), OpId("Constant"), OpId("Identity")
CANNOT_FAIL = frozenset(
    "Abs Add And Cast CastLike Ceil Clip Concat Constant Cos Equal Erf Exp Floor Gelu Greater GreaterOrEqual Identity "
    "LayerNormalization Less LessOrEqual Log MatMul Max Min Mul Neg Not Or RMSNormalization ReduceMax ReduceMean "
    "ReduceSum Relu Sigmoid Sin Softmax Sqrt Sub Tanh Transpose Unsqueeze Where Xor".split()
)
"""Operators of the standard that compute something for every value of inputs of the right types and sizes."""


def rewrite(site: Site) -> Rewrite:
    """Another body for a function of ours; both branches of an If and a choice for each of its outputs."""
    node = site.node
    if use_of(node) != IF:
        return other_body(node, WITHOUT_IF)
    branches = [node.attributes[name].as_graph() for name in ("then_branch", "else_branch") if name in node.attributes]
    if len(branches) != 2 or any(len(branch.outputs) != len(node.outputs) for branch in branches):
        raise Refusal("it has not two branches with an output for each of its own", kind="unmatched")
    for word, branch in zip(("then", "else"), branches, strict=True):
        _check(word, branch)
    _check_outputs(node, branches)
    nodes: list[ir.Node] = []
    (yes, no), condition = [_taken_out(branch, nodes) for branch in branches], required(node, 0)
    chosen = [new(WHERE, [condition, a, b], like=[_like(a, o)]) for a, b, o in zip(yes, no, node.outputs, strict=True)]
    return Rewrite([*nodes, *chosen], {o: c.outputs[0] for o, c in zip(node.outputs, chosen, strict=True)})


def _like(value: ir.Value, old: ir.Value) -> ir.Value:
    return value if old.dtype is None or old.shape is None else old


def _check(word: str, branch: ir.Graph) -> None:
    for inner in branch:
        if inner.domain or inner.op_type not in CANNOT_FAIL:
            reason = f"its {word} branch holds {use_of(inner)}, which may fail or differ where it is not to be computed"
            raise Refusal(reason, at=inner)


def _check_outputs(node: ir.Node, branches: Sequence[ir.Graph]) -> None:
    condition = required(node, 0)
    for number, (yes, no) in enumerate(zip(branches[0].outputs, branches[1].outputs, strict=True)):
        if yes.shape is None or no.shape is None or yes.dtype is None or no.dtype is None:
            raise Refusal(f"nobody knows the shape of output {number} in both branches", kind="unmatched")
        if any(_open(size) for size in (*yes.shape, *no.shape)):
            raise Refusal(f"the sizes of output {number} have no names: nobody knows whether they agree")
        if tuple(yes.shape) != tuple(no.shape):
            raise Refusal(f"branches differ in the shape of output {number} ({yes.shape} and {no.shape})")
        if yes.dtype != no.dtype:
            raise Refusal(f"branches differ in the dtype of output {number} ({yes.dtype} and {no.dtype})")
        if rank(condition) != 0 and not (rank(condition) == 1 and len(yes.shape)):
            raise Refusal("the condition is no single number", kind="unmatched", at=condition)


def _open(size: int | ir.SymbolicDim) -> bool:
    """A size without a name: two of them may differ."""
    return not isinstance(size, int) and size.value is None


def _taken_out(branch: ir.Graph, nodes: list[ir.Node]) -> list[ir.Value]:
    """Copies of the nodes of a branch; its initializers become constants. What its outputs are."""
    now: dict[ir.Value, ir.Value] = {}
    for value in branch.initializers.values():
        if value.const_value is None:
            raise Refusal(f"the initializer {value.name!r} of a branch has no data", kind="unmatched", at=value)
        made = new(CONSTANT, [], like=[value], value=value.const_value)
        nodes.append(made)
        now[value] = made.outputs[0]
    for inner in branch:
        given = [None if value is None else now.get(value, value) for value in inner.inputs]
        copy = ir.node(
            inner.op_type, given, num_outputs=len(inner.outputs), overload=inner.overload,
            attributes={name: attribute.value for name, attribute in inner.attributes.items()} or None,
        )  # fmt: skip
        for value, old in zip(copy.outputs, inner.outputs, strict=True):
            value.type, value.shape = old.type, old.shape
            now[old] = value
        nodes.append(copy)
    return [now.get(value, value) for value in branch.outputs]


def _has_if(node: ir.Node) -> bool:
    return use_of(node) == IF or node.overload == ""


RULE = Rule(
    name="lower/if_to_where",
    stage=Stage.LOWER,
    anchors=(IF, LONG_ROPE_TABLE),
    looks_at=_has_if,
    removes=frozenset({IF}),
    produces=frozenset({WHERE}),
    rewrite=rewrite,
    needs="a function of ours, or branches that cannot fail and agree in shapes and dtypes",
    pattern="out = If | ep_workbench.LongRopeTable(_)",
)

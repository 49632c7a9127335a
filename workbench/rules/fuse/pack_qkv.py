"""GroupQueryAttention(x @ Wq, x @ Wk, x @ Wv) -> GroupQueryAttention(x @ [Wq | Wk | Wv]): one MatMul instead of three.

The packed weight is a Concat of initializers, which the fold stage turns into one, read lazily.

Before::

    query, key, value = MatMul(x, Wq) + bq, MatMul(x, Wk) + bk, MatMul(x, Wv) + bv   # biases: all or none
    out = GroupQueryAttention(query, key, value, ...)

After::

    packed = MatMul(x, Concat(Wq, Wk, Wv)) + Concat(bq, bk, bv)
    out = GroupQueryAttention(packed, -, -, ...)
"""

from __future__ import annotations

import dataclasses

import onnx_ir as ir

from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import attr, attributes_of, last_dim, made_by, new, rank, required, scope, value_in
from workbench.types import MS_DOMAIN, SCOPE_KEY, OpId, Role, Stage

GQA, MATMUL, ADD = OpId("GroupQueryAttention", MS_DOMAIN), OpId("MatMul"), OpId("Add")
TRANSPOSE, CONCAT = OpId("Transpose"), OpId("Concat")


@dataclasses.dataclass(frozen=True)
class Projection:
    """``x @ weight (+ bias)``; ``turned`` says that the weight is stored ``[out, in]`` and transposed in the graph."""

    x: ir.Value
    weight: ir.Value
    bias: ir.Value | None
    turned: bool

    @property
    def width(self) -> int:
        size = self.weight.shape[0 if self.turned else 1] if self.weight.shape is not None else None
        if not isinstance(size, int):
            raise Refusal("the size of a weight is not known", kind="unmatched")
        return size


def rewrite(site: Site) -> Rewrite:
    """Pack three projections of one input; refuse anything else between input and attention."""
    node = site.node
    found = projections(node)
    nodes = _packed(found)
    gqa = new(GQA, [nodes[-1].outputs[0], None, None, *node.inputs[3:]], like=node.outputs, **attributes_of(node))
    for made in nodes:
        made.metadata_props[SCOPE_KEY] = f"{scope(node)}.qkv_proj"
    return Rewrite([*nodes, gqa], dict(zip(node.outputs, gqa.outputs, strict=True)))


def projections(node: ir.Node) -> list[Projection]:
    """The projections that make the first three inputs of a node.

    Raises:
        Refusal: they do not fit into one.
    """
    found = [_named(name, required(node, i)) for i, name in enumerate(("query", "key", "value"))]
    first = found[0]
    if other := next((p for p in found if p.x is not first.x), None):
        raise Refusal("query, key and value project different inputs", at=other.x)
    if len({p.bias is None for p in found}) > 1:
        raise Refusal("only some of query, key and value have a bias")
    if len({p.turned for p in found}) > 1:
        raise Refusal("the weights are stored in different layouts", kind="unmatched")
    return found


def _named(name: str, value: ir.Value) -> Projection:
    try:
        return _projection(value)
    except Refusal as refusal:
        raise Refusal(f"{name}: {refusal}", kind=refusal.kind, at=refusal.at) from None


def _projection(value: ir.Value) -> Projection:
    bias, add = None, made_by(value, ADD)
    if add is not None:
        value, bias = _unbiased(add)
    matmul = made_by(value, MATMUL)
    if matmul is None:
        maker = value.producer()
        made = maker.op_type if maker else "a graph input"
        raise Refusal(f"it is made by {made}, not by a projection's MatMul", at=maker or value)
    if len(value.uses()) > 1 or value.is_graph_output():
        raise Refusal("the projection has another reader", at=value)
    weight = required(matmul, 1)
    transpose = made_by(weight, TRANSPOSE)
    stored = required(transpose, 0) if transpose else weight
    if not stored.is_initializer():
        raise Refusal("the weight is not an initializer", kind="unmatched", at=stored)
    if transpose is not None and list(attr(transpose, "perm", (1, 0))) != [1, 0]:
        raise Refusal("the weight is transposed to what it was", kind="unmatched", at=transpose)
    found = Projection(required(matmul, 0), stored, bias, transpose is not None)
    if bias is not None and (rank(bias), last_dim(bias)) != (1, found.width):
        raise Refusal("what is added is not one number for each column of the projection", at=bias)
    return found


def _unbiased(add: ir.Node) -> tuple[ir.Value, ir.Value]:
    """What a projection's Add adds up: the product and the bias, which exporters write in either order."""
    product, bias = required(add, 0), required(add, 1)
    if _stored(product):
        product, bias = bias, product
    if len(add.outputs[0].uses()) > 1 or not _stored(bias):
        raise Refusal("the projection is followed by an Add that is no bias of it alone", at=add)
    return product, bias


def _stored(value: ir.Value) -> bool:
    return value.const_value is not None or value.is_initializer()


def _packed(found: list[Projection]) -> list[ir.Node]:
    x, turned, dtype = found[0].x, found[0].turned, found[0].weight.dtype or ir.DataType.FLOAT
    rows, width = sum(p.width for p in found), last_dim(x)
    shape = [rows, width] if turned else [width, rows]
    packed = new(CONCAT, [p.weight for p in found], like=[(dtype, shape)], axis=0 if turned else 1)
    nodes = [packed]
    if turned:
        nodes.append(new(TRANSPOSE, packed.outputs, like=[(dtype, [width, rows])], perm=[1, 0]))
    leading = list(x.shape[:-1]) if x.shape is not None else [None, None]
    nodes.append(new(MATMUL, [x, nodes[-1].outputs[0]], like=[(x.dtype or dtype, [*leading, rows])]))
    if found[0].bias is not None:
        bias = new(CONCAT, [p.bias for p in found], like=[(dtype, [rows])], axis=0)
        nodes += [bias, new(ADD, [nodes[-1].outputs[0], bias.outputs[0]], like=[nodes[-1].outputs[0]])]
    return nodes


def _is_unpacked(node: ir.Node) -> bool:
    return value_in(node, 1) is not None


PATTERN = """
? query_weight = Transpose(query_stored!)
query_product = MatMul(x, query_weight)
? query = Add(query_product, query_bias!)
? key_weight = Transpose(key_stored!)
key_product = MatMul(x, key_weight)
? key = Add(key_product, key_bias!)
? value_weight = Transpose(value_stored!)
value_product = MatMul(x, value_weight)
? value = Add(value_product, value_bias!)
out = com.microsoft.GroupQueryAttention(query, key, value)
"""

RULE = Rule(
    name="fuse/pack_qkv",
    stage=Stage.FUSE,
    anchors=(GQA,),
    looks_at=_is_unpacked,
    removes=frozenset(),
    produces=frozenset({OpId("GroupQueryAttention", MS_DOMAIN, "packed_qkv")}),
    rewrite=rewrite,
    roles=frozenset({Role.DECODER}),
    after=("fuse/gqa",),
    needs="three projections of one input with nothing between them and the attention",
    pattern=PATTERN,
)

"""Gelu(Add(x, bias)) -> BiasGelu, or FastGelu where the Gelu is the one with tanh.

Before::

    biased = Add(x, bias)
    out = Gelu(biased)

After::

    out = BiasGelu(x, bias)    # or FastGelu
"""

from __future__ import annotations

import onnx_ir as ir

from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import attr, is_constant, last_dim, made_by, new, rank, required, value_in
from workbench.types import MS_DOMAIN, OpId, Stage

GELU, ADD = OpId("Gelu"), OpId("Add")
BIAS_GELU, FAST_GELU = OpId("BiasGelu", MS_DOMAIN), OpId("FastGelu", MS_DOMAIN)


def rewrite(site: Site) -> Rewrite:
    """Take the bias into the activation."""
    node = site.node
    add = made_by(required(node, 0), ADD)
    if add is None:
        raise Refusal("the biased value was taken already", kind="unmatched")
    x, bias = _in_order(add)
    if rank(bias) != 1 or last_dim(bias) is None or last_dim(bias) != last_dim(x):
        raise Refusal(f"the bias is not one number per entry of the last axis ({bias.shape} beside {x.shape})")
    if len(add.outputs[0].uses()) > 1 or add.outputs[0].is_graph_output():
        raise Refusal("somebody else reads the biased value, which the kernel does not give")
    tanh = attr(node, "approximate", "none") == "tanh"
    made = new(FAST_GELU if tanh else BIAS_GELU, [x, bias], like=node.outputs)
    return Rewrite([made], {node.outputs[0]: made.outputs[0]})


def _in_order(add: ir.Node) -> tuple[ir.Value, ir.Value]:
    first, second = required(add, 0), required(add, 1)
    return (second, first) if is_constant(first) else (first, second)


def _follows_a_bias(node: ir.Node) -> bool:
    add = made_by(value_in(node, 0), ADD)
    return add is not None and sum(is_constant(value) for value in add.inputs) == 1


PATTERN = """
biased = Add{x, bias!}
out = Gelu(biased)
"""

RULE = Rule(
    name="fuse/bias_gelu",
    stage=Stage.FUSE,
    anchors=(GELU,),
    looks_at=_follows_a_bias,
    removes=frozenset({GELU, ADD}),
    produces=frozenset({BIAS_GELU, FAST_GELU}),
    rewrite=rewrite,
    needs="a bias with one axis, and nobody else who reads the biased value",
    pattern=PATTERN,
)

"""LayerNormalization -> primitives in float32.

Before::

    out = LayerNormalization(x, scale, bias)

After::

    centred = Sub(wide, ReduceMean(wide))    # wide = Cast(x)
    normal = Div(centred, Sqrt(Add(ReduceMean(Mul(centred, centred)), epsilon)))
    out = Add(Mul(Cast(normal), scale), bias)
"""

from __future__ import annotations

import numpy as np

from workbench.rules.base import Rewrite, Rule, Site
from workbench.rules.graph import attr, opset, outputs_used, required, value_in
from workbench.rules.lower.rms_norm import check
from workbench.rules.norms import F32, LAYER_PRIMITIVES, NormSpelling
from workbench.types import OpId, Stage

LAYER_NORM = OpId("LayerNormalization")


def rewrite(site: Site) -> Rewrite:
    """``(x - mean) / sqrt(variance + epsilon) * scale + bias``, and the statistics where somebody reads them."""
    node = site.node
    x, axis = required(node, 0), attr(node, "axis", -1)
    check(x, axis, attr(node, "stash_type", 1))
    norm = NormSpelling(x, axis, attr(node, "epsilon", 1e-5), opset(site.model))
    wide = norm.cast(x, F32, norm.shape)
    mean = norm.mean(wide)
    centred = norm.add("Sub", [wide, mean], F32, norm.shape)
    deviation = norm.deviation(centred)
    normal = norm.add("Div", [centred, deviation], F32, norm.shape)
    replace = {node.outputs[0]: norm.scaled(normal, required(node, 1), value_in(node, 2), node.outputs[0])}
    if outputs_used(node, 1):
        replace[node.outputs[1]] = mean
    if outputs_used(node, 2):
        one = norm.constant(np.array(1, np.float32))
        replace[node.outputs[2]] = norm.add("Div", [one, deviation], F32, norm.reduced)
    return Rewrite(norm.nodes, replace)


RULE = Rule(
    name="lower/layer_norm",
    stage=Stage.LOWER,
    anchors=(LAYER_NORM,),
    removes=frozenset({LAYER_NORM}),
    produces=frozenset(OpId(name) for name in LAYER_PRIMITIVES),
    rewrite=rewrite,
    needs="statistics in float32",
    pattern="out = LayerNormalization(x, scale, bias?)",
)

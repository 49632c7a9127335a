"""RMSNormalization, or ONNX Runtime's SimplifiedLayerNormalization -> primitives in float32.

Before::

    out = RMSNormalization | SimplifiedLayerNormalization(x, scale)

After::

    wide = Cast(x)
    normal = Div(wide, Sqrt(Add(ReduceMean(Mul(wide, wide)), epsilon)))
    out = Mul(Cast(normal), scale)
"""

from __future__ import annotations

import onnx_ir as ir

from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import attr, opset, outputs_used, rank, required
from workbench.rules.norms import F32, RMS_PRIMITIVES, NormSpelling
from workbench.types import OpId, Stage

RMS_NORM, SIMPLIFIED = OpId("RMSNormalization"), OpId("SimplifiedLayerNormalization")


def rewrite(site: Site) -> Rewrite:
    """``x / sqrt(mean(x * x) + epsilon) * scale``, all but the last product in float32."""
    node = site.node
    x, scale, axis = required(node, 0), required(node, 1), attr(node, "axis", -1)
    check(x, axis, attr(node, "stash_type", 1))
    if outputs_used(node, 1):
        raise Refusal("somebody reads the inverse deviation")
    norm = NormSpelling(x, axis, attr(node, "epsilon", 1e-5), opset(site.model))
    wide = norm.cast(x, F32, norm.shape)
    normal = norm.add("Div", [wide, norm.deviation(wide)], F32, norm.shape)
    result = norm.scaled(normal, scale, None, node.outputs[0])
    return Rewrite(norm.nodes, {node.outputs[0]: result})


def check(x: ir.Value, axis: int, stash_type: int) -> None:
    """What the spelling needs to know.

    Raises:
        Refusal: the axes or the dtype are not known, or statistics are not in float32.
    """
    if stash_type != ir.DataType.FLOAT:
        raise Refusal("stash_type is not float32")
    if x.dtype is None:
        raise Refusal("the dtype of its input is not known", kind="unmatched")
    if rank(x) is None and axis >= 0:
        raise Refusal("the axes to normalise are not known", kind="unmatched")


RULE = Rule(
    name="lower/rms_norm",
    stage=Stage.LOWER,
    anchors=(RMS_NORM, SIMPLIFIED),
    removes=frozenset({RMS_NORM, SIMPLIFIED}),
    produces=frozenset(OpId(name) for name in RMS_PRIMITIVES),
    rewrite=rewrite,
    needs="statistics in float32",
    pattern="out = RMSNormalization | SimplifiedLayerNormalization(x, scale)",
)

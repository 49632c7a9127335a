"""RMSNormalization -> SimplifiedLayerNormalization, ONNX Runtime's older name for the same computation.

Before::

    out = RMSNormalization(x, scale)

After::

    out = SimplifiedLayerNormalization(x, scale)
"""

from __future__ import annotations

import onnx_ir as ir

from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import attr, new, required
from workbench.types import OpId, Stage

RMS_NORM, SIMPLIFIED = OpId("RMSNormalization"), OpId("SimplifiedLayerNormalization")


def rewrite(site: Site) -> Rewrite:
    """One node for one node."""
    node = site.node
    if attr(node, "stash_type", 1) != ir.DataType.FLOAT:
        raise Refusal("stash_type is not float32, in which the kernel computes")
    made = new(
        SIMPLIFIED, [required(node, 0), required(node, 1)], like=node.outputs[:1],
        axis=attr(node, "axis", -1), epsilon=attr(node, "epsilon", 1e-5), stash_type=1,
    )  # fmt: skip
    return Rewrite([made], {node.outputs[0]: made.outputs[0]})


RULE = Rule(
    name="lower/simplify_rms_norm",
    stage=Stage.LOWER,
    anchors=(RMS_NORM,),
    removes=frozenset({RMS_NORM}),
    produces=frozenset({SIMPLIFIED}),
    rewrite=rewrite,
    needs="statistics in float32",
    pattern="out = RMSNormalization(x, scale)",
)

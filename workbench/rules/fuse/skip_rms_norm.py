"""RMSNormalization(Add(x, skip)) -> SkipSimplifiedLayerNormalization, the sum as its fourth output.

Before::

    sum = Add(x, skip)
    out = RMSNormalization(sum, scale)

After::

    out, -, -, sum = SkipSimplifiedLayerNormalization(x, skip, scale)
"""

from __future__ import annotations

from workbench.rules.base import Rewrite, Rule, Site
from workbench.rules.graph import attr, new
from workbench.rules.residual import ADD, normalises_a_sum, residual
from workbench.types import MS_DOMAIN, OpId, Stage

SKIP, RMS_NORM = OpId("SkipSimplifiedLayerNormalization", MS_DOMAIN), OpId("RMSNormalization")


def rewrite(site: Site) -> Rewrite:
    """Take the residual sum into the norm; whoever else reads the sum reads the fourth output."""
    node, found = site.node, residual(site.node)
    fused = new(
        SKIP, [found.x, found.skip, found.scale], like=[node.outputs[0], None, None, found.total],
        epsilon=attr(node, "epsilon", 1e-5),
    )  # fmt: skip
    for unused in fused.outputs[1:3]:
        unused.name = ""  # absent outputs have an empty name
    return Rewrite([fused], {node.outputs[0]: fused.outputs[0], found.total: fused.outputs[3]})


PATTERN = """
sum = Add(x, skip)
out = RMSNormalization(sum, scale)
"""

RULE = Rule(
    name="fuse/skip_rms_norm",
    stage=Stage.FUSE,
    anchors=(RMS_NORM,),
    looks_at=normalises_a_sum,
    removes=frozenset({RMS_NORM, ADD}),
    produces=frozenset({SKIP}),
    rewrite=rewrite,
    needs="both summands are computed and have the shape and dtype of the sum",
    pattern=PATTERN,
)

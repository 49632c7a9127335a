"""Gelu of the standard -> com.microsoft.Gelu or FastGelu, where only those have kernels.

Before::

    out = Gelu(x)

After::

    out = com.microsoft.Gelu(x)    # or com.microsoft.FastGelu
"""

from __future__ import annotations

from workbench.rules.base import Rewrite, Rule, Site
from workbench.rules.graph import attr, new, required
from workbench.types import MS_DOMAIN, OpId, Stage

GELU, MS_GELU, FAST_GELU = OpId("Gelu"), OpId("Gelu", MS_DOMAIN), OpId("FastGelu", MS_DOMAIN)


def rewrite(site: Site) -> Rewrite:
    """One node for one node: the formula with erf, or the one with tanh."""
    node = site.node
    use = FAST_GELU if attr(node, "approximate", "none") == "tanh" else MS_GELU
    made = new(use, [required(node, 0)], like=node.outputs)
    return Rewrite([made], {node.outputs[0]: made.outputs[0]})


RULE = Rule(
    name="lower/gelu_to_ms",
    stage=Stage.LOWER,
    anchors=(GELU,),
    removes=frozenset({GELU}),
    produces=frozenset({MS_GELU, FAST_GELU}),
    rewrite=rewrite,
    needs="nothing",
    pattern="out = Gelu(x)",
)

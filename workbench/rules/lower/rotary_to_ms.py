"""RotaryEmbedding of the standard -> com.microsoft.RotaryEmbedding, where only that one has a kernel.

Before::

    out = RotaryEmbedding(x, cos, sin, positions)

After::

    out = com.microsoft.RotaryEmbedding(x, positions, cos, sin)
"""

from __future__ import annotations

from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import attr, new, rank, required, value_in
from workbench.types import MS_DOMAIN, OpId, Stage

ROTARY, MS_ROTARY = OpId("RotaryEmbedding"), OpId("RotaryEmbedding", MS_DOMAIN)


def rewrite(site: Site) -> Rewrite:
    """The same inputs in another order: positions come second."""
    node = site.node
    positions = value_in(node, 3)
    if positions is None:
        raise Refusal("its tables are gathered already, there are no positions to pass on", kind="unmatched")
    heads = attr(node, "num_heads", 0)
    if rank(node.inputs[0]) != 4 and not heads:
        raise Refusal("num_heads is not set for an input of three axes", kind="unmatched")
    dim = attr(node, "rotary_embedding_dim", 0)
    inputs = [required(node, 0), positions, required(node, 1), required(node, 2)]
    # The kernel asks for num_heads whenever only a part of each head is rotated.
    made = new(
        MS_ROTARY, inputs, like=node.outputs,
        interleaved=attr(node, "interleaved", 0), rotary_embedding_dim=dim, num_heads=heads,
    )  # fmt: skip
    return Rewrite([made], {node.outputs[0]: made.outputs[0]})


RULE = Rule(
    name="lower/rotary_to_ms",
    stage=Stage.LOWER,
    anchors=(ROTARY,),
    removes=frozenset({ROTARY}),
    produces=frozenset({MS_ROTARY}),
    rewrite=rewrite,
    needs="tables with positions",
    pattern="out = RotaryEmbedding(x, cos, sin, positions)",
)

"""LongRopeTable -> its body without If: a Where over both tables.

Before::

    out = LongRopeTable(...)    # its body chooses with an If

After::

    out = LongRopeTable:without_if(...)    # its body chooses with a Where
"""

from __future__ import annotations

import onnx_ir as ir

from workbench.functions import LONG_ROPE_TABLE, WITHOUT_IF
from workbench.rules.base import Refusal, Rewrite, Rule, Site
from workbench.rules.graph import other_body, use_of
from workbench.types import OpId, Stage

IF, WHERE = OpId("If"), OpId("Where")


def rewrite(site: Site) -> Rewrite:
    """Another body for a function of ours; a refusal for an If from elsewhere."""
    if use_of(site.node) == IF:
        raise Refusal(
            "an If of a graph from elsewhere is left: nobody has shown that its branches have equal shapes and may "
            "both be computed",
            kind="unmatched",
        )
    return other_body(site.node, WITHOUT_IF)


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
    needs="a function of ours",
    pattern="out = ep_workbench.LongRopeTable(_)",
)

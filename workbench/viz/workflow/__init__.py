"""Workflows for people: the picture of a document where nothing runs, the moments of a run."""

from workbench.viz.workflow.moments import Moment, SeenValue, moments, node_of, pinned
from workbench.viz.workflow.svg import to_svg

__all__ = ["Moment", "SeenValue", "moments", "node_of", "pinned", "to_svg"]

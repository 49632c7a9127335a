"""The workflow picture for pages where nothing runs."""

from workbench.viz.workflow.svg import to_svg

__all__ = ["to_svg"]

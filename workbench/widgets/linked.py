"""``link``: what is chosen in one view is chosen in the others."""

from __future__ import annotations

from typing import Any

import traitlets

from workbench.errors import wrong_type
from workbench.widgets.view import View

LINKED = ("node", "scope", "rule", "op", "execution_provider")
"""What a person can choose in any view."""


def link(*views: Any) -> tuple[traitlets.link, ...]:
    """Link what is chosen (node, scope, rule, op, execution_provider) in several views, both ways.

    The first view's choice is taken over by the others. ``unlink()`` of each returned link undoes it.

    Args:
        views: of this package; an ``EpCompare`` stands for its table, a ``WorkflowView`` for its steps.

    Raises:
        ArgumentError: something is no view.
    """
    found = [getattr(view, "view", view) for view in views]
    for view in found:
        if not isinstance(view, View):
            raise wrong_type("each of views", view, "a view")
    return tuple(traitlets.link((found[0], name), (other, name)) for other in found[1:] for name in LINKED)

"""A view with controls around it: what it prints as, and the page it is saved to, are the view's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ipywidgets as widgets

from workbench.widgets.view import WIDGET_MIME, View, faces


class AroundView(widgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """A column of widgets about one ``view``."""

    view: View

    @property
    def result(self) -> Any:
        """What the view shows."""
        return self.view.result

    def save_html(self, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
        """One self-contained page with the view alive in it, as it stands: no kernel, no network.

        Raises:
            SaveError: the folder is missing, full or not writable.
        """
        return self.view.save_html(path, title=title or self.view.label)

    def __repr__(self) -> str:
        return repr(self.result)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        live = super()._repr_mimebundle_(**options)
        data, _ = faces(self.result)
        return data | ({WIDGET_MIME: live[WIDGET_MIME]} if WIDGET_MIME in live else {})

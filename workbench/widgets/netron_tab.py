"""The panel's last tab: two graphs in two Netrons, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ipywidgets as widgets

from workbench.errors import WorkbenchError
from workbench.widgets.netron import ABOUT, NetronView, open_in_netron
from workbench.widgets.panel_views import error_html, quiet_html

_HEIGHT = 560
_EMPTY = "No graphs yet: press Run first."
_NONE = "(none)"


class NetronTab(widgets.VBox):  # type: ignore[misc]  # ipywidgets has no types
    """Choose one or two graphs, open them, close them."""

    def __init__(self) -> None:
        self._graphs: dict[str, Any] = {}
        self._views: list[NetronView] = []
        layout = widgets.Layout(width="230px")
        self.left = widgets.Dropdown(options=[_NONE], description="Left", layout=layout)
        self.right = widgets.Dropdown(options=[_NONE], description="Right", layout=layout)
        self.open_button = widgets.Button(description="Open in Netron", icon="external-link")
        self.close_button = widgets.Button(description="Close", icon="times", disabled=True)
        self.open_button.on_click(lambda _: self.open_views())
        self.close_button.on_click(lambda _: self.close_views())
        self.message = widgets.HTML()
        half = widgets.Layout(flex="1 1 0", min_width="320px", margin="0 6px 0 0")
        self.frames = [widgets.HTML(layout=half), widgets.HTML(layout=half)]
        row = widgets.Layout(flex_flow="row wrap", align_items="center")
        controls = widgets.HBox([self.left, self.right, self.open_button, self.close_button], layout=row)
        views = widgets.HBox(self.frames, layout=widgets.Layout(flex_flow="row wrap", width="100%"))
        super().__init__([controls, self.message, views])
        self.offer({})

    def offer(self, graphs: Mapping[str, Any]) -> None:
        """Name the graphs that can be opened; those open now are closed."""
        self.close_views()
        self._graphs = dict(graphs)
        names = list(graphs) or [_NONE]
        self.left.options, self.right.options = names, [*names, _NONE] if graphs else names
        self.left.value, self.right.value = names[0], names[min(1, len(names) - 1)]
        self.open_button.disabled = not graphs
        self.message.value = quiet_html(ABOUT if graphs else _EMPTY)

    def open_views(self) -> None:
        """Open what is chosen on the left and on the right."""
        self.close_views()
        self.message.value = quiet_html("Starting Netron ...")
        try:
            for frame, box in zip(self.frames, (self.left, self.right), strict=True):
                if box.value in self._graphs:
                    view = open_in_netron(self._graphs[box.value], name=box.value, height=_HEIGHT)
                    self._views.append(view)
                    frame.value = view.frame_html()
        except WorkbenchError as error:
            self.close_views()
            self.message.value = error_html(str(error))
            return
        self.close_button.disabled = not self._views
        self.message.value = self._views[0].notice_html() + quiet_html(ABOUT) if self._views else ""

    def close_views(self) -> None:
        """End every Netron that this tab started."""
        for view in self._views:
            view.close()
        self._views = []
        for frame in self.frames:
            frame.value = ""
        self.close_button.disabled = True

    @property
    def views(self) -> tuple[NetronView, ...]:
        """The Netrons that are open."""
        return tuple(self._views)

    def __repr__(self) -> str:
        return f"NetronTab({', '.join(view.name for view in self._views) or 'closed'})"

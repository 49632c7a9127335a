"""What all views have in common: a frozen result in, binary columns out to the browser, the result's own text and
pictures wherever no kernel runs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from workbench.widgets.esm import css, esm
from workbench.widgets.pack import Column, pack

WIDGET_MIME = "application/vnd.jupyter.widget-view+json"


class View(anywidget.AnyWidget):
    """A view of one frozen result.

    A subclass names its browser files (``module``, ``styles``) and says in ``columns`` and ``facts`` what the browser
    gets. ``node``, ``scope``, ``rule``, ``op`` and ``execution_provider`` are what a person selected: names, empty for
    nothing. Views are linked by them: ``traitlets.link((one, "node"), (other, "node"))``.
    """

    module: ClassVar[str]
    styles: ClassVar[tuple[str, ...]] = ()
    label: ClassVar[str] = "view"

    node = traitlets.Unicode("").tag(sync=True)
    scope = traitlets.Unicode("").tag(sync=True)
    rule = traitlets.Unicode("").tag(sync=True)
    op = traitlets.Unicode("").tag(sync=True)
    execution_provider = traitlets.Unicode("").tag(sync=True)

    _facts = traitlets.Dict().tag(sync=True)
    _header = traitlets.Dict().tag(sync=True)
    _blob = traitlets.Bytes(b"").tag(sync=True)

    def __init_subclass__(cls, **options: Any) -> None:
        if "module" in cls.__dict__:
            cls._esm = esm(cls.module)
            cls._css = css(*cls.styles)
        super().__init_subclass__(**options)

    def __init__(self, result: Any, **options: Any) -> None:
        self._result = result
        header, blob = pack(self.columns(result))
        super().__init__(_facts=dict(self.facts(result)), _header=header, _blob=blob, **options)

    @property
    def result(self) -> Any:
        """The frozen result that is shown."""
        return self._result

    def columns(self, result: Any) -> Mapping[str, Column]:
        """Long lists for the browser, by name."""
        return {}

    def facts(self, result: Any) -> Mapping[str, Any]:
        """Everything short, as JSON."""
        return {}

    def state(self) -> dict[str, Any]:
        """The traits that a page without a kernel needs, the buffer apart: what ``save_html`` writes."""
        names = self.traits(sync=True)
        return {name: getattr(self, name) for name in names if _is_ours(name)}

    def save_html(self, path: str | os.PathLike[str], *, title: str | None = None) -> Path:
        """One self-contained page with this view alive in it: no kernel, no network.

        Raises:
            SaveError: the folder is missing, full or not writable.
        """
        from workbench.widgets.report import Report

        return Report(title or self.label, self).save_html(path)

    def __repr__(self) -> str:
        return repr(self._result)

    def _repr_mimebundle_(self, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The live view, and the result's own faces for pages where no kernel runs."""
        live = super()._repr_mimebundle_(**options)
        data, metadata = faces(self._result)
        shown = live[0] if isinstance(live, tuple) else live
        if shown and WIDGET_MIME in shown:
            data[WIDGET_MIME] = shown[WIDGET_MIME]
        return data, metadata


def faces(result: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A result's static forms by media type, and their metadata."""
    data: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    if hasattr(result, "_repr_mimebundle_"):
        bundle = result._repr_mimebundle_()
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
    elif hasattr(result, "_repr_html_"):
        data = {"text/html": result._repr_html_()}
    return {"text/plain": repr(result)} | dict(data), dict(metadata)


def _is_ours(name: str) -> bool:
    own = {"_facts", "_header"}
    return name in own or not name.startswith("_") and name not in {"layout", "tabbable", "tooltip", "comm"}

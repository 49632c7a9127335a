"""Views and results as one HTML file that opens anywhere, offline: for issues, reviews and continuous integration."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

from workbench.analysis.markup import escape
from workbench.viz.figure import write_text
from workbench.viz.page import page
from workbench.widgets.view import View, faces

# The few lines of a widget's model that views use, without a kernel behind them.
SHIM = """
class Model {
  constructor(state) { this.state = state; this.handlers = new Map(); }
  get(name) { return this.state[name]; }
  set(name, value) {
    if (this.state[name] === value) return;
    this.state[name] = value;
    for (const kind of ["change:" + name, "change"]) for (const f of this.handlers.get(kind) || []) f();
  }
  on(kind, f) { if (!this.handlers.has(kind)) this.handlers.set(kind, new Set()); this.handlers.get(kind).add(f); }
  off(kind, f) { this.handlers.get(kind)?.delete(f); }
  save_changes() {}
  send() {}
}
globalThis.epWorkbench ??= { views: {}, start(id, name) {
  const read = (part) => document.getElementById(id + "-" + part).textContent;
  const bytes = Uint8Array.from(atob(read("blob")), (c) => c.charCodeAt(0));
  const state = Object.assign(JSON.parse(read("state")), { _blob: new DataView(bytes.buffer) });
  const el = document.getElementById(id);
  el.replaceChildren();
  this.views[name].render({ model: new Model(state), el });
} };
"""


class Report:
    """A page of views and results in the order given.

    Views (``GraphDiffView`` and the others) stay alive in it; results are shown by their table or picture.

    Args:
        title: of the page.
        parts: views, results, or ``(heading, view or result)``.
    """

    def __init__(self, title: str, *parts: Any) -> None:
        self.title = title
        self.parts = tuple(_headed(part) for part in parts)

    def to_html(self) -> str:
        """The document that :meth:`save_html` writes."""
        return page(self.title, "", self.sections())

    def sections(self) -> list[tuple[str, str]]:
        """Heading and HTML of each part; the code of a kind of view comes with the first of them."""
        known: set[str] = set()
        return [(heading, section(part, f"view-{i}", known)) for i, (heading, part) in enumerate(self.parts)]

    def save_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the page in one step: it is there whole, or what was there before is.

        Raises:
            SaveError: the folder is missing, full or not writable.
        """
        return write_text(path, self.to_html())

    def __repr__(self) -> str:
        return f"Report({self.title!r}: {', '.join(heading for heading, _ in self.parts) or 'nothing in it'})"

    def _repr_html_(self) -> str:
        return "".join(f"<h3>{escape(heading)}</h3>{static(part)}" for heading, part in self.parts)


def _headed(part: Any) -> tuple[str, Any]:
    if isinstance(part, tuple) and len(part) == 2:
        return str(part[0]), part[1]
    return (part.label if isinstance(part, View) else type(part).__name__), part


def section(part: Any, identity: str, known: set[str]) -> str:
    """A view alive, with its static form until its script has run; a result as it shows itself.

    A box of widgets names the view in it that can live without a kernel as its ``view``.
    """
    part = part if isinstance(part, View) else getattr(part, "view", part)
    if not isinstance(part, View):
        return f'<div class="wide">{static(part)}</div>'
    blob = base64.b64encode(part._blob).decode("ascii")
    code = "" if part.module in known else _code(part)
    known.add(part.module)
    return (
        f"{code}"
        f'<div id="{identity}">{static(part.result)}</div>'
        f'<script type="application/json" id="{identity}-state">{_json(part.state())}</script>'
        f'<script type="text/plain" id="{identity}-blob">{blob}</script>'
        f'<script type="module">globalThis.epWorkbench.start({identity!r}, {part.module!r});</script>'
    )


def _code(view: View) -> str:
    """A kind of view: its style and its module, once a page."""
    script = f"{view._esm.replace('export default', 'const epWorkbenchView =')}\n{SHIM}"
    keep = f"globalThis.epWorkbench.views[{view.module!r}] = epWorkbenchView;"
    return f'<style>{view._css}</style><script type="module">{_harmless(script)}\n{keep}</script>'


def static(result: Any) -> str:
    """The best picture or table of a result, as HTML."""
    data, _ = faces(result)
    for kind in ("text/html", "image/svg+xml"):
        if kind in data:
            return str(data[kind])
    if "image/png" in data:
        return f'<img alt="{escape(data["text/plain"])}" src="data:image/png;base64,{data["image/png"]}">'
    return f"<pre>{escape(data['text/plain'])}</pre>"


def _json(state: Any) -> str:
    """JSON that no text in it can end: a script element is closed by its first end tag, quoted or not."""
    return json.dumps(state, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _harmless(script: str) -> str:
    if "</script" in script.lower():
        raise ValueError("a view's own script must not hold an end tag of script")
    return script

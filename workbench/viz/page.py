"""The frame of an HTML report: one file without scripts and without anything to fetch, for light and dark
screens.
"""

from __future__ import annotations

import base64

from workbench.analysis.markup import escape
from workbench.viz.figure import Figure

CSS = """
:root { color-scheme: light dark; --ink: #1f2328; --quiet: #5f6670; --page: #ffffff; --line: #d8dadf;
  --card: #fafaf8; --stripe: #f4f5f6; --accent: #0072b2; --bad: #b04a00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8eb; --quiet: #a3a9b2; --page: #16181b; --line: #3a3e45; --card: #fafaf8;
    --stripe: #1e2125; --accent: #6cb8ea; --bad: #f0a060; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 72rem; background: var(--page); color:
var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; } h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .25rem; } p { margin: .4rem 0; } .quiet { color: var(--quiet); }
nav a { color: var(--accent); margin-right: 1rem; } .verdict { font-size: 1.05rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; margin: .5rem 0; font-size: .87rem; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { border-bottom: 2px solid var(--line); white-space: nowrap; } tbody tr:nth-child(even) { background:
var(--stripe); } td { overflow-wrap: break-word; } ul { margin: .3rem 0; padding-left: 1.2rem;
} img { display: block; max-width: 100%; height: auto; margin: .75rem 0; border: 1px solid var(--line);
  border-radius: 6px; background: var(--card); }
code { font-size: .9em; } .differs { color: var(--bad); font-weight: 600; }
"""


def page(title: str, intro: str, sections: list[tuple[str, str]]) -> str:
    """A whole HTML document; ``title`` and section names are escaped, ``intro`` and bodies are HTML
    already.
    """
    links = "".join(f'<a href="#{_anchor(name)}">{escape(name)}</a>' for name, _ in sections)
    parts = "".join(f'<section id="{_anchor(name)}"><h2>{escape(name)}</h2>{body}</section>' for name, body in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{CSS}</style></head>"
        f"<body><main><h1>{escape(title)}</h1>{intro}<nav>{links}</nav>{parts}</main></body></html>\n"
    )


def _anchor(name: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in name.lower())


def image(figure: Figure) -> str:
    """The picture inside the page, with its text for those who cannot see it."""
    data = base64.b64encode(figure.to_png()).decode("ascii")
    width = int(figure.figure.get_size_inches()[0] * 96)
    return f'<img alt="{escape(figure.alt)}" width="{width}" src="data:image/png;base64,{data}">'


def wide(html: str) -> str:
    """Let a table scroll sideways on its own."""
    return f'<div class="wide">{html}</div>'

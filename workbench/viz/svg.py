"""A small writer of SVG pictures that stay readable wherever notebooks are shown.

Only presentation attributes (viewers strip style sheets), whole coordinates (the same bytes on every machine), a light
card of its own behind everything (pages may be white or dark), and texts that are escaped and never measured.
"""

from __future__ import annotations

from workbench.analysis.markup import escape
from workbench.viz.figure import CARD, INK, QUIET, RULE

FONT = "DejaVu Sans, Verdana, Helvetica, sans-serif"
MARGIN = 16
SAME, REMOVED, ADDED, CHANGED = "#6b7280", "#d55e00", "#0072b2", "#cc79a7"


class Svg:
    """A picture that grows as things are drawn; ``str()`` of it is the document."""

    def __init__(self, title: str, description: str) -> None:
        self.title, self.description = title, description
        self.parts: list[str] = []
        self.width = self.height = 2 * MARGIN

    def rect(
        self, x: int, y: int, width: int, height: int, fill: str, *, dashed: bool = False, radius: int = 0
    ) -> None:
        """A filled box; a dashed one is paler inside and has a dashed edge of the same colour."""
        self.grow(x + width, y + height)
        edge = f' fill-opacity="0.35" stroke="{fill}" stroke-dasharray="3 2"' if dashed else ""
        corner = f' rx="{radius}"' if radius else ""
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{fill}"{corner}{edge}/>')

    def line(self, x1: int, y1: int, x2: int, y2: int, stroke: str = RULE) -> None:
        """A thin line."""
        self.grow(max(x1, x2), max(y1, y2))
        self.parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{stroke}"/>')

    def text(
        self, x: int, y: int, text: str, *, size: int = 12, anchor: str = "start", fill: str = INK, bold: bool = False
    ) -> None:
        """One line of text on the baseline ``y``; ``anchor`` is start, middle or end."""
        wide = text_width(text, size)
        self.grow(x + (wide if anchor == "start" else wide // 2 if anchor == "middle" else 0), y + size // 3)
        weight = ' font-weight="bold"' if bold else ""
        place = f' text-anchor="{anchor}"' if anchor != "start" else ""
        self.parts.append(
            f'<text x="{x}" y="{y}" font-size="{size}" fill="{fill}"{place}{weight}>{escape(printable(text))}</text>'
        )

    def grow(self, right: int, bottom: int) -> None:
        """Make room up to a point."""
        self.width = max(self.width, right + MARGIN)
        self.height = max(self.height, bottom + MARGIN)

    def __str__(self) -> str:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
            f'viewBox="0 0 {self.width} {self.height}" role="img" font-family="{FONT}">'
            f"<title>{escape(printable(self.title))}</title><desc>{escape(printable(self.description))}</desc>"
            f'<rect width="{self.width}" height="{self.height}" rx="6" fill="{CARD}" stroke="{RULE}"/>'
            f"{''.join(self.parts)}</svg>"
        )


def text_width(text: str, size: int = 12) -> int:
    """About how wide a text is: wide enough for the widest of the usual fonts."""
    return len(text) * size * 64 // 100


def shorten(text: str, most: int) -> str:
    """The head and the tail of a long name."""
    return text if len(text) <= most else f"{text[: (most + 1) // 2 - 1]}…{text[len(text) - most // 2 :]}"


def printable(text: str) -> str:
    """Without the control characters that XML does not allow at all."""
    return "".join(
        c if c >= " " and c not in "\x7f\ufffe\uffff" and not "\ud800" <= c <= "\udfff" else "�" for c in text
    )


def say(text: str) -> str:
    """A picture of one sentence: what is shown when there is nothing to draw."""
    svg = Svg(text, text)
    svg.text(MARGIN, MARGIN + 12, text, fill=QUIET)
    return str(svg)

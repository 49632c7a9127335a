"""The graph diff as SVG for pages where nothing runs: presentation attributes only, whole numbers, the same bytes for
the same diff, on a light card of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workbench.analysis.markup import escape
from workbench.viz.figure import CARD, INK, QUIET
from workbench.viz.graph.look import (
    CHIP_INKS,
    FRAME_EDGE,
    FRAMES,
    GROUP_EDGE,
    LOOKS,
    Picture,
    line_look,
    name,
    picture,
    status_of,
)
from workbench.viz.graph.scene import SIGNS
from workbench.viz.graph.tree import GROUP
from workbench.viz.graph.words import clean, width

TOP = 44
"""Room above the graph for title and legend."""

NARROWEST = 620
FONT = 'font-family="DejaVu Sans, Verdana, Segoe UI, sans-serif"'


def to_svg(diff: Any) -> str:
    """The picture of a ``GraphDiff``, folded to a few dozen boxes."""
    return draw(picture(diff))


def draw(shown: Picture) -> str:
    """The picture as one element without scripts, styles or anything to fetch."""
    across, down = shown.layout.size
    wide, high = max(across, NARROWEST), down + TOP
    shift = (wide - across) // 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" '
        f'role="img" aria-label="{_text(shown.alt)}" {FONT} font-size="12"><title>{_text(shown.alt)}</title>'
        f'<rect width="{wide}" height="{high}" rx="8" fill="{CARD}"/>{_head(shown)}'
        f'<g transform="translate({shift} {TOP})">{"".join(_parts(shown))}</g></svg>'
    )


def _text(text: str) -> str:
    return escape(clean(text))


def _head(shown: Picture) -> str:
    parts = [f'<text x="24" y="28" font-size="14" font-weight="bold" fill="{INK}">{_text(shown.title)}</text>']
    x = 40 + width(shown.title) * 14 // 12
    for status, words in shown.legend:
        look = LOOKS[status]
        parts.append(
            f'<rect x="{x}" y="18" width="14" height="12" rx="2" fill="{look.fill}" stroke="{look.edge}"'
            f'{_dash(look.dash)}/><text x="{x + 20}" y="28" font-size="11" fill="{INK}">{_text(words)}</text>'
        )
        x += 36 + width(words, small=True)
    return "".join(parts)


def _dash(dash: tuple[int, ...]) -> str:
    return f' stroke-dasharray="{" ".join(map(str, dash))}"' if dash else ""


def _parts(shown: Picture) -> Iterator[str]:
    frames = shown.layout.folded.children
    depth = {0: 0}
    for frame in frames:
        if frame:
            depth[frame] = depth[int(shown.scene.parent[frame])] + 1
            yield _frame(shown, frame, depth[frame])
    yield from (_line(piece) for piece in shown.layout.pieces)
    yield from (_frame_name(shown, frame, at) for frame, at in depth.items() if frame)
    for box in shown.layout.folded.boxes:
        yield _box(shown, box)
    if not frames[0]:
        yield f'<text x="24" y="24" fill="{QUIET}">{shown.empty}</text>'


def _frame(shown: Picture, frame: int, depth: int) -> str:
    laid, drawn = shown.layout, shown.scene
    group = drawn.kind[frame] == GROUP
    edge, dash = (GROUP_EDGE, ' stroke-dasharray="2 3"') if group else (FRAME_EDGE, "")
    return (
        f'<rect x="{laid.x[frame]}" y="{laid.y[frame]}" width="{laid.w[frame]}" height="{laid.h[frame]}" rx="8" '
        f'fill="{FRAMES[depth % 2]}" stroke="{edge}"{dash}/>'
    )


def _frame_name(shown: Picture, frame: int, depth: int) -> str:
    """Over the lines that pass there, on a rim of the frame's own colour."""
    laid, drawn = shown.layout, shown.scene
    x, y = laid.x[frame], laid.y[frame] + 18
    return (
        f'<text x="{x + 12}" y="{y}" font-weight="bold" fill="{QUIET}" stroke="{FRAMES[depth % 2]}" stroke-width="4" '
        f'stroke-linejoin="round" paint-order="stroke">{_text(drawn.label[frame])}</text>'
        f"{_chips(drawn.signs(frame), x + laid.w[frame] - 10, y)}"
    )


def _chips(signs: list[str], right: int, y: int) -> str:
    """The counts of a box, from the right."""
    parts = []
    for sign in reversed(signs):
        parts.append(
            f'<text x="{right}" y="{y}" font-size="11" font-weight="bold" text-anchor="end" '
            f'fill="{CHIP_INKS[sign[0]]}">{_text(sign)}</text>'
        )
        right -= width(sign, small=True) + 8
    return "".join(parts)


def _line(piece: list[int]) -> str:
    x1, y1, y2, x2, y3, y4, _, sides, arrow = piece
    colour, dash = line_look(sides)
    if x1 == x2:
        way = f"M{x1} {y1}V{y4}"
    else:
        bend = (y3 - y2) // 2
        way = f"M{x1} {y1}V{y2}C{x1} {y2 + bend} {x2} {y3 - bend} {x2} {y3}V{y4}"
    head = f'<path d="M{x2 - 4} {y4 - 6}L{x2} {y4}L{x2 + 4} {y4 - 6}Z" fill="{colour}"/>' if arrow else ""
    return f'<path d="{way}" fill="none" stroke="{colour}" stroke-width="1"{_dash(dash)}/>{head}'


def _box(shown: Picture, box: int) -> str:
    laid, drawn = shown.layout, shown.scene
    x, y, w, h = laid.x[box], laid.y[box], laid.w[box], laid.h[box]
    status = status_of(drawn, box)
    look = LOOKS[status]
    behind = ""
    if box < drawn.trees:
        signs = drawn.signs(box)
        behind = (
            f'<rect x="{x + 4}" y="{y + 4}" width="{w}" height="{h}" rx="5" fill="{look.fill}" stroke="{look.edge}"/>'
        )
        label, note = f"▸ {drawn.label[box]}", drawn.note[box]
    else:
        signs, label, note = [], drawn.op[box - drawn.trees], drawn.mark[box - drawn.trees]
    line = y + (17 if note else 25)
    left = x + (26 if SIGNS[status] else 12)
    return (
        f"<g><title>{_text(name(drawn, box))}</title>{behind}"
        f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="5" fill="{look.fill}" stroke="{look.edge}" '
        f'stroke-width="{2 if SIGNS[status] else 1}"{_dash(look.dash)}/>{_sign(status, x, y, h)}'
        f'<text x="{left}" y="{line}" font-weight="bold" fill="{INK}">{_text(label)}</text>'
        f'<text x="{left}" y="{y + 32}" font-size="11" fill="{QUIET}">{_text(note)}</text>'
        f"{_chips(signs, x + w - 8, y + 32)}{_badges(shown, box)}</g>"
    )


def _sign(status: int, x: int, y: int, h: int) -> str:
    if not SIGNS[status]:
        return ""
    look = LOOKS[status]
    return (
        f'<rect x="{x}" y="{y}" width="18" height="{h}" rx="4" fill="{look.edge}"/>'
        f'<text x="{x + 9}" y="{y + h // 2 + 6}" font-size="16" font-weight="bold" text-anchor="middle" '
        f'fill="{look.ink}">{SIGNS[status]}</text>'
    )


def _badges(shown: Picture, box: int) -> str:
    """Arrows with a number at the border: values from and to boxes too far away for a line."""
    laid = shown.layout
    right = laid.x[box] + laid.w[box]
    parts = []
    for arrow, names, y in (("↑", shown.reads, laid.y[box]), ("↓", shown.read, laid.y[box] + laid.h[box])):
        if box in names:
            words = f"{arrow}{len(names[box])}"
            wide = width(words, small=True) + 8
            told = "; ".join(names[box][:12])
            parts.append(
                f'<g><title>{_text(told)}</title><rect x="{right - wide - 2}" y="{y - 7}" width="{wide}" height="14" '
                f'rx="7" fill="{CARD}" stroke="{QUIET}"/><text x="{right - wide + 2}" y="{y + 4}" font-size="10" '
                f'fill="{INK}">{words}</text></g>'
            )
    return "".join(parts)

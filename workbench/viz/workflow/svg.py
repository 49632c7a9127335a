"""A workflow as SVG: nested steps on the left, beside them a line for each group or cell of state, faults in place.

A step and what it does to state stand on one line. Shapes say what is done, signs what a step is: colours only help.
"""

from __future__ import annotations

from workbench.analysis.markup import escape, plural
from workbench.metadata.flow import FlowNode, Mark, WorkflowMap
from workbench.metadata.flow.text import describe, values
from workbench.viz.figure import CARD, INK, QUIET, RULE
from workbench.viz.svg import ADDED, CHANGED, MARGIN, REMOVED, SAME, Svg, printable, shorten, text_width
from workbench.viz.workflow.places import MOST_LANES, MOST_ROWS, Box, Places, places
from workbench.viz.workflow.wires import badges, chips, legend, wires

SIGNS = {
    "workflow": "", "inputs": "⇤", "invoke": "▣", "loop": "↻", "setup": "①", "while": "?", "carry": "↺", "branch": "◇",
    "case": "▷", "join": "◁", "sequence": "≡", "emit": "⇥",
}  # fmt: skip
_EDGES = {"loop": ADDED, "branch": CHANGED, "case": CHANGED}
_DASHES = {"branch": "5 3", "setup": "2 3", "while": "4 3", "carry": "4 3", "join": "4 3"}
_BADGE = "#A84300"
_MOST_FAULTS = 20
_LEGEND = ((1, 0, 0, 0), "starts"), ((0, 1, 0, 0), "reads"), ((0, 0, 1, 0), "makes the next value"), (
    (0, 1, 1, 0), "reads and makes"), ((0, 0, 0, 1), "takes over")  # fmt: skip


def to_svg(shown: WorkflowMap) -> str:
    """The picture of a map; of a very long one the first rows."""
    where = places(shown)
    svg = Svg("Workflow", repr(shown))
    svg.text(MARGIN, MARGIN + 14, "Workflow", size=14, bold=True)
    counts = repr(shown).removeprefix("WorkflowMap(").removesuffix(")")
    svg.text(MARGIN, MARGIN + 32, counts, size=11, fill=QUIET)
    legend(svg, where, MARGIN + text_width(counts, 11) + 16, MARGIN + 32)
    for index, box in sorted(where.frames.items()):
        _rect(svg, box, CARD, _EDGES.get(shown.nodes[index].kind, RULE), _DASHES.get(shown.nodes[index].kind, ""))
    far = badges(shown, where)
    for node in shown.nodes[:MOST_ROWS]:
        _node(svg, shown, node, where.rows[node.index], far.get(node.index, []))
    wires(svg, shown, where)
    if shown.lanes:
        _legend(svg)
    for index in range(min(len(shown.lanes), MOST_LANES)):
        _lane(svg, shown, index, where)
    _ends(svg, shown, where)
    return str(svg)


# --- steps --------------------------------------------------------------------------------------------------------
def _rect(svg: Svg, box: Box, fill: str, edge: str, dash: str = "", wide: int = 1) -> None:
    svg.grow(box.x + box.width, box.y + box.height)
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    svg.parts.append(
        f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="5" fill="{fill}" '
        f'stroke="{edge}" stroke-width="{wide}"{dashes}/>'
    )


def _node(svg: Svg, shown: WorkflowMap, node: FlowNode, box: Box, far: list[tuple[str, str]]) -> None:
    faults = [fault.code for fault in shown.diagnostics(node.index)]
    svg.parts.append(f"<g><title>{_text(describe(node))}</title>")
    if not node.is_frame:
        _rect(svg, box, "#F1F2F4", REMOVED if faults else SAME, _DASHES.get(node.kind, ""), 2 if faults else 1)
    badge = f"! {shorten(' '.join(dict.fromkeys(faults)), 18)}" if faults else ""
    room = (box.width - 16 - (text_width(badge) + 12 if badge else 0)) * 100 // (12 * 64)
    title = shorten(f"{SIGNS[node.kind]} {node.title}".strip(), max(room, 8))
    svg.text(box.x + 8, box.y + 15, title, bold=True)
    end = box.x + 8 + text_width(title)
    if badge:
        svg.text(end + 10, box.y + 15, badge, fill=_BADGE, bold=True)
        end += 10 + text_width(badge)
    svg.text(box.x + 8, box.y + 30, _said(node, (box.width - 16) * 100 // (11 * 64)), size=11, fill=QUIET)
    svg.parts.append("</g>")
    chips(svg, far, end + 10, box.x + box.width - 6, box.y + 4)


def _said(node: FlowNode, most: int) -> str:
    """What fits of a node's values, on both sides of the arrow, or of its note."""
    if node.kind != "invoke":
        return shorten(node.note, most)
    reads, writes = values(node.reads), values(node.writes)
    half = (most - 3) // 2
    left = max(half, most - 3 - len(writes))
    return f"{_head(reads, left)} → {_head(writes, max(half, most - 3 - len(reads)))}"


def _head(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip(', ')}…"


# --- state --------------------------------------------------------------------------------------------------------
def _lane(svg: Svg, shown: WorkflowMap, index: int, where: Places) -> None:
    lane, x = shown.lanes[index], where.x(index)
    faults = [pin.diagnostic.code for pin in shown.pins if pin.lane == index]
    count = f" ×{len(lane.cells)}" if lane.is_group or len(lane.cells) > 1 else ""
    fill = _BADGE if faults else INK
    sign = "! " if faults else ""
    if where.upright:
        svg.parts.append(
            f'<text transform="translate({x + 4} {where.head - 6}) rotate(-90)" font-size="11" font-weight="bold" '
            f'fill="{fill}">{_text(sign + shorten(lane.name, 20))}</text>'
        )
        svg.grow(x + where.lane // 2, where.head)
    else:
        lines = _two_lines(sign + lane.name)
        for i, line in enumerate(lines):
            y = where.head - 20 - 13 * (len(lines) - 1 - i)
            svg.text(x, y, line, size=11, anchor="middle", bold=True, fill=fill)
        svg.text(x, where.head - 6, f"{len(lane.cells)} cells" if count else "", size=10, anchor="middle", fill=QUIET)
    found = [(node, mark) for node in shown.nodes[:MOST_ROWS] for mark in node.marks if mark.lane == index]
    if found:
        svg.line(x, where.y(found[0][0].index), x, where.y(found[-1][0].index), QUIET)
    for node, mark in found:
        _mark(svg, mark, x, where.y(node.index), lane.name)


def _two_lines(name: str, most: int = 12) -> list[str]:
    """A name that is too wide for its lane goes on after an underscore or a dot."""
    if len(name) <= most:
        return [name]
    at = max(name.rfind("_", 0, most), name.rfind(".", 0, most)) + 1
    return [part for part in (name[:at], shorten(name[at:], most)) if part]


def _mark(svg: Svg, mark: Mark, x: int, y: int, lane: str) -> None:
    counts = (mark.starts, mark.reads, mark.makes, mark.carries)
    svg.parts.append(f"<g><title>{_text(f'{lane}: {mark.words}')}</title>{_shape(counts, x, y)}</g>")
    if max(counts) > 1:
        words = str(max(counts))
        svg.parts.append(
            f'<rect x="{x - 4 * len(words)}" y="{y + 9}" width="{8 * len(words)}" height="11" fill="{CARD}"/>'
        )
        svg.text(x, y + 18, words, size=10, anchor="middle", fill=QUIET)


def _shape(counts: tuple[int, int, int, int], x: int, y: int) -> str:
    starts, reads, makes, carries = counts
    line = f'stroke="{INK}" stroke-width="2"'
    dot = f'<circle cx="{x}" cy="{y}" r="3" fill="{INK}"/>'
    if starts or carries:
        path = f"M{x} {y - 8}L{x + 8} {y}L{x} {y + 8}L{x - 8} {y}Z"
        return f'<path d="{path}" fill="{INK if carries else CARD}" {line}/>'
    if reads and makes:
        return f'<circle cx="{x}" cy="{y}" r="8" fill="{CARD}" {line}/>{dot}'
    return f'<circle cx="{x}" cy="{y}" r="6" fill="{INK if makes else CARD}" {line}/>'


def _legend(svg: Svg) -> None:
    x = MARGIN
    for counts, words in _LEGEND:
        svg.parts.append(_shape(counts, x + 8, MARGIN + 52))
        svg.text(x + 20, MARGIN + 56, words, size=10, fill=QUIET)
        x += 34 + text_width(words, 10)


# --- what is below and beside ---------------------------------------------------------------------------------------
def _ends(svg: Svg, shown: WorkflowMap, where: Places) -> None:
    y, hidden = where.bottom + 18, len(shown.nodes) - MOST_ROWS
    if len(shown.lanes) > MOST_LANES:
        svg.text(where.lanes, y, f"and {len(shown.lanes) - MOST_LANES} more lanes", size=11, fill=QUIET)
    if hidden > 0:
        svg.text(MARGIN, y, f"and {plural(hidden, 'more row')}", size=11, fill=QUIET)
        y += 20
    for table in shown.aliases[:8]:
        svg.text(MARGIN, y, shorten(f"{table.group} in {table.component}: {table.note}", 120), size=11, fill=QUIET)
        y += 18
    for pin in shown.pins[:_MOST_FAULTS]:
        one = pin.diagnostic
        svg.rect(MARGIN, y - 9, 10, 10, REMOVED if one.severity == "error" else CHANGED, dashed=True)
        svg.text(MARGIN + 18, y, shorten(f"{one.code} {one.where or 'document'}: {one.message}", 120), size=11)
        y += 18
    if len(shown.pins) > _MOST_FAULTS:
        svg.text(MARGIN, y, f"and {len(shown.pins) - _MOST_FAULTS} more", size=11, fill=QUIET)


def _text(text: str) -> str:
    return escape(printable(text))

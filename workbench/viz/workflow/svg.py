"""A workflow as SVG: nested steps on the left, beside them a line for each group or cell of state, faults in place.

Rows are of one height, so that a step and what it does to state stand on one line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.metadata.flow.records import FlowNode, Mark
from workbench.metadata.flow.text import describe, values
from workbench.viz.figure import CARD, INK, QUIET, RULE
from workbench.viz.svg import ADDED, CHANGED, MARGIN, REMOVED, Svg, shorten, text_width

if TYPE_CHECKING:
    from workbench.metadata.flow.result import WorkflowMap

ROW, INDENT, FLOW, LANE = 40, 16, 600, 84
HEAD = 92
MOST_ROWS, MOST_LANES = 80, 12
EDGES = {"loop": ADDED, "branch": CHANGED, "case": CHANGED}
SIGNS = {"loop": "↻", "while": "?", "carry": "↺", "branch": "◇", "case": "▷", "join": "◁", "emit": "⇥", "invoke": "▣",
         "inputs": "⇤", "setup": "①", "sequence": "≡", "workflow": ""}  # fmt: skip
"""One sign for each kind, beside its word: what a screen without colours tells apart."""


def to_svg(shown: WorkflowMap) -> str:
    """The picture of a map; of a very long one the first rows."""
    words = repr(shown)
    svg = Svg("Workflow", words)
    nodes = shown.nodes[:MOST_ROWS]
    lanes = shown.lanes[:MOST_LANES]
    svg.text(MARGIN, MARGIN + 14, "Workflow", size=14, bold=True)
    svg.text(MARGIN, MARGIN + 34, words, size=11, fill=QUIET)
    _frames(svg, nodes)
    _lanes(svg, shown, nodes)
    for row, node in enumerate(nodes):
        _node(svg, shown, row, node)
        for mark in node.marks:
            if mark.lane < len(lanes):
                _mark(svg, mark, row)
    y = HEAD + ROW * len(nodes) + 22
    hidden = len(shown.nodes) - len(nodes)
    if hidden:
        svg.text(MARGIN, y, f"... and {hidden} more rows", size=11, fill=QUIET)
        y += 20
    _faults(svg, shown, y)
    return str(svg)


def _frames(svg: Svg, nodes: tuple[FlowNode, ...]) -> None:
    """A rectangle around each frame: from its row to the last one inside it."""
    for row, node in enumerate(nodes):
        if not node.is_frame:
            continue
        last = row
        while last + 1 < len(nodes) and nodes[last + 1].depth > node.depth:
            last += 1
        x, y = MARGIN + INDENT * node.depth // 2, HEAD + ROW * row + 2
        inset = 2 * node.depth
        height = ROW * (last - row + 1) - 4 - 2 * _closing(nodes, last, node.depth)
        edge = EDGES.get(node.kind, RULE)
        _frame(svg, x, y, FLOW - INDENT * node.depth - inset, height, edge, node.kind == "branch")


def _closing(nodes: tuple[FlowNode, ...], last: int, depth: int) -> int:
    """How many frames outside of this one end at the same row, so that their lower edges do not lie on each other."""
    following = nodes[last + 1].depth if last + 1 < len(nodes) else 0
    return max(0, depth - following + (1 if following == 0 else 0)) if following <= depth else 0


def _frame(svg: Svg, x: int, y: int, width: int, height: int, edge: str, dashed: bool) -> None:
    dash = ' stroke-dasharray="5 3"' if dashed else ""
    svg.parts.append(
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{CARD}" stroke="{edge}"{dash}/>'
    )
    svg._grow(x + width, y + height)


def _node(svg: Svg, shown: WorkflowMap, row: int, node: FlowNode) -> None:
    x, y = MARGIN + INDENT * node.depth // 2 + 10, HEAD + ROW * row
    faults = shown.diagnostics(node.index)
    if not node.is_frame:
        fill = "#FCE8DC" if faults else "#F1F2F4"
        _frame(svg, x - 4, y + 4, FLOW - INDENT * node.depth - 2 * node.depth - 12, ROW - 8, QUIET, False)
        svg.parts[-1] = svg.parts[-1].replace(f'fill="{CARD}"', f'fill="{fill}"')
    room = (FLOW - INDENT * node.depth - 40) * 100 // (11 * 64)
    badge = f"  ! {', '.join(dict.fromkeys(fault.code for fault in faults))}" if faults else ""
    title = shorten(f"{SIGNS[node.kind]} {node.title}".strip(), 44)
    svg.text(x + 4, y + 18, title, bold=True)
    if badge:
        svg.text(x + 8 + text_width(title), y + 18, shorten(badge, 24), fill="#A84300", bold=True)
    said = f"{values(node.reads)} → {values(node.writes)}" if node.kind == "invoke" else node.note
    svg.text(x + 4, y + 32, shorten(said, room), size=11, fill=QUIET)
    svg.parts.append(f"<desc>{_plain(describe(node))}</desc>")


def _plain(text: str) -> str:
    from workbench.analysis.markup import escape
    from workbench.viz.svg import printable

    return escape(printable(text))


def _x(lane: int) -> int:
    return MARGIN + FLOW + 40 + LANE * lane + LANE // 2


def _lanes(svg: Svg, shown: WorkflowMap, nodes: tuple[FlowNode, ...]) -> None:
    lanes = shown.lanes[:MOST_LANES]
    for index, lane in enumerate(lanes):
        x = _x(index)
        faults = [pin for pin in shown.pins if pin.lane == index]
        svg.text(x, HEAD - 26, shorten(lane.name, 11), size=11, anchor="middle", bold=True)
        count = f"{len(lane.cells)} cells" if lane.is_group or len(lane.cells) > 1 else ""
        svg.text(x, HEAD - 12, f"! {faults[0].diagnostic.code}" if faults else count, size=10, anchor="middle",
                 fill="#A84300" if faults else QUIET)  # fmt: skip
        rows = [row for row, node in enumerate(nodes) if any(mark.lane == index for mark in node.marks)]
        if rows:
            svg.line(x, HEAD + ROW * rows[0] + ROW // 2, x, HEAD + ROW * rows[-1] + ROW // 2, QUIET)
    if len(shown.lanes) > MOST_LANES:
        svg.text(_x(MOST_LANES) - LANE // 3, HEAD - 26, f"+{len(shown.lanes) - MOST_LANES}", size=11, fill=QUIET)
    if lanes:
        legend = "◇ starts   ○ reads   ● makes the next value   ◆ takes it over"
        svg.text(MARGIN + FLOW + 40, MARGIN + 14, legend, size=11, fill=QUIET)


def _mark(svg: Svg, mark: Mark, row: int) -> None:
    """Shapes, not colours, say what is done; a number says to how many cells."""
    x, y = _x(mark.lane), HEAD + ROW * row + ROW // 2
    svg.parts.append(f"<g><title>{_plain(mark.words)}</title>{_shape(mark, x, y)}</g>")
    most = max(mark.starts, mark.reads, mark.makes, mark.carries)
    if most > 1:
        svg.text(x + 11, y + 4, str(most), size=10, fill=QUIET)


def _shape(mark: Mark, x: int, y: int) -> str:
    diamond = f"M{x} {y - 8}L{x + 8} {y}L{x} {y + 8}L{x - 8} {y}Z"
    if mark.starts or mark.carries:
        fill = INK if mark.carries else CARD
        return f'<path d="{diamond}" fill="{fill}" stroke="{INK}" stroke-width="2"/>'
    if mark.reads and mark.makes:
        return (
            f'<circle cx="{x}" cy="{y}" r="8" fill="{CARD}" stroke="{INK}" stroke-width="2"/>'
            f'<circle cx="{x}" cy="{y}" r="4" fill="{INK}"/>'
        )
    fill = INK if mark.makes else CARD
    return f'<circle cx="{x}" cy="{y}" r="6" fill="{fill}" stroke="{INK}" stroke-width="2"/>'


def _faults(svg: Svg, shown: WorkflowMap, y: int) -> None:
    for pin in shown.pins[:20]:
        one = pin.diagnostic
        svg.rect(MARGIN, y - 10, 10, 10, REMOVED if one.severity == "error" else CHANGED, dashed=True)
        svg.text(MARGIN + 18, y, shorten(f"{one.code} {one.where or 'document'}: {one.message}", 150), size=11)
        y += 18
    if len(shown.pins) > 20:
        svg.text(MARGIN, y, f"... and {len(shown.pins) - 20} more", size=11, fill=QUIET)

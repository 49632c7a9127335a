"""The rule matrix as an SVG: a strip of lettered marks for each execution provider and part of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.viz.figure import QUIET, RULE
from workbench.viz.svg import MARGIN, Svg, say, shorten, text_width

if TYPE_CHECKING:
    from workbench.analysis.rule_matrix import Cell, RuleMatrix

# Background and ink by the last rule's stage; Okabe and Ito's colours, each pair with a contrast of 4.5 or more.
KINDS = {
    "fuse": ("#0072b2", "#ffffff"),
    "lower": ("#cc79a7", "#000000"),
    "inline": ("#56b4e9", "#000000"),
    "fold": ("#6b7280", "#ffffff"),
    "other": ("#e69f00", "#000000"),
}
_MARK, _GAP, _ROW, _HEAD = 18, 4, 46, 44


def kind(rule: str) -> str:
    """What a mark's colour says: the stage of the rule that ran last."""
    stage = rule.split()[-1].split("/")[0]
    return stage if stage in KINDS else "other"


def matrix_svg(matrix: RuleMatrix) -> str:
    """Rows are execution providers, columns parts of the model; below each strip the nodes before and after."""
    if not matrix.cells:
        return say("No execution provider to compare, or graphs without nodes.")
    title = "What each rule changed, by execution provider and part of the model"
    svg = Svg(title, f"{title}. {' '.join(repr(matrix).splitlines())}")
    svg.text(MARGIN, MARGIN + 12, title, bold=True)
    left = MARGIN + max(text_width(shorten(name, 24)) for name in matrix.execution_providers) + 16
    order = {rule: i for i, rule in enumerate(matrix.rules())}
    letters = matrix.letters()
    top = MARGIN + _HEAD
    for i, name in enumerate(matrix.execution_providers):
        svg.text(MARGIN, top + i * _ROW + 20, shorten(name, 24), bold=True)
    x = left
    for place in matrix.places:
        cells = [matrix.cell(name, place.name) for name in matrix.execution_providers]
        width = _width(place.name, cells)
        svg.text(x, MARGIN + 34, shorten(place.name, 26))
        for i, cell in enumerate(cells):
            _cell(svg, cell, x, top + i * _ROW, letters, order)
        x += width
    for i in range(len(matrix.execution_providers) + 1):
        svg.line(MARGIN, top + i * _ROW - 4, x, top + i * _ROW - 4, RULE)
    _legend(svg, letters, top + len(matrix.execution_providers) * _ROW + 12)
    return str(svg)


def _width(name: str, cells: list[Cell]) -> int:
    strip = max(len(cell.marks) for cell in cells) * (_MARK + _GAP)
    numbers = max(text_width(_nodes(cell), 11) for cell in cells)
    return max(text_width(shorten(name, 26)), strip, numbers) + 18


def _nodes(cell: Cell) -> str:
    if not cell.marks:
        return f"{cell.nodes:,} as before" if cell.nodes else "none"
    return f"{cell.generic_nodes:,} → {cell.nodes:,}"


def _cell(svg: Svg, cell: Cell, x: int, y: int, letters: dict[str, str], order: dict[str, int]) -> None:
    for i, mark in enumerate(sorted(cell.marks, key=lambda m: order[m.rule])):
        at = x + i * (_MARK + _GAP)
        back, ink = KINDS[kind(mark.rule)]
        svg.rect(at, y + 4, _MARK, _MARK, back, radius=3)
        svg.text(at + _MARK // 2, y + 17, letters[mark.rule], anchor="middle", fill=ink, bold=True)
    svg.text(x, y + 36 if cell.marks else y + 20, _nodes(cell), size=11, fill=QUIET)


def _legend(svg: Svg, letters: dict[str, str], top: int) -> None:
    words = {"inline": "bodies of called functions, inlined", "fold": "gone without a replacement"}
    for i, (rule, letter) in enumerate(letters.items()):
        back, ink = KINDS[kind(rule)]
        y = top + i * 22
        svg.rect(MARGIN, y, _MARK, _MARK, back, radius=3)
        svg.text(MARGIN + _MARK // 2, y + 13, letter, anchor="middle", fill=ink, bold=True)
        svg.text(MARGIN + _MARK + 8, y + 13, shorten(words.get(rule) or ", then ".join(rule.split()), 80), size=11)
    svg.text(MARGIN, top + len(letters) * 22 + 13, "Numbers: nodes before → after, of each layer.", size=11, fill=QUIET)

"""The lines of a static workflow picture: who gives to whom, beside the rows, and badges for those far away."""

from __future__ import annotations

from workbench.analysis.markup import escape
from workbench.metadata.flow import FlowLink, WorkflowMap
from workbench.metadata.flow.text import some
from workbench.viz.figure import CARD, INK, QUIET
from workbench.viz.svg import ADDED, CHANGED, SAME, Svg, printable, shorten, text_width
from workbench.viz.workflow.nets import Net
from workbench.viz.workflow.places import Places

_LOOKS = (SAME, ""), (ADDED, "7 2"), ("#009E73", "2 2"), (CHANGED, "7 2 2 2")
"""Colour and dash of the lines from one row after the other, so that crossing ones are told apart."""
_TURN = 4
_LONGEST_NAME = 20


def wires(svg: Svg, shown: WorkflowMap, where: Places) -> None:
    """A line from each row to each one near it that reads what it makes."""
    said = {(link.source, link.target): link for link in shown.links}
    svg.grow(where.lanes - 20, 0)
    for i, net in enumerate(sorted(where.nets.nets, key=lambda net: net.source)):
        look = _LOOKS[i % len(_LOOKS)]
        for target in net.targets:
            trunk = not any(net.source < target < other or other < target < net.source for other in net.targets)
            title = _words(shown, said[net.source, target])
            svg.parts.append(f"<g><title>{title}</title>{_line(where, net, target, trunk, *look)}</g>")


def _line(where: Places, net: Net, target: int, trunk: bool, colour: str, dash: str) -> str:
    """All the way to the farthest row that reads, so that dashes do not lie on dashes; to others what branches off."""
    start, x, end = where.right(net.source), where.track(net.track), where.right(target)
    leaves, comes = where.rows[net.source].y + 28, where.rows[target].y + 6 + 5 * min(where.nets.rank(net, target), 3)
    turn = _TURN if comes > leaves else -_TURN
    way = f"M{start} {leaves}H{x - _TURN}q{_TURN} 0 {_TURN} {turn}V" if trunk else f"M{x} "
    way += f"{comes - turn}q0 {turn} {-_TURN} {turn}H{end + 6}"
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<path d="{way}" fill="none" stroke="{colour}"{dashes}/>'
        f'<path d="M{end + 6} {comes - 3}L{end} {comes}L{end + 6} {comes + 3}Z" fill="{colour}"/>'
    )


def badges(shown: WorkflowMap, where: Places) -> dict[int, list[tuple[str, str]]]:
    """What rows read from, and give to, rows that are too far away for a line: a short text and a whole one."""
    far = set(where.nets.far)
    found: dict[int, dict[str, list[str]]] = {}
    for link in shown.links:
        if (link.source, link.target) in far:
            for row, other in ((link.target, link.source), (link.source, link.target)):
                short = f"{'↑' if other < row else '↓'} {_name(link)}"
                found.setdefault(row, {}).setdefault(short, []).append(_words(shown, link))
    return {row: [(short, "; ".join(words)) for short, words in chips.items()] for row, chips in found.items()}


def _name(link: FlowLink) -> str:
    more = f" +{len(link.values) - 1}" if len(link.values) > 1 else ""
    return f"{shorten(link.values[0], _LONGEST_NAME)}{more}"


def chips(svg: Svg, found: list[tuple[str, str]], left: int, right: int, y: int) -> None:
    """Badges from the right as long as there is room; then one with the number of the others."""
    shown = _fitting(found, right - left)
    if len(shown) < len(found):
        rest = found[len(shown) :]
        shown = [*shown, (f"↕{len(rest)}", "; ".join(title for _, title in rest[:12]))]
    for words, title in shown:
        wide = text_width(words, 10) + 10
        svg.parts.append(
            f'<g><title>{title}</title><rect x="{right - wide}" y="{y}" width="{wide}" height="14" rx="7" '
            f'fill="{CARD}" stroke="{QUIET}"/><text x="{right - wide // 2}" y="{y + 11}" font-size="10" '
            f'text-anchor="middle" fill="{INK}">{escape(printable(words))}</text></g>'
        )
        right -= wide + 4


def _fitting(found: list[tuple[str, str]], room: int) -> list[tuple[str, str]]:
    """The first that have room; where not all have, beside the badge that counts the rest."""
    kept: list[tuple[str, str]] = []
    used = 0
    for i, badge in enumerate(found):
        used += text_width(badge[0], 10) + 14
        if used + (0 if i + 1 == len(found) else 34) > room:
            break
        kept.append(badge)
    return kept


def legend(svg: Svg, where: Places, x: int, y: int) -> None:
    """What the lines and the badges are, in words."""
    if where.nets.nets:
        svg.text(x, y, "lines: to who reads it", size=10, fill=QUIET)
    if where.nets.far:
        svg.text(x + 150, y, "↑ ↓ from and to steps far away", size=10, fill=QUIET)


def _words(shown: WorkflowMap, link: FlowLink) -> str:
    source, target = (shown.names[index] for index in (link.source, link.target))
    return escape(printable(f"{source} → {target}: {some(link.values)}"))

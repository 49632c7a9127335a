"""Small HTML and text pieces that results share. Everything that comes from a graph or a file is escaped
here.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

_LEFT = ' style="text-align:left"'
_RIGHT = ' style="text-align:right"'
_BREAK = re.compile(r"(?<=\w[/.])(?=\w)")


def escape(value: object) -> str:
    """HTML-escaped text of a value, quotes included."""
    return html.escape(str(value), quote=True)


def plural(count: int, word: str) -> str:
    """``1 node``, ``2,105 nodes``."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def _cell(tag: str, value: object, wrap: bool = False) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = escape(f"{value:,}" if isinstance(value, int) and number else value)
    return f"<{tag}{_RIGHT if number else _LEFT}>{_BREAK.sub(r'<wbr>', text) if wrap else text}</{tag}>"


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], empty: str = "Nothing to show.", *, wrap: bool = False
) -> str:
    """An HTML table without scripts, styles or classes that a static viewer could strip away; ``empty`` if
    no rows. ``wrap`` lets long dotted or slashed names go on in the next line.
    """
    body = ["<tr>" + "".join(_cell("td", value, wrap) for value in row) + "</tr>" for row in rows]
    if not body:
        return f"<p><em>{escape(empty)}</em></p>"
    head = "".join(f"<th{_LEFT}>{escape(column)}</th>" for column in columns)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def block(title: str, *parts: str) -> str:
    """A titled piece of HTML: ``title`` is escaped, ``parts`` are HTML already."""
    return f"<div><p><strong>{escape(title)}</strong></p>{''.join(parts)}</div>"


def grid(corner: str, columns: Sequence[str], rows: Iterable[tuple[str, Sequence[object]]]) -> str:
    """An HTML table with a heading for each row as well: read out with both of its headings, cell by cell."""
    head = "".join(f'<th scope="col"{_RIGHT}>{escape(column)}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row"{_LEFT}>{escape(name)}</th>'
        + "".join(f"<td{_RIGHT}>{escape(cell)}</td>" for cell in cells)
        + "</tr>"
        for name, cells in rows
    )
    first = f'<th scope="col"{_LEFT}>{escape(corner)}</th>'
    return f"<table><thead><tr>{first}{head}</tr></thead><tbody>{body}</tbody></table>"

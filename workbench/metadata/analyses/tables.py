"""Rows of a result as HTML and as a frame: every result of an analysis has the same two faces."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.metadata.wording import cut

if TYPE_CHECKING:
    import pandas as pd

_LONGEST = 200
_MOST_LINES, _WIDEST = 100, 60  # of a text
_MOST_AXES = 16  # that are drawn one by one


class Table:
    """A result that is a list of rows; ``COLUMNS`` names them, ``BRIEF`` those that a terminal has room for."""

    COLUMNS: tuple[str, ...] = ()
    BRIEF: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        raise NotImplementedError

    def to_frame(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(self.rows(), columns=list(self.COLUMNS))

    def to_text(self) -> str:
        """The rows as aligned lines below the result's own line; of very many the first."""
        return as_text(str(self), self.BRIEF or self.COLUMNS, self.rows())

    def widget(self, **options: Any) -> Any:
        """The table to filter: :class:`~workbench.widgets.DocumentTable`."""
        from workbench.widgets.document_table import DocumentTable

        return DocumentTable(self, **options)

    def _repr_html_(self) -> str:
        return as_html(str(self), self.COLUMNS, self.rows())


def as_text(title: str, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> str:
    """A table for a terminal: columns as wide as their longest word, cut where nobody would read on."""
    cells = [[_word(row.get(name)) for name in columns] for row in rows[:_MOST_LINES]]
    table = [list(columns), *cells]
    widths = [max(len(line[i]) for line in table) for i in range(len(columns))]
    lines = ["  ".join(word.ljust(wide) for word, wide in zip(line, widths)).rstrip() for line in table]
    more = [f"... ({len(rows) - _MOST_LINES} more)"] if len(rows) > _MOST_LINES else []
    return "\n".join([title, *(lines if cells else []), *more])


def _word(value: Any) -> str:
    return cut("" if value is None else " ".join(str(value).split()), _WIDEST)


def as_html(
    title: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]], wholes: Iterable[Mapping[str, str]] = ()
) -> str:
    """``wholes`` are of each row the texts that its cells are the begin of."""
    head = "".join(f"<th scope='col'>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(_cell(row.get(name), more.get(name, "")) for name in columns) + "</tr>"
        for row, more in zip(rows, itertools.chain(wholes, itertools.repeat({})))
    )
    caption = f"<caption>{html.escape(title.splitlines()[0])}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: Any, whole: str = "") -> str:
    text = "" if value is None else str(value)
    title = f" title='{html.escape(whole)}'" if whole else ""
    return f"<td{title}>{html.escape(text if len(text) <= _LONGEST else text[:_LONGEST] + '...')}</td>"


def contract_text(contract: Any) -> str:
    """``int64[batch, seq] per request`` for a tensor contract; empty for none."""
    if contract is None:
        return ""
    if contract.shape is not None:
        dims = [str(dim) for dim in contract.shape]
    else:
        dims = ["?"] * contract.rank if contract.rank <= _MOST_AXES else [f"{contract.rank} axes"]
    layout = contract.batch_layout.kind
    where = "" if contract.request_axis in (None, 0) else f"@{contract.request_axis}"
    return f"{contract.dtype}[{', '.join(dims)}]" + ("" if layout == "shared" else f" {layout}{where}")

"""Write the table of rules in ``docs/metadata-rules.md``, between its two marks, from the rules themselves.

Run ``python -m tests.make_metadata_rules`` after a change of a rule's sentence.
"""

from __future__ import annotations

from pathlib import Path

from workbench.metadata import RULES
from workbench.metadata.registry import GROUPS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "metadata-rules.md"
BEGIN, END = "<!-- rules: begin -->\n", "<!-- rules: end -->\n"
# 197 is the typed walk's own question after an unknown component, which rule 98 has answered before.
MAY_BE_ABSENT = {197}


def table() -> str:
    """One section a group: code, stage and sentence of each rule."""
    parts = []
    for letter, (title, first, last) in GROUPS.items():
        rows = [RULES[number] for number in range(first, last + 1) if number in RULES]
        if rows:
            lines = [f"| {made.code} | {made.stage} | {_escape(made.sentence)} |" for made in rows]
            parts.append("\n".join([f"### {letter}. {title}", "", "| code | stage | rule |", "|---|---|---|", *lines]))
    return "\n\n".join(parts) + "\n"


def _escape(text: str) -> str:
    return text.replace("|", "\\|")


def page(text: str) -> str:
    """The page with its table renewed."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + "\n" + table() + "\n" + END + rest.split(END)[1]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

"""The browser's half of a view: plain ES modules beside the widgets, put into one text without any build step.

A widget's module reaches the browser as one text from no address, so a relative import would find nothing. Modules
import each other as ``import { a, b } from "./name.js";`` on one line, which every editor and browser understands;
here those lines are replaced by the files they name, each once.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

STATIC = Path(__file__).resolve().parent / "static"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w-]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?!default)", re.MULTILINE)


@functools.cache
def esm(name: str) -> str:
    """The text of ``static/NAME.js`` with everything it imports before it."""
    return "\n".join(_own_text(file) for file in modules(f"{name}.js"))


@functools.cache
def css(*names: str) -> str:
    """The style sheets ``static/NAME.css``, one after the other; ``base`` comes first, for every view."""
    files = dict.fromkeys(("base", *names))
    return "\n".join((STATIC / f"{name}.css").read_text(encoding="utf-8") for name in files)


def modules(file: str) -> list[str]:
    """A module and what it imports, each once, what is imported first."""
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        for needed in _IMPORT.findall((STATIC / name).read_text(encoding="utf-8")):
            if needed not in found:
                visit(needed)
        found.setdefault(name)

    visit(file)
    return list(found)


def _own_text(file: str) -> str:
    text = _IMPORT.sub("", (STATIC / file).read_text(encoding="utf-8"))
    return _EXPORT.sub("", text)

"""Labels of boxes: short, on one line, and as wide as a table of characters says, in every browser and in none."""

from __future__ import annotations

import unicodedata

_NARROW = set("iljI.,:;'|! ")
_WIDE = set("mwMWQOGDHNU@%&+−~→…▸")
_CAPITALS = set("ABCEFKLPRSTVXYZ")
MOST_LETTERS = 32


def clean(text: str) -> str:
    """One line without control and format characters: nothing that breaks XML or turns the writing direction."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(" " if c.isspace() else "·" if unicodedata.category(c)[0] == "C" else c for c in text)


def shorten(text: str, most: int = MOST_LETTERS) -> str:
    """Head and tail of a long text, one line."""
    if len(text) > 2 * most:  # a name of 10 kB is cut before it is looked at letter by letter
        text = text[:most] + text[-most:]
        text = clean(text)
        return f"{text[: most - most // 2 - 1]}…{text[-(most // 2) :]}"
    text = clean(text)
    return text if len(text) <= most else f"{text[: most - most // 2 - 1]}…{text[-(most // 2) :]}"


def width(text: str, small: bool = False) -> int:
    """Pixels of a text at 12 px bold, or 11 px; what DejaVu Sans needs, which is wider than most."""
    tenths = sum(map(_tenths, text))
    return -(-tenths * (8 if small else 10) // 100)


def _tenths(letter: str) -> int:
    if letter in _NARROW:
        return 46
    return 108 if letter in _WIDE else 94 if letter in _CAPITALS else 82 if ord(letter) < 0x2000 else 130

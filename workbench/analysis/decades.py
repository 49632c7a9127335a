"""Errors as people and strict notebook checks can read them: rounded up to a power of ten."""

from __future__ import annotations

import math


def decade(value: float) -> str:
    """``1e-6`` for anything above 1e-7 up to 1e-6; ``0``, ``NaN`` and ``inf`` for themselves.

    Rounded up, so that a printed error is never smaller than the real one.
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value) or value == 0:
        return "0" if value == 0 else "inf"
    return f"1e{_exponent(value)}"


def _exponent(value: float) -> int:
    """The smallest e with ``value <= 1e(e)``; the margin keeps 1e-6 itself out of the next decade."""
    return math.ceil(math.log10(abs(value)) - 1e-9)


def at_most(value: float, least: float) -> str:
    """The decade of a value, or ``<= 1e-9`` below ``least``, where only rounding noise is left."""
    return f"<= {decade(least)}" if value < least else decade(value)


def bound(value: float) -> str:
    """A tolerance rounded up to one significant digit: ``2e-4`` for 1.81e-4, never tighter than what was applied."""
    if not value or not math.isfinite(value):
        return decade(value)
    exponent = math.floor(math.log10(value) + 1e-9)
    digit = math.ceil(value / 10.0**exponent - 1e-6)
    return f"{digit}e{exponent}" if digit < 10 else f"1e{exponent + 1}"


def comparison(value: float, limit: float) -> str:
    """``max|d| 1e-6 <= 2e-4``: a text that is true as it stands, also after the rounding.

    A value beyond its limit keeps as many digits as it takes to see that.
    """
    if not value <= limit:
        return _beyond(value, limit)
    shown = within(value, limit)
    return f"max|d| {shown}" if shown.startswith("<=") else f"max|d| {shown} <= {bound(limit)}"


def within(value: float, limit: float) -> str:
    """The decade of a value that keeps its limit; ``<= 2e-4`` where rounding up would pass the limit."""
    shown = decade(value)
    return shown if float(shown) <= float(bound(limit)) else f"<= {bound(limit)}"


def _beyond(value: float, limit: float) -> str:
    if not math.isfinite(value):
        return f"max|d| {decade(value)}"
    for digits in range(2, 18):
        left, right = f"{value:.{digits}g}", f"{limit:.{digits}g}"
        if float(left) > float(right):
            break
    return f"max|d| {left} > {right}"

"""What an unquoted YAML scalar means: the core schema of YAML 1.2, in which ``yes`` and ``on`` are text."""

from __future__ import annotations

import math
import re

_WORDS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_RADIX = re.compile(r"([-+]?)0(?:x([0-9a-fA-F]+)|o([0-7]+)|b([01]+))\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_MAY_START_A_NUMBER = frozenset("+-.0123456789")
_LONGEST_NUMBER = 400
CORE = "tag:yaml.org,2002:"


def resolve(value: str) -> object:
    """The value of an unquoted scalar. A number with leading zeros (``007``) stays text."""
    if value in _WORDS:
        return _WORDS[value]
    if value[0] not in _MAY_START_A_NUMBER or len(value) > _LONGEST_NUMBER:
        return value
    if _INTEGER.match(value):
        return int(value)
    if _FLOAT.match(value):
        return float(value)
    radix = _RADIX.match(value)
    if radix is None:
        return value
    base = next(base for base, digits in zip((16, 8, 2), radix.groups()[1:]) if digits)
    return int(value.lower().replace("0x", "").replace("0o", "").replace("0b", ""), base)


def tagged(tag: str, value: str) -> object:
    """The value of a scalar with a tag of its own; raises ``ValueError`` where the two do not go together."""
    if tag in ("!", f"{CORE}str"):
        return value
    found = resolve(value)
    kinds: dict[str, tuple[type, ...]] = {"int": (int,), "float": (float, int), "bool": (bool,), "null": (type(None),)}
    allowed = kinds.get(tag.removeprefix(CORE), ())
    if not isinstance(found, allowed) or (isinstance(found, bool) and bool not in allowed):
        raise ValueError(tag)
    return float(found) if tag == f"{CORE}float" else found  # type: ignore[arg-type]

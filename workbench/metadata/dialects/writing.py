"""Data to text, the same text for the same data: keys in their order, no anchors, words in quotes where needed."""

from __future__ import annotations

import json
import math
from typing import Any

import yaml

from workbench.metadata.reading.scalars import resolve

_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class _Dumper(_DUMPER):  # type: ignore[misc]
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: Any, value: str) -> Any:
    """Text that YAML 1.2 would read as something else is put in quotes; PyYAML alone knows those of YAML 1.1."""
    style = "'" if value and resolve(value) != value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def to_yaml(data: Any) -> str:
    """YAML that reads back as the same data; short lists and mappings stand on one line."""
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120, default_flow_style=None)
    return text


def to_json(data: Any) -> str:
    """JSON that reads back as the same data. What JSON has no number for (NaN, infinity) becomes null."""
    return json.dumps(_finite(data), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value

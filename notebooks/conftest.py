"""Which notebooks can be run here: one of them compares with other builders, which are an extra of their own."""

from __future__ import annotations

import importlib.util

PEERS = ("mobius", "onnxruntime_genai", "torch")
collect_ignore = [] if all(map(importlib.util.find_spec, PEERS)) else ["08_compare_two_builders.ipynb"]

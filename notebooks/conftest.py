"""Which notebooks can be run here: some need a client or other builders, which are extras of their own."""

from __future__ import annotations

import importlib.util

NEEDS = {
    "06_export_step_by_step.ipynb": ("onnxruntime_genai",),
    "07_what_the_runtime_must_know.ipynb": ("onnx_genai",),
    "08_compare_two_builders.ipynb": ("mobius", "onnxruntime_genai", "torch"),
}
collect_ignore = [name for name, modules in NEEDS.items() if not all(map(importlib.util.find_spec, modules))]

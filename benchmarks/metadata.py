"""Inference metadata validated and named by a hash, against only reading the text with PyYAML's C loader.

The document is our own decoder with more and more layers of cache; both sides are measured in one run, on CPU time.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

BASE = Path(__file__).resolve().parent.parent / "tests/data/metadata/valid/own-base-dec.yaml"
REPEATS = 7
LINES = 1659
LIMIT, LINEAR = 10.0, 1.5


def decoder(layers: int) -> str:
    """The text of a decoder with a key and a value cell for each layer."""
    data = yaml.safe_load(BASE.read_text(encoding="utf-8"))
    workflow = data["pipeline"]["workflow"]
    for layer in range(1, layers):
        for cell, role in (("k", "key"), ("v", "value")):
            _add_cell(workflow, f"{cell}{layer}", cell, role, layer)
    return yaml.safe_dump(data, sort_keys=False)


def _add_cell(workflow: dict[str, Any], name: str, kind: str, role: str, layer: int) -> None:
    ports, loop = workflow["components"]["lm"]["ports"], workflow["steps"][0]
    past, now = f"p{name}", f"n{name}"
    ports["inputs"][past] = copy.deepcopy(ports["inputs"]["pk"])
    ports["outputs"][now] = copy.deepcopy(ports["outputs"]["nk"])
    workflow["state"][name] = copy.deepcopy(workflow["state"][f"{kind}0"])
    groups = workflow["serving"]["state_service"]["groups"]
    groups["kv"]["ports"]["lm"][name] = {"input": past, "output": now, "role": role, "layer": layer}
    loop["steps"][0]["inputs"][past] = name
    loop["steps"][0]["outputs"][now] = f"n.{name}"
    loop["carried"].append({"cell": name, "next": f"n.{name}"})


def best(call: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def measure() -> dict[str, float]:
    """Ratio to reading alone for a document of 1,659 lines (limit 10), and growth from 50 to 100 layers over two."""
    from workbench.metadata import semantic_identity, validate

    layers = next(n for n in range(2, 100) if decoder(n).count("\n") >= LINES)
    text, half, whole = decoder(layers), decoder(50), decoder(100)
    assert not validate(text) and not validate(whole)
    read = best(lambda: yaml.load(text, Loader=yaml.CSafeLoader))
    checked = best(lambda: validate(text))
    growth = best(lambda: validate(whole)) / best(lambda: validate(half)) / 2
    named = best(lambda: semantic_identity(text))
    names = best(lambda: semantic_identity(whole)) / best(lambda: semantic_identity(half)) / 2
    return {
        "lines": text.count("\n"), "read_seconds": read, "validate_seconds": checked, "ratio": checked / read,
        "limit": LIMIT, "growth_per_doubling": growth, "growth_limit": LINEAR,
        "identity_seconds": named, "identity_ratio": named / read, "identity_growth_per_doubling": names,
    }  # fmt: skip


if __name__ == "__main__":
    print(measure())

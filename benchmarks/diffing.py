"""The graph diff: seconds for a llama of 120 layers, generic against a provider's graph, and others beside it.

Others do the job on a foreign pair (mobius-onnx, default against cuda): ``onnx-diff``, whose interpreter is taken from
``WORKBENCH_PEERS_PYTHON`` (else this one's), and Model Explorer's matching, which is by equal node id and is stated
again here in two lines. Without a peer its part says why it is absent.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from benchmarks.building import SMALL

LAYERS, FOREIGN_LAYERS = 120, 24
LIMIT = 1.0  # seconds, without reading files
REPEATS = 5

_ONNX_DIFF = """
import json, sys, time, onnx
from onnx_diff.diff import OnnxDiff
a, b = (onnx.load(path) for path in sys.argv[1:3])
start = time.perf_counter(); found = OnnxDiff(a, b).summary()
matches = {name: [m.same, m.a_total, m.b_total] for name, m in found.graph_matches.items()}
print(json.dumps({"seconds": time.perf_counter() - start, "score": found.score, "matches": matches}))
"""


def measure() -> dict[str, Any]:
    """All of it; seconds are the median of five runs, with the CPU seconds of the same run beside them."""
    return {"layers": LAYERS, "limit_seconds": LIMIT, "ours": ours(), "foreign": foreign()}


def ours() -> dict[str, Any]:
    """Generic against provider: by provenance, and by structure with every name and all metadata taken away."""
    from workbench.analysis.diff import diff
    from workbench.build import recipe_for
    from workbench.ep import get_ep

    words = SMALL | {"num_hidden_layers": LAYERS, "model_type": "llama"}
    recipe = recipe_for(words, module_class=None, load_weights=False)
    found: dict[str, Any] = {}
    for name in ("dml", "webgpu", "trt-rtx"):
        ep = get_ep(name)
        package = recipe.package(ep, ep.default_dtype)
        generic, made = package.generic["model"], package.model
        bare = without_names(generic), without_names(made)
        found[name] = {
            "provenance": _timed(lambda a=generic, b=made: diff(a, b)),
            "structure": _timed(lambda a=generic, b=made: diff(a, b, provenance=False)),
            "structure, no names": _timed(lambda a=bare[0], b=bare[1]: diff(a, b, provenance=False)),
        }
    return found


def _timed(act: Callable[[], Any]) -> dict[str, Any]:
    found = act()  # once to warm up
    wall, cpu = [], []
    for _ in range(REPEATS):
        start, before = time.perf_counter(), time.process_time()
        found = act()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - before)
    return {
        "entries": len(found.entries), "matched": found.counts["same"] + found.counts["changed"],
        "unexplained": len(found.unexplained), "seconds": statistics.median(wall), "cpu": statistics.median(cpu),
    }  # fmt: skip


def without_names(model: ir.Model) -> ir.Model:
    """The same graph with numbers for names, and nothing written into nodes; inputs and outputs stay."""
    made = model.clone()
    kept = {id(value) for value in (*made.graph.inputs, *made.graph.outputs)}
    weights = list(made.graph.initializers.values())
    for number, one in enumerate((*weights, *(out for node in made.graph for out in node.outputs))):
        if id(one) not in kept:
            one.name = f"v{number}"
    for number, node in enumerate(made.graph):
        node.name = f"n{number}"
        node.metadata_props.clear()
    return made


def foreign() -> dict[str, Any]:
    """mobius-onnx default against cuda: ours, equal node ids, and onnx-diff on the same two files."""
    try:
        pair = [_mobius(name) for name in ("default", "cuda")]
    except ImportError as error:
        return {"absent": f"mobius-onnx: {error}"}
    from workbench.analysis.diff import diff

    found = diff(*pair, labels=("default", "cuda"))
    ids = [{node.name for node in model.graph} for model in pair]
    return {
        "nodes": [len(model.graph) for model in pair],
        "ours": _timed(lambda: diff(*pair)) | {"groups": len(found.groups), "summary": list(found.summary().lines[:4])},
        "equal node ids": len(ids[0] & ids[1]),
        "onnx-diff": _onnx_diff(pair),
    }


def _mobius(execution_provider: str) -> ir.Model:
    import mobius

    words = SMALL | {"num_hidden_layers": FOREIGN_LAYERS, "bos_token_id": 1, "eos_token_id": 2}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(words))
        model = mobius.build(folder, load_weights=False, execution_provider=execution_provider)["model"]
    for value in model.graph.initializers.values():
        if value.const_value is None:
            zeros = np.zeros(tuple(map(int, value.shape)), value.dtype.numpy())
            value.const_value = ir.Tensor(zeros, name=value.name)
    return model


def _onnx_diff(pair: list[ir.Model]) -> dict[str, Any]:
    python = os.environ.get("WORKBENCH_PEERS_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / f"{name}.onnx") for name in "ab"]
        for model, path in zip(pair, paths, strict=True):
            ir.save(model, path)
        done = subprocess.run([python, "-c", _ONNX_DIFF, *paths], capture_output=True, text=True, timeout=600)
    if done.returncode:
        return {"absent": (done.stderr.strip().splitlines() or ["failed"])[-1]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))

"""Building a skeleton of Llama-3.1-8B for seven execution providers, against mobius-onnx doing the same.

mobius-onnx (extra ``peers``) may live in another environment: its interpreter is taken from ``WORKBENCH_PEERS_PYTHON``,
else this one's. Both are measured in CPU seconds of a process that has built something small before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.importing import CONFIG

LLAMA_31_8B = CONFIG | {
    "architectures": ["LlamaForCausalLM"], "head_dim": 128, "rms_norm_eps": 1e-5, "rope_theta": 500000.0,
    "hidden_act": "silu", "tie_word_embeddings": False, "attention_bias": False, "mlp_bias": False,
    "bos_token_id": 128000, "eos_token_id": 128001, "torch_dtype": "float16",
}  # fmt: skip
SMALL = LLAMA_31_8B | {
    "num_hidden_layers": 1, "hidden_size": 64, "intermediate_size": 64, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "vocab_size": 64, "max_position_embeddings": 64,
}  # fmt: skip
EPS = ("default", "cpu", "cuda", "dml", "webgpu", "trt-rtx", "onnx-standard")
REPEATS = 3

_OURS = """
import json, sys, time, workbench
from workbench.recipe import PLAIN
from workbench.build import recipe_for
folder, small, eps = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
for ep in eps: workbench.build(small, execution_provider=ep, load_weights=False)
import onnx_ir as ir
start = time.process_time(); recipe_for(folder, module_class=None, load_weights=False).generic(ir.DataType.FLOAT, PLAIN)
generic = time.process_time() - start
start = time.process_time()
for ep in eps: workbench.build(folder, execution_provider=ep, load_weights=False)
total = time.process_time() - start
start = time.process_time()
workbench.compare(folder, execution_providers=eps, load_weights=False)
print(json.dumps({"generic": generic, "total": total, "compare": time.process_time() - start}))
"""
_MOBIUS = """
import json, logging, os, sys, time
os.environ["HF_HUB_OFFLINE"] = "1"
import mobius
folder, small, eps = sys.argv[1], sys.argv[2], sys.argv[3].split(",")
for ep in eps: mobius.build(small, load_weights=False, execution_provider=ep)
seconds = []
for ep in eps:
    start = time.process_time(); mobius.build(folder, load_weights=False, execution_provider=ep)
    seconds.append(time.process_time() - start)
print(json.dumps({"one": min(seconds), "total": sum(seconds), "each": dict(zip(eps, seconds))}))
"""


def against_mobius() -> dict[str, Any]:
    """CPU seconds, the smallest of three; limits: half of mobius for seven builds, 0.6 of one for the generic graph."""
    peers = os.environ.get("WORKBENCH_PEERS_PYTHON", sys.executable)
    ours = _measure(sys.executable, _OURS, EPS)
    known = [ep for ep in EPS if ep != "onnx-standard"]  # mobius has no such form: its own default is counted twice
    try:
        theirs = _measure(peers, _MOBIUS, [*known, "default"])
    except subprocess.CalledProcessError as error:
        return {"ours": ours, "mobius": None, "why": error.stderr.strip().splitlines()[-1:]}
    return {
        "ours": ours, "mobius": theirs,
        "side_by_side_ratio": ours["compare"] / theirs["total"], "side_by_side_limit": 0.5,
        "seven_single_builds_ratio": ours["total"] / theirs["total"],
        "generic_ratio": ours["generic"] / theirs["one"], "generic_limit": 0.6,
    }  # fmt: skip


def growth() -> dict[str, Any]:
    """Seconds per layer of the generic build and of one provider's, for 8, 32 and 128 layers: linear if alike."""
    found = {}
    for layers in (8, 32, 128):
        seconds = _measure(sys.executable, _OURS, ["cpu"], LLAMA_31_8B | {"num_hidden_layers": layers})
        found[str(layers)] = {name: value / layers for name, value in seconds.items()}
    return found


def _measure(python: str, code: str, eps: Any, config: dict[str, Any] = LLAMA_31_8B) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        places = []
        for name, words in (("llama", config), ("small", SMALL)):
            place = Path(folder) / name
            place.mkdir()
            (place / "config.json").write_text(json.dumps(words))
            places.append(str(place))
        command = [python, "-c", code, *places, ",".join(eps)]
        runs = [json.loads(_run(command).splitlines()[-1]) for _ in range(REPEATS)]
    return min(runs, key=lambda run: run["total"])


def _run(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout.strip()


if __name__ == "__main__":
    print(json.dumps(against_mobius(), indent=2))
    print(json.dumps(growth(), indent=2))

"""Exporting the built-in model against copying the same bytes with fsync; memory; and seven billion parameters.

    python -m benchmarks.exporting [--seven-billion] [--folder DIR]

Prints one JSON object. ``ratio`` is the smallest exporting time over the smallest copying time, taken in turns; the
goal is 1.4. ``peak_ratio`` is the largest resident size of a process that builds and exports, over the weights in
float32; the goal is 1.5. With ``--seven-billion`` weights made of a counter are streamed to the disk (14 GB, removed
afterwards) in at most 4 GB of memory.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.saving import copy, seconds

GOAL, PEAK_GOAL, BILLIONS_GOAL = 1.4, 1.5, 4e9
RUNS = 3
_PEAK = """
import json, sys
from workbench import build, export
from workbench.runtime.memory import peak_bytes
package = build("smollm2-135m")
weights = sum(
    4 * value.const_value.size for name, value in package.model.graph.initializers.items()
    if not name.startswith("rotary_emb")
)
built = peak_bytes()
export(package, sys.argv[1], progress=False)
print(json.dumps({"weights_bytes": weights, "built_bytes": built, "peak_bytes": peak_bytes()}))
"""
_BILLIONS = """
import json, sys, time
import numpy as np
import onnx_ir as ir
from workbench import build, export
from workbench.runtime.memory import peak_bytes
from workbench.weights.lazy import PIECE_BYTES, derived
config = {
    "model_type": "llama", "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "max_position_embeddings": 4096,
    "bos_token_id": 1, "eos_token_id": 2,
}
package = build(config, execution_provider="cuda", load_weights=False)
piece = (np.arange(PIECE_BYTES // 2) % 251 / 1e4).astype(np.float16)
def synthetic(name, shape):
    size = int(np.prod(shape))
    def pieces():
        for start in range(0, size, piece.size):
            yield piece[: min(piece.size, size - start)]
    return derived(name, ir.DataType.FLOAT16, shape, lambda: None, pieces=pieces)
count = 0
for name, value in package.model.graph.initializers.items():
    if value.const_value is None:
        value.const_value = synthetic(name, value.shape.numpy())
        count += value.const_value.size
start = time.perf_counter()
report = export(package, sys.argv[1], tokenizer=False, progress=False)
print(json.dumps({
    "parameters": count, "bytes": report.size, "seconds": round(time.perf_counter() - start, 1),
    "peak_bytes": peak_bytes(),
}))
"""


def measure(folder: Path | None = None, *, seven_billion: bool = False) -> dict[str, object]:
    """Everything, in a temporary folder under ``folder`` (None: where temporary files go)."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        found = {"benchmark": "exporting", **_against_copying(Path(place)), **_peak(Path(place) / "peak")}
        if seven_billion:
            found["seven_billion"] = _run(_BILLIONS, Path(place) / "billions") | {"peak_goal": BILLIONS_GOAL}
    return found


def _against_copying(folder: Path) -> dict[str, object]:
    from workbench import build, export

    package = build("smollm2-135m")
    report = export(package, folder / "warm", progress=False)
    exporting, copying = [], []
    for run in range(RUNS):
        copying.append(seconds(lambda run=run: copy(folder / "warm", folder / f"copy{run}")))
        shutil.rmtree(folder / f"copy{run}")
        exporting.append(seconds(lambda run=run: export(package, folder / f"x{run}", progress=False)))
        shutil.rmtree(folder / f"x{run}")
    return {
        "bytes": report.size, "exporting_s": round(min(exporting), 3), "copying_s": round(min(copying), 3),
        "ratio": round(min(exporting) / min(copying), 2), "goal": GOAL,
    }  # fmt: skip


def _peak(folder: Path) -> dict[str, object]:
    found = _run(_PEAK, folder)
    return found | {"peak_ratio": round(found["peak_bytes"] / found["weights_bytes"], 2), "peak_goal": PEAK_GOAL}


def _run(code: str, folder: Path) -> dict[str, int]:
    command = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1800)
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seven-billion", action="store_true", help="also stream 14 GB to the disk")
    parser.add_argument("--folder", type=Path, help="a folder on the disk to measure (a temporary one otherwise)")
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments.folder, seven_billion=arguments.seven_billion), indent=2))


if __name__ == "__main__":
    main()

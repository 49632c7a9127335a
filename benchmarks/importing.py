"""What importing costs, against onnxscript's own import; and what a skeleton loads."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

REPEATS = 5
CONFIG = {
    "model_type": "llama", "vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "max_position_embeddings": 131072,
}  # fmt: skip
_TIMED = "import time; t = time.process_time(); {}; print(time.process_time() - t)"


def cpu_seconds(statement: str) -> float:
    """CPU seconds of a statement in a fresh interpreter, the smallest of five."""
    command = [sys.executable, "-c", _TIMED.format(statement)]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(REPEATS)]
    return min(float(run.stdout) for run in runs)


def import_ratio() -> dict[str, float]:
    """``from workbench import build, compare, optimize`` against ``import onnxscript``; the limit is 1.2."""
    ours, theirs = cpu_seconds("from workbench import build, compare, optimize"), cpu_seconds("import onnxscript")
    return {"workbench_seconds": ours, "onnxscript_seconds": theirs, "ratio": ours / theirs, "limit": 1.2}


def skeleton_modules() -> dict[str, object]:
    """Whether building an 8B skeleton from a config.json loads torch or transformers' modelling code."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(CONFIG))
        code = (
            f"import sys, workbench; p = workbench.build({str(path)!r}, load_weights=False)\n"
            "bad = [m for m in sys.modules if m == 'torch' or m.startswith('transformers.models')]\n"
            "import json; print(json.dumps({'loaded': bad, 'nodes': len(p.model.graph)}))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


if __name__ == "__main__":
    print(import_ratio())
    print(skeleton_modules())

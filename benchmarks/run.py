"""All benchmarks in one run: ``python -m benchmarks.run``. Ratios are printed and written to out/benchmarks.json."""

from __future__ import annotations

import json
import platform
from importlib import metadata
from pathlib import Path

from benchmarks import building, diffing, exporting, importing, memory, pipeline, saving
from benchmarks import metadata as inference_metadata

VERSIONS = ("onnxruntime", "onnx", "onnx-ir", "onnxscript", "numpy")


def main() -> None:
    """Run them one after the other; nothing else should run beside them."""
    results = {
        "versions": {name: metadata.version(name) for name in VERSIONS} | {"python": platform.python_version()},
        "import": importing.import_ratio(),
        "skeleton": importing.skeleton_modules(),
        "memory": memory.peak_ratio(),
        "saving": saving.measure(),
        "exporting": exporting.measure(),
        "diffing": diffing.measure(),
        "pipeline": pipeline.measure(),
        "building": building.against_mobius() | {"seconds_per_layer": building.growth()},
        "metadata": inference_metadata.measure(),
    }
    text = json.dumps(results, indent=2)
    out = Path("out/benchmarks.json")
    out.parent.mkdir(exist_ok=True)
    out.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()

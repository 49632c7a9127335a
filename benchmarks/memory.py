"""Peak memory of ``compare("smollm2-135m")`` with parity, against the size of the weights in float32."""

from __future__ import annotations

import json
import subprocess
import sys

_CODE = """
import json, resource, sys, time
from workbench import compare
start = time.perf_counter()
comparison = compare("smollm2-135m")
built = time.perf_counter()
report = comparison.parity("The capital of France is")
done = time.perf_counter()
weights = sum(
    4 * tensor.size for name, value in comparison.generic.graph.initializers.items()
    if (tensor := value.const_value) is not None and not name.startswith("rotary_emb")
)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps({"verdict": report.verdict, "weights_bytes": weights, "peak_bytes": peak, "ratio": peak / weights,
                  "limit": 3.0, "build_seconds": built - start, "parity_seconds": done - built}))
"""


def peak_ratio() -> dict[str, object]:
    """Measured in a fresh interpreter; the limit is 3."""
    done = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


if __name__ == "__main__":
    print(peak_ratio())

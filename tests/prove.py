"""Write the proofs that ``workbench models`` shows: every family against Hugging Face, now, on this machine.

``python -m tests.prove [MODEL_TYPE ...]`` needs torch. A family is proven by its small default and its exercise config,
every parameter perturbed, rows alone: a prefill longer than any window, then decode steps with the cache.
"""

from __future__ import annotations

import json
import sys
from importlib import metadata

import numpy as np

from tests.families import KINDS, Kind
from tests.parity.pairs import hf_steps, pair, tokens
from tests.parity.running import alone, distance
from workbench.models import SPECS, lookup
from workbench.runtime.ort_cpu import OrtCpuSession
from workbench.zoo import PROOFS, fingerprint

LIMIT = 5e-5
VERSIONS = ("transformers", "torch", "onnxruntime", "onnxscript", "onnx-ir")


def decoder_distance(model_type: str, kind: Kind) -> float:
    """The largest difference of a logit."""
    rows, more = tokens()
    both = pair(model_type, kind)
    expected = [hf_steps(both.hf, row, after) for row, after in zip(rows, more, strict=True)]
    with OrtCpuSession(both.graph()) as session:
        return distance(alone(session, rows, more), expected)


def encoder_distance(model_type: str, kind: Kind) -> float:
    """The largest difference of a hidden state, in a batch padded on the right."""
    import torch

    both, (rows, _) = pair(model_type, kind), tokens()
    width = max(len(row) for row in rows)
    ids = np.array([[*row, *[0] * (width - len(row))] for row in rows])
    mask = np.array([[1] * len(row) + [0] * (width - len(row)) for row in rows])
    types = np.random.default_rng(0).integers(0, 2, ids.shape)
    feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
    with torch.no_grad():
        expected = both.hf(**{name: torch.tensor(value) for name, value in feeds.items()}).last_hidden_state.numpy()
    with OrtCpuSession(both.graph()) as session:
        found = session.run(feeds)["last_hidden_state"]
    return float(np.abs(found - expected)[mask.astype(bool)].max())


def prove(model_type: str) -> dict[str, object]:
    """The proof of one family.

    Raises:
        AssertionError: it is beyond the limit, so there is nothing to write down.
    """
    measure = encoder_distance if lookup(model_type).task == "feature-extraction" else decoder_distance
    worst = max(measure(model_type, kind) for kind in KINDS)
    assert worst <= LIMIT, f"{model_type}: {worst:.1e} against Hugging Face is beyond {LIMIT:.0e}"
    return {
        "max_abs_diff": float(f"{worst:.1e}"), "limit": LIMIT, "dtype": "float32", "executor": "ort-cpu",
        "weights_seed": 0, "fingerprint": fingerprint(model_type),
        "versions": {name: metadata.version(name) for name in VERSIONS},
    }  # fmt: skip


def main(names: list[str]) -> None:
    """Prove the named families, or all; the file is written once they all stand."""
    proofs = json.loads(PROOFS.read_text(encoding="utf-8")) if PROOFS.is_file() else {}
    for model_type in names or [spec.model_type for spec in SPECS]:
        lookup(model_type)
        proofs[model_type] = prove(model_type)
        print(f"{model_type}: {proofs[model_type]['max_abs_diff']:.1e}", file=sys.stderr)
    PROOFS.write_text(json.dumps(dict(sorted(proofs.items())), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

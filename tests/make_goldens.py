"""Hugging Face's logits of the tiny llamas, kept beside the tests so that comparing with them needs no torch.

``python -m tests.make_goldens`` writes ``tests/golden/llama/*.npz`` (float32) and ``llama.json`` with configs, seeds
and versions, and says how far the new numbers are from the old ones. ``smollm2-135m`` among the names makes a few
hundred logits of the built-in model as well (its weights are fetched if they are not here).

Rows are run one by one and without padding. That is the oracle for padded batches too: Hugging Face's own padded
batches are not always equal to their rows.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from tests.cases import CASES, Case

GOLDEN = Path(__file__).parent / "golden" / "llama"
RECORD = GOLDEN.with_suffix(".json")
SMOLLM2 = "smollm2-135m"
SMOLLM2_GOLDEN = Path(__file__).parent / "golden" / SMOLLM2
SMOLLM2_ROW = [504, 3575, 282, 4649, 314]
"""``The capital of France is``."""
SMOLLM2_DECODE = [7042, 30, 198]
SMOLLM2_STEP = 997
"""Every so many logits of a row are kept: 50 of 49,152."""


def hugging_face(config: Mapping[str, Any], weights: Mapping[str, np.ndarray]) -> Any:
    """``LlamaForCausalLM`` in float32 with these weights; every one of its parameters has to be among them."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    words = copy.deepcopy(dict(config))  # its reader writes into nested values
    model = LlamaForCausalLM(LlamaConfig.from_dict({**words, "attn_implementation": "sdpa"}))
    model = model.to(torch.float32).eval()
    state = {name: torch.from_numpy(np.array(array)) for name, array in weights.items()}
    missing, unexpected = model.load_state_dict(state, strict=False)
    own = [name for name in missing if not (name == "lm_head.weight" and config.get("tie_word_embeddings"))]
    if own or unexpected:
        raise ValueError(f"the weights do not fit: missing {own}, unexpected {unexpected}")
    model.tie_weights()
    return model


def row_logits(model: Any, row: Sequence[int], decode: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Logits ``[S, V]`` of a prompt, then ``[N, V]`` of further tokens fed one at a time with the cache."""
    import torch

    with torch.no_grad():
        found = model(torch.tensor([list(row)]), use_cache=True)
        prefill, steps = found.logits[0], []
        for token in decode:
            found = model(torch.tensor([[token]]), cache=found.cache, use_cache=True)
            steps.append(found.logits[0, -1])
    return prefill.numpy().astype(np.float32), torch.stack(steps).numpy().astype(np.float32)


def case_logits(case: Case) -> dict[str, np.ndarray]:
    """``prefill.{b}`` and ``decode.{b}`` of each row ``b`` of a case."""
    model = hugging_face(case.hf, case.weights)
    found: dict[str, np.ndarray] = {}
    for b, (row, decode) in enumerate(zip(case.rows, case.decode, strict=True)):
        found[f"prefill.{b}"], found[f"decode.{b}"] = row_logits(model, row, decode)
    return found


def smollm2_logits() -> dict[str, np.ndarray]:
    """``prefill`` and ``decode`` of SmolLM2: Hugging Face's model with the weights that the workbench opens."""
    from workbench.config.resolve import resolve
    from workbench.weights.load import open_weights

    source = resolve(SMOLLM2)
    weights = {name: tensor.numpy() for name, tensor in open_weights(source).items()}
    model = hugging_face(source.hf, weights)
    prefill, decode = row_logits(model, SMOLLM2_ROW, SMOLLM2_DECODE)
    return {"prefill": prefill, "decode": decode}


def smollm2_golden() -> dict[str, np.ndarray]:
    """The stored part of :func:`smollm2_logits`."""
    with np.load(SMOLLM2_GOLDEN.with_suffix(".npz")) as file:
        return {key: file[key] for key in file.files}


def _write_smollm2() -> str:
    new = {key: logits[:, ::SMOLLM2_STEP] for key, logits in smollm2_logits().items()}
    path = SMOLLM2_GOLDEN.with_suffix(".npz")
    before = difference(smollm2_golden(), new) if path.exists() else "new"
    if before != "unchanged":
        np.savez(path, **new)
    values = {"versions": versions(), "row": SMOLLM2_ROW, "decode": SMOLLM2_DECODE, "step": SMOLLM2_STEP}
    SMOLLM2_GOLDEN.with_suffix(".json").write_text(json.dumps(values, indent=1) + "\n", "utf-8")
    return before


def versions() -> dict[str, str]:
    """What made the numbers."""
    return {name: metadata.version(name) for name in ("torch", "transformers", "numpy")}


def golden(name: str) -> dict[str, np.ndarray]:
    """The stored logits of a case."""
    with np.load(GOLDEN / f"{name}.npz") as file:
        return {key: file[key] for key in file.files}


def record() -> dict[str, Any]:
    """What the stored logits were made from: versions, and config, seed and tokens of each case."""
    return json.loads(RECORD.read_text("utf-8"))


def description(case: Case) -> dict[str, Any]:
    """What a case's numbers depend on, as JSON keeps it."""
    values = {"config": case.hf, "seed": case.seed, "rows": case.rows, "decode": case.decode}
    return json.loads(json.dumps(values))


def difference(old: Mapping[str, np.ndarray], new: Mapping[str, np.ndarray]) -> str:
    """How far two sets of logits are apart, in words."""
    if {k: v.shape for k, v in old.items()} != {k: v.shape for k, v in new.items()}:
        return "other arrays or shapes"
    worst = max(float(np.abs(old[key] - new[key]).max()) for key in new)
    return "unchanged" if worst == 0 else f"max|d| {worst:.2g}"


def _write(case: Case) -> str:
    new = case_logits(case)
    path = GOLDEN / f"{case.name}.npz"
    before = difference(golden(case.name), new) if path.exists() else "new"
    if before != "unchanged":
        np.savez(path, **new)
    return before


def main(names: Sequence[str] | None = None) -> int:
    """Write the goldens of the named cases (the tiny ones without names)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*", choices=[[], *CASES, SMOLLM2], help="cases to make; the tiny ones without")
    chosen = parser.parse_args(names).case or list(CASES)
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for name in chosen:
        print(f"{name:14s} {_write_smollm2() if name == SMOLLM2 else _write(CASES[name])}", file=sys.stderr)
    values = {"versions": versions(), "cases": {name: description(case) for name, case in CASES.items()}}
    RECORD.write_text(json.dumps(values, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

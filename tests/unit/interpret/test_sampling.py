"""The token policy: draws follow the softmax, filters keep what they say, seeds repeat a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.interpret.documents import request
from tests.unit.interpret.violations import decoder
from workbench.interpret import Sampling, interpret
from workbench.interpret.sampling import choose, filtered

LOGITS = np.array([2.0, 1.0, 0.5, 0.0, -1.0, -3.0, 1.5, -np.inf])
DRAWS = 20_000


def softmax(logits: Any) -> Any:
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


def drawn(sampling: Sampling, seed: int = 1) -> Any:
    generator = np.random.default_rng(seed)
    return np.bincount([choose(LOGITS, sampling, generator) for _ in range(DRAWS)], minlength=LOGITS.size)


def chi_squared(counts: Any, expected: Any) -> float:
    live = expected > 0
    assert counts[~live].sum() == 0
    return float(((counts[live] - DRAWS * expected[live]) ** 2 / (DRAWS * expected[live])).sum())


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_draws_follow_the_softmax(temperature: float) -> None:
    """6 degrees of freedom: chi squared is above 22.46 once in a thousand; the temperature next to it is far above."""
    counts = drawn(Sampling(True, temperature))
    assert chi_squared(counts, softmax(LOGITS / temperature)) < 22.46
    assert chi_squared(counts, softmax(LOGITS / (temperature * 1.1))) > 22.46


def test_each_filter_keeps_what_it_says() -> None:
    def kept(**words: Any) -> list[int]:
        return np.flatnonzero(np.isfinite(filtered(LOGITS, Sampling(True, **words)))).tolist()

    assert kept(top_k=3) == [0, 1, 6]
    assert kept(top_k=99) == kept() == [0, 1, 2, 3, 4, 5, 6]
    shares = softmax(LOGITS)
    assert kept(top_p=float(shares[0]) - 1e-9) == [0]
    assert kept(top_p=float(shares[0] + shares[6]) + 1e-9) == [0, 1, 6]
    assert kept(min_p=float(np.exp(-1.0)) - 1e-9) == [0, 1, 6]  # token 1 has exp(-1) of the likeliest's share
    assert kept(min_p=float(np.exp(-1.0)) + 1e-9) == [0, 6]
    assert kept(top_k=3, min_p=0.5) == [0, 6]


@pytest.mark.torch
def test_filters_are_those_of_hugging_face() -> None:
    import torch
    from transformers.generation.logits_process import (
        LogitsProcessorList,
        MinPLogitsWarper,
        TemperatureLogitsWarper,
        TopKLogitsWarper,
        TopPLogitsWarper,
    )  # fmt: skip

    rng = np.random.default_rng(5)
    for _ in range(20):
        logits = rng.standard_normal(40) * 3
        t, k, p, m = float(rng.uniform(0.3, 2)), int(rng.integers(1, 40)), float(rng.uniform(0.1, 1)), 0.05
        theirs = LogitsProcessorList(
            [TemperatureLogitsWarper(t), TopKLogitsWarper(k), TopPLogitsWarper(p), MinPLogitsWarper(m)]
        )(None, torch.tensor(logits)[None])[0].numpy()
        np.testing.assert_allclose(filtered(logits, Sampling(True, t, k, p, m)), theirs, rtol=1e-12)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"temperature": 0.0}, "temperature is 0.0; it must be above 0 and finite"),
        ({"top_p": 1.5}, "top_p is 1.5; it must be above 0 and at most 1"),
        ({"min_p": -0.1}, "min_p is -0.1; it must be between 0 and 1"),
        ({"top_k": -1}, "top_k must be a whole number, 0 or more; found int -1"),
        ({"temperature": "hot"}, "temperature must be a number; found str 'hot'"),
    ],
)
def test_numbers_out_of_bounds(words: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        Sampling(True, **words)


# --- in a run ----------------------------------------------------------------------------------------------------
def run(folder: Path, rows: Any, seed: int, **words: Any) -> Any:
    return interpret(
        decoder()(folder), {"rows": rows}, package_root=folder, max_new_tokens=12, seed=seed,
        **({"sampling": Sampling(True)} | words),
    )  # fmt: skip


def test_a_seed_repeats_a_run_and_is_recorded(tmp_path: Path) -> None:
    first, again, other = (run(tmp_path, [[1, 2]], seed) for seed in (3, 3, 4))
    assert first.tokens == again.tokens != other.tokens
    assert first.seed == 3 and first.sampling == "sampled" and repr(first).endswith("sampled)")


def test_a_request_draws_the_same_beside_others(tmp_path: Path) -> None:
    both = run(tmp_path, [[1, 2], [3, 4]], 3)
    assert both.tokens[0] == run(tmp_path, [[1, 2]], 3).tokens[0] != both.tokens[1]


def test_the_document_says_how_to_draw(tmp_path: Path) -> None:
    document = decoder()(tmp_path)
    document["generation"] = {"defaults": {"do_sample": True, "temperature": 0.7, "top_k": 5}}
    given = {"rows": [[1, 2]]}
    assert interpret(document, given, package_root=tmp_path).sampling == "sampled, temperature 0.7, top_k 5"
    assert interpret(document, given, package_root=tmp_path, sampling=Sampling()).sampling == "greedy"
    document["pipeline"]["workflow"]["inputs"]["heat"] = request(
        "float32[1]", "sampling_temperature", required=False, default=1.0
    )
    found = interpret(document, {**given, "sampling_temperature": 0.5}, package_root=tmp_path)
    assert found.sampling == "sampled, temperature 0.5, top_k 5"
    cold = interpret(document, {**given, "sampling_temperature": 0.0}, package_root=tmp_path)
    assert cold.sampling == "greedy"

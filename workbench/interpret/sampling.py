"""From logits to a token: the greedy one, or one drawn after temperature, top-k, top-p and min-p.

The filters follow each other in the order of Hugging Face's ``generate``: temperature, top-k, top-p, min-p.
Source: transformers, ``generation/logits_process.py``.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt

from workbench.errors import ArgumentError, wrong_type

Logits = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Sampling:
    """How a token is chosen. Greedy without ``do_sample``.

    ``temperature`` > 0 divides the logits; ``top_k`` keeps so many (0: all); ``top_p`` in (0, 1] keeps the likeliest
    that have so much of the probability together; ``min_p`` in [0, 1] keeps those with this share of the likeliest's.

    Raises:
        ArgumentError: a number of the wrong type, or outside of these bounds.
    """

    do_sample: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.do_sample, bool):
            raise wrong_type("do_sample", self.do_sample, "True or False")
        if isinstance(self.top_k, bool) or not isinstance(self.top_k, int) or self.top_k < 0:
            raise wrong_type("top_k", self.top_k, "a whole number, 0 or more")
        for word, low, high in (("temperature", 0.0, np.inf), ("top_p", 0.0, 1.0), ("min_p", -1.0, 1.0)):
            value = getattr(self, word)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise wrong_type(word, value, "a number")
            if not (low < value <= high) or not np.isfinite(value) or (word == "min_p" and value < 0):
                raise ArgumentError(f"{word} is {value}; it must be {_BOUNDS[word]}.")

    @property
    def text(self) -> str:
        """``greedy``, or what is not the default in a line."""
        if not self.do_sample:
            return "greedy"
        words = [f.name for f in dataclasses.fields(self)[1:] if getattr(self, f.name) != f.default]
        return ", ".join(["sampled", *(f"{word} {getattr(self, word):g}" for word in words)])


_BOUNDS = {"temperature": "above 0 and finite", "top_p": "above 0 and at most 1", "min_p": "between 0 and 1"}


def filtered(logits: Logits, sampling: Sampling) -> Logits:
    """Logits ``[V]`` of one request divided by the temperature, -inf where a filter takes a token out."""
    scores = logits / sampling.temperature
    if 0 < sampling.top_k < scores.size:
        scores = np.where(scores < np.partition(scores, -sampling.top_k)[-sampling.top_k], -np.inf, scores)
    if sampling.top_p < 1.0:
        scores = _nucleus(scores, sampling.top_p)
    if sampling.min_p > 0.0:
        shares = softmax(scores)
        scores = np.where(shares < sampling.min_p * shares.max(), -np.inf, scores)
    return scores


def _nucleus(scores: Logits, top_p: float) -> Logits:
    """Without the least likely tokens that have at most ``1 - top_p`` together; the likeliest always stays."""
    order = np.argsort(scores, kind="stable")
    out = np.cumsum(softmax(scores[order])) <= 1.0 - top_p
    out[-1] = False
    kept = scores.copy()
    kept[order[out]] = -np.inf
    return kept


def softmax(scores: Logits) -> Logits:
    """Probabilities ``[V]`` of logits ``[V]`` of which at least one is finite."""
    powers = np.exp(scores - scores.max())
    return np.asarray(powers / powers.sum())


def choose(logits: Logits, sampling: Sampling, generator: np.random.Generator) -> int:
    """A token of logits ``[V]``; NaN is never chosen. At least one of them must be finite.

    A draw takes one uniform number of the generator, whatever the filters are.
    """
    scores = np.where(np.isnan(logits), -np.inf, logits.astype(np.float64))
    if not sampling.do_sample:
        return int(scores.argmax())
    sums = np.cumsum(softmax(filtered(scores, sampling)))
    return int(np.searchsorted(sums, generator.random() * sums[-1], side="right"))

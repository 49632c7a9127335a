"""Families side by side: Hugging Face's tiny model, our config of it and its weights by our names."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from tests.families import VOCAB, Kind, hf_config, hf_model, state_arrays
from workbench.config.parts import AnyConfig
from workbench.models import lookup
from workbench.tasks import get_task
from workbench.types import GraphOptions
from workbench.weights.bind import bind
from workbench.weights.convert import convert, without

LENGTHS = (40, 33)
"""Tokens per row: longer than any window and any original length in the exercise configs."""
STEPS = 3
SEEDS: dict[str, int] = {}
"""Seeds of weights where 0 will not do, with the reason beside each."""


@dataclasses.dataclass(frozen=True, eq=False)
class Pair:
    """One family in one config."""

    model_type: str
    hf: Any
    config: AnyConfig
    weights: dict[str, ir.TensorProtocol]

    def graph(self, dtype: ir.DataType = ir.DataType.FLOAT, options: GraphOptions | None = None) -> ir.Model:
        """The generic graph with its weights bound."""
        spec = lookup(self.model_type)
        module = spec.module(self.config, dtype)
        model = get_task(spec.task).build(module, self.config, dtype, options or GraphOptions())["model"]
        bind(model, self.weights, dtype=dtype)
        return model


@functools.cache
def pair(model_type: str, kind: Kind) -> Pair:
    """The pair of a family's small default or exercise config."""
    return make_pair(model_type, hf_config(model_type, kind), SEEDS.get(model_type, 0))


def make_pair(model_type: str, config: Any, seed: int = 0) -> Pair:
    """A pair from any Hugging Face config."""
    spec, hf = lookup(model_type), hf_model(config, seed)
    ours = spec.read(config.to_dict())
    state = {name: ir.tensor(value, name=name) for name, value in state_arrays(hf).items()}
    named = without(state, spec.ignored, spec.prefix, spec.strip)
    return Pair(model_type, hf, ours, convert(named, spec.weights, ours))


def tokens(lengths: Sequence[int] = LENGTHS, seed: int = 1) -> tuple[list[list[int]], list[list[int]]]:
    """Prompts, and the tokens fed one at a time after each."""
    rng = np.random.default_rng(seed)
    rows = [rng.integers(3, VOCAB, length).tolist() for length in lengths]
    return rows, [rng.integers(3, VOCAB, STEPS).tolist() for _ in lengths]


def hf_steps(model: Any, row: Sequence[int], more: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Logits of a row alone, ``[S, V]``, and of the tokens after it, ``[N, V]``, with Hugging Face's own cache."""
    import torch

    steps = []
    with torch.no_grad():
        out = model(torch.tensor([list(row)]), use_cache=True)
        prefill = out.logits[0].numpy()
        for token in more:
            key = "cache" if getattr(out, "cache", None) is not None else "past_key_values"
            out = model(torch.tensor([[token]]), use_cache=True, **{key: getattr(out, key)})
            steps.append(out.logits[0, -1].numpy())
    return prefill, np.stack(steps)

"""What a graph differs from itself by on given inputs: the floor below which float32 cannot judge another graph.

The graph is computed again in another order (ONNX Runtime's own rewrites off instead of on) and with its vectors (norm
scales, biases) moved to the next float32. Neither changes what it means; where a token is ill-conditioned, both change
its logits by far more than a rounding.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import onnx_ir as ir

from workbench.runtime.ort_cpu import SessionSettings

NUDGES = 3
"""How many times the vectors are moved, each time by other signs: one sample of a floor says little."""


def variants(model: ir.Model, settings: SessionSettings) -> Iterator[tuple[ir.Model, SessionSettings]]:
    """The same graph in other orders of rounding, and how to run each. Big tensors are shared with the original."""
    other = "none" if settings.graph_optimization != "none" else "all"
    yield model, dataclasses.replace(settings, graph_optimization=other)
    for seed in range(NUDGES):
        yield nudged(model, seed), settings


def nudged(model: ir.Model, seed: int) -> ir.Model:
    """A clone whose float32 vectors are each one float up or down, by a seeded draw."""
    clone, rng = model.clone(), np.random.default_rng(seed)
    for name, value in clone.graph.initializers.items():
        tensor = value.const_value
        if tensor is not None and tensor.dtype == ir.DataType.FLOAT and len(tensor.shape) == 1:
            array = tensor.numpy()
            sides = np.where(rng.random(array.shape) < 0.5, -np.inf, np.inf).astype(np.float32)
            value.const_value = ir.tensor(np.nextafter(array, sides), name=name)
    return clone

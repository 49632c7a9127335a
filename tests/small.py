"""A small model of a family with weights, its graph for a provider, and what a graph gives for rows of tokens."""

from __future__ import annotations

import ast
import functools
from typing import Any

import numpy as np
import onnx_ir as ir

from tests.golden_ops import words
from tests.parity.running import RowLogits, alone, batch
from workbench.ep import get_ep
from workbench.models import lookup
from workbench.optimize import run_plan
from workbench.recipe import Recipe
from workbench.rules import RULES
from workbench.rules.plan import plan
from workbench.runtime.ort_cpu import OrtCpuSession, SessionSettings
from workbench.tasks import get_task
from workbench.types import Role

AS_WRITTEN = SessionSettings(graph_optimization="none")
"""ONNX Runtime fuses a good part of a generic graph by itself: a provider's graph would be held against its twin."""
SEED = 3
"""Of the weights."""
ROWS, MORE = [[5, 9, 31, 2, 77, 40, 8, 13, 21, 60, 3, 17, 90], [44, 6, 7, 30, 12, 81, 9]], [[4, 8], [15, 16]]


@functools.cache
def generic(
    family: str, dtype: ir.DataType = ir.DataType.FLOAT, more: tuple[tuple[str, Any], ...] = ()
) -> tuple[ir.Model, Role]:
    """The generic graph in a dtype; weights are drawn in float32 and rounded, so that dtypes can be compared.

    ``more`` are words of the config on top, as literals (``repr``).
    """
    spec = lookup(family)
    config = spec.read({**words(spec), **{word: ast.literal_eval(value) for word, value in more}})
    recipe = Recipe(spec.module, config, get_task(spec.task))
    (model,) = recipe.generic(dtype)[0].values()
    rng = np.random.default_rng(SEED)
    for name in sorted(model.graph.initializers):
        value = model.graph.initializers[name]
        if value.const_value is None:
            shape = value.shape.numpy()
            drawn = rng.standard_normal(shape) * (0.1 if len(shape) == 1 else 1.5 / shape[-1] ** 0.5)
            value.const_value = ir.tensor(
                (drawn + (len(shape) == 1 and not name.endswith("bias"))).astype(dtype.numpy()), name=name
            )
    return model, get_task(spec.task).roles["model"]


def on(model: ir.Model, role: Role, name: str, dtype: ir.DataType = ir.DataType.FLOAT) -> ir.Model:
    """A provider's graph; inputs stay, so that a second provider may use them."""
    ep = get_ep(name)
    return run_plan(model, plan(ep, dtype, role, RULES), ep).model


def numbers(model: ir.Model, role: Role) -> list[RowLogits]:
    """Each row alone and in a right-padded batch, decode steps included; of an encoder a padded batch."""
    with OrtCpuSession(model, AS_WRITTEN) as session:
        if role is Role.DECODER:
            return alone(session, ROWS, MORE, "right") + batch(session, ROWS, MORE, "right", "right")
        width = max(map(len, ROWS))
        mask = np.array([[1] * len(r) + [0] * (width - len(r)) for r in ROWS])
        ids = np.array([[*r, *[0] * (width - len(r))] for r in ROWS])
        found = session.run({"input_ids": ids, "attention_mask": mask, "token_type_ids": ids % 2})["last_hidden_state"]
        return [(found[b, : len(row)], found[b, :1]) for b, row in enumerate(ROWS)]

"""Every valid document of the collection: a run or a diagnostic at a step, whatever it is given. Never a traceback."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from tests.unit.metadata.fixtures import OWN
from workbench.interpret import Limits, interpret
from workbench.interpret.arrays import numpy_dtype
from workbench.metadata import opened

DOCUMENTS = sorted((OWN / "valid").iterdir())


LAYOUTS_APART = "own-near-request-expanded.yaml"
"""Its input has two entries per request, and the cell that starts from it one: no rule compares layouts."""

ADAPTERS = "own-base-lora.yaml"
"""Its adapters are not applied, which a warning says."""


def made(contract: Any, value: int) -> Any:
    """Of the least size that a contract allows: every symbol is 1, and a block of a request is whole."""
    layout = contract.batch_layout
    shape = [
        getattr(layout, "factor", 1) if axis == contract.request_axis else dim if isinstance(dim, int) else 1
        for axis, dim in enumerate(contract.shape or ())
    ]
    return np.full(shape, value, np.float32).astype(numpy_dtype(contract.dtype))


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_it_runs_or_says_at_which_step_it_cannot(path: Any) -> None:
    bare = interpret(path)
    assert bare.status in ("done", "failed") and (bare.ok or bare.diagnostics[-1].step == bare.trace[-1].path)

    flow = opened(path).workflow
    assert flow is not None
    given = {name: made(entry.contract, 1) for name, entry in flow.inputs.items() if entry.default is None}

    def executor(component: Any) -> Any:
        def call(_: Mapping[str, Any]) -> Any:  # every flag is false, so that each loop ends after a round
            return {port: made(contract, 0) for port, contract in component.ports.outputs.items()}

        return call

    executors = {name: executor(component) for name, component in flow.components.items()}
    run = interpret(path, given, executors=executors, limits=Limits(max_rounds=9))
    assert ("run.ignored" in [one.code for one in run.diagnostics]) is (path.name == ADAPTERS)
    if path.name == LAYOUTS_APART:
        assert run.diagnostics[-1].code == "run.rows"
    else:
        assert run.ok and set(run.outputs) == set(flow.outputs), run
    assert run.trace.to_frame().shape[0] >= len(run.trace)

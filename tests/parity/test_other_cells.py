"""What the matrix of decoders leaves out: encoders for every provider and dtype, and the portable form of every family.

ONNX Runtime's own rewrites are off here, so that a provider's fusions are not held against the same ones.
"""

from __future__ import annotations

import functools

import onnx_ir as ir
import pytest

from tests.parity.running import RowLogits, distance
from tests.small import generic, numbers, on
from workbench.ep import execution_providers, get_ep
from workbench.models import SPECS

ENCODERS = [spec.model_type for spec in SPECS if spec.task == "feature-extraction"]
FAMILIES = [spec.model_type for spec in SPECS]
BOUND, HALF, F16 = 1e-5, 2.0, ir.DataType.FLOAT16


@functools.cache
def expected(family: str, dtype: ir.DataType = ir.DataType.FLOAT) -> list[RowLogits]:
    return numbers(*generic(family, dtype))


@pytest.mark.parametrize("name", execution_providers())
@pytest.mark.parametrize("family", ENCODERS)
def test_encoders_in_both_dtypes_that_a_cpu_runs(family: str, name: str) -> None:
    model, role = generic(family)
    assert distance(numbers(on(model, role, name), role), expected(family)) <= BOUND
    half = numbers(on(*generic(family, F16), name, F16), role)
    floor = distance(expected(family, F16), expected(family))
    assert 0 < floor < 0.1
    assert distance(half, expected(family)) <= HALF * floor


@pytest.mark.parametrize("family", FAMILIES)
def test_the_portable_form_of_every_family(family: str) -> None:
    """Functions of ours stay calls: ONNX Runtime inlines their bodies."""
    model, role = generic(family)
    made = on(model, role, "default")
    assert made.functions and distance(numbers(made, role), expected(family)) <= BOUND
    assert not [node for node in made.graph if node.domain not in get_ep("default").domains | {"ep_workbench"}]

"""Random changes of valid documents: the validator always answers, and answers the same twice."""

from __future__ import annotations

import random

import pytest

from tests.unit.metadata.fixtures import fixtures
from tests.unit.metadata.mutations import mutate
from workbench.metadata import load, validate

PER_SEED = 250


@pytest.mark.parametrize("seed", range(8))
def test_a_changed_document_never_breaks_the_validator(seed: int) -> None:
    draw = random.Random(seed)
    documents = [load(f.path).data for f in fixtures() if f.kind == "valid" and f.is_own]
    for _ in range(PER_SEED):
        data = draw.choice(documents)
        for _ in range(draw.randint(1, 3)):
            data = mutate(data, draw)
        found = validate(data)
        assert found == validate(data)
        assert all(d.code and d.message and (d.hint or d.severity == "warning") for d in found), found

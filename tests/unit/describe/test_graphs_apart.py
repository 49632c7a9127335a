"""Graphs of one package that do not fit together: no document, or one that keeps every rule; never a traceback."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from pathlib import Path

import onnx_ir as ir
import pytest

from tests.metadata_packages import FOREIGN, foreign
from workbench import describe
from workbench.describe import DescribedPackage
from workbench.errors import ArgumentError, UnsupportedError, WorkbenchError

Change = Callable[[ir.Model], object]


def changed(package: DescribedPackage, key: str, change: Change) -> DescribedPackage:
    model = package.package.models[key].clone()
    change(model)
    models = {**package.package.models, key: model}
    return dataclasses.replace(package, package=dataclasses.replace(package.package, models=models))


def named(model: ir.Model, name: str) -> ir.Value:
    return next(value for value in (*model.graph.inputs, *model.graph.outputs) if value.name == name)


def without_inputs(model: ir.Model) -> None:
    model.graph.inputs.clear()


def without_logits(model: ir.Model) -> None:
    model.graph.outputs.remove(named(model, "logits"))


def halved(model: ir.Model) -> None:
    keys = next(value for value in model.graph.inputs if "key" in (value.name or "").split("."))
    keys.type = ir.TensorType(ir.DataType.FLOAT16)


@pytest.mark.parametrize(
    ("kind", "key", "change", "said"),
    [
        ("vision-language", "vision", without_inputs, "takes nothing. Export it with its inputs."),
        ("speculative-chained", "embedding", without_inputs, "takes nothing. Export it with its inputs."),
        ("vision-language", "decoder", without_logits, "must have one output 'logits'; found none."),
        ("encoder-decoder", "decoder", halved, "its graphs do not fit together: .*and export them again."),
    ],
)
def test_what_is_missing_is_said(kind: str, key: str, change: Change, said: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=said):
        describe(changed(foreign(kind, tmp_path), key, change))


def test_a_number_that_no_document_holds(tmp_path: Path) -> None:
    package = foreign("speculative", tmp_path)
    with pytest.raises(
        ArgumentError, match="as speculative cannot be written: rollback_positions: .*found 118059162071"
    ):
        describe(dataclasses.replace(package, facts={**package.facts, "max_proposal_width": 2**70}))


@pytest.mark.parametrize("kind", FOREIGN)
def test_ports_changed_at_random(kind: str, tmp_path: Path) -> None:
    package, chance, said = foreign(kind, tmp_path), random.Random(11), 0
    for _ in range(40):
        key = chance.choice(list(package.package.models))
        try:
            found = describe(changed(package, key, lambda model: _change(model, chance)))
        except WorkbenchError as error:
            said += len(str(error)) > 40
        else:
            assert list(found.validate("pr828")) == [] and list(found.validate("v1")) == []
    assert said >= 5


def _change(model: ir.Model, chance: random.Random) -> None:
    port = chance.choice([*model.graph.inputs, *model.graph.outputs])
    sizes = [chance.choice([None, 1, 0, "batch", "other", 7]) for _ in range(chance.randint(0, 5))]
    dtype = chance.choice([ir.DataType.FLOAT, ir.DataType.INT64, ir.DataType.FLOAT16, ir.DataType.STRING])
    match chance.randint(0, 4):
        case 0:
            port.shape = None
        case 1:
            port.shape = ir.Shape(sizes)
        case 2:
            port.name = chance.choice(["logits", "input_ids", "größe.☃", "past_key_values.0.key", "present.0.key"])
        case 3:
            port.type = chance.choice([None, ir.TensorType(dtype)])
        case _:
            side = model.graph.inputs if port in list(model.graph.inputs) else model.graph.outputs
            side.remove(port)

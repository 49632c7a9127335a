"""Coverage of fusions: counted from runs, held against a family's own report, and the verb that shows it."""

from __future__ import annotations

import functools
import json

import pytest
from typer.testing import CliRunner

from tests.unit.rules.graphs import llama
from workbench import optimize
from workbench.cli.app import app
from workbench.errors import UnknownNameError
from workbench.models import SPECS
from workbench.sweep import coverage as module
from workbench.sweep.coverage import ANY, COLUMNS, SEED, Coverage, coverage
from workbench.zoo import families


@functools.cache
def cpu() -> Coverage:
    return coverage(["cpu"])


def test_every_proven_type_is_run() -> None:
    proven = {f.model_type for f in families().families if f.proven != "no"}
    assert set(cpu().types) == proven and cpu().failed == ()
    assert all(row.types == len(proven) for row in cpu().rows)
    assert set(SEED) <= {row.rule for row in cpu().rows}


def test_counts_are_those_of_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """One family alone: reached or not is what its own report says."""
    monkeypatch.setattr(module, "SPECS", [spec for spec in SPECS if spec.model_type == "llama"])
    one = coverage(["cpu", "onnx-standard"])
    report = optimize(llama(), execution_provider="cpu").report
    for rule in report.rules:
        row = one.row(rule.rule, "cpu")
        if row is not None:
            assert (row.types, row.fired, row.planned) == (1, int(bool(rule.applied)), True)
    assert one.row(ANY, "cpu").share == 1.0
    assert one.row("fuse/gqa", "onnx-standard").planned is False


def test_more_is_reached_than_nothing_and_no_more_than_there_is() -> None:
    for row in cpu().rows:
        assert row.whole <= row.fired <= row.candidates <= row.types
    assert cpu().row("fuse/gqa", "cpu").share > 0.5
    any_row = cpu().row(ANY, "cpu")
    assert any_row is not None and any_row.fired >= max(r.fired for r in cpu().rows if r.rule != ANY)


def test_faces() -> None:
    assert list(cpu().to_frame().columns) == COLUMNS
    assert "fuse/gqa" in repr(cpu()) and "(seed 60%)" in repr(cpu()) and "<table" in cpu()._repr_html_()
    with pytest.raises(UnknownNameError, match="Did you mean 'cpu'"):
        coverage(["cpuu"])


def test_a_dtype_that_a_provider_lacks_has_no_rows() -> None:
    assert coverage(["cpu"], "bfloat16").rows == ()


def test_the_verb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SPECS", [spec for spec in SPECS if spec.model_type == "llama"])
    result = CliRunner().invoke(app, ["coverage", "--ep", "cpu", "--json"])
    assert result.exit_code == 0 and json.loads(result.stdout)["types"] == ["llama"]
    shown = CliRunner().invoke(app, ["coverage", "--ep", "cpu"])
    assert "60%" in shown.stdout and "fuse/gqa" in shown.stdout
    assert CliRunner().invoke(app, ["coverage", "--ep", "cpuu"]).exit_code == 2

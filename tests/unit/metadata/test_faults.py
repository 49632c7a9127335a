"""Every rule has a document with that one fault, and a near miss that stays valid."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.unit.metadata.edits import Fault
from workbench.metadata import RULES, validate

HERE = Path(__file__).parent
TABLES = sorted(path.stem for path in HERE.glob("faults_*.py"))
FAULTS: list[Fault] = [
    fault for stem in TABLES for fault in importlib.import_module(f"tests.unit.metadata.{stem}").FAULTS
]
# Shown elsewhere, because no edit of data breaks them: texts in test_reading.py, files in test_package_files.py;
# rule 98 always speaks before 197, which test_scope.py shows.
ELSEWHERE = {1, 197, 271, 272, 273, 274}
ROWS = [pytest.param(fault, id=f"{fault.rule}-{index}") for index, fault in enumerate(FAULTS)]


@pytest.mark.parametrize("fault", ROWS)
def test_a_single_fault_names_its_rule_and_no_other(fault: Fault) -> None:
    found = validate(fault.broken(), **fault.options)
    assert {d.rule for d in found if d.severity == fault.severity} == {fault.rule, *(set(fault.also) & set(RULES))}, (
        found
    )
    assert fault.severity == "warning" or {d.severity for d in found} == {"error"}


@pytest.mark.parametrize("fault", ROWS)
def test_a_near_miss_is_none(fault: Fault) -> None:
    found = validate(fault.valid(), **fault.options)
    assert not found, found


def test_every_rule_has_its_fault() -> None:
    assert set(RULES) - {fault.rule for fault in FAULTS} - ELSEWHERE == set()

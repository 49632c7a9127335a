"""Contract violations while a workflow runs: found at their step and in their round, told in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.interpret.violations import BODY, ROWS, VIOLATIONS, Violation, decoder
from workbench.interpret import CODES, interpret


@pytest.mark.parametrize("planted", VIOLATIONS, ids=str)
def test_it_is_found_at_its_step(planted: Violation, tmp_path: Path) -> None:
    document = planted.make(tmp_path)
    run = interpret(document, planted.inputs, package_root=tmp_path, **planted.words)
    (found,) = [one for one in run.diagnostics if one.severity == "error"]
    assert (found.code, found.step, found.iteration) == (planted.code, planted.step, planted.round)
    assert planted.text in found.message
    assert found.code in CODES
    assert run.status == "failed"
    assert run.trace[-1].path == planted.step and run.trace[-1].diagnostics == (found,)


def test_at_least_ten_sorts_are_planted() -> None:
    assert len({planted.code for planted in VIOLATIONS}) >= 10


@pytest.mark.parametrize("planted", VIOLATIONS, ids=str)
def test_the_document_itself_is_valid(planted: Violation, tmp_path: Path) -> None:
    from workbench.metadata import validate

    assert validate(planted.make(tmp_path)).ok


def test_some_nan_is_a_warning_and_never_chosen(tmp_path: Path) -> None:
    # log(sin(x)) is NaN where the sine is negative: token ids 4 and 5.
    document = decoder(logits="w = Sin(wide) logits = Log(w)")(tmp_path)
    run = interpret(document, {"prompt_tokens": [[1, 4, 2]]}, package_root=tmp_path, max_new_tokens=1)
    (found,) = run.diagnostics
    assert (found.severity, found.code, found.step) == ("warning", "run.non-finite", f"{BODY}[0]")
    assert "d.logits has 8 NaN and 0 Inf among 24 elements" in found.message
    assert run.ok


def test_what_is_planted_runs_when_it_is_not(tmp_path: Path) -> None:
    run = interpret(decoder()(tmp_path), ROWS, package_root=tmp_path)
    assert run.ok and not run.diagnostics and run.outputs["tokens"].shape == (2, 4)

"""Going through a run: steps, breakpoints, back and forth, the values that can be seen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.interpret.documents import STEPS, always, counting
from tests.unit.interpret.violations import ROWS, decoder
from workbench.errors import UnknownNameError
from workbench.interpret import WorkflowStepper, interpret, stepper

LOOP, CALL = f"{STEPS}[0]", f"{STEPS}[0].body.nodes[0]"


@pytest.fixture
def made() -> Any:
    with stepper(counting(), ROWS, executors=always(lambda x: x + 1)) as one:
        yield one


def test_steps_come_in_the_order_of_the_run(made: WorkflowStepper) -> None:
    assert made.current is None and made.values == {} and not made.finished
    seen = []
    while (record := made.step()) is not None:
        seen.append((record.kind, record.iteration))
    rounds = [(kind, (n,)) for n in range(3) for kind in ("test", "invoke", "carry")]
    assert seen == [("inputs", ()), ("enter", ()), *rounds, ("test", (3,)), ("leave", ()), ("emit", ())]
    assert made.finished and made.run.ok and made.position == len(seen) - 1


def test_nothing_runs_before_it_is_asked_for() -> None:
    calls: list[int] = []
    with stepper(counting(), ROWS, executors=always(lambda x: calls.append(1) or x)) as made:
        made.run_until(CALL, iteration=1)
        assert len(calls) == 2
        made.back(), made.back(), made.forward()
        assert len(calls) == 2


def test_a_breakpoint_on_a_step(made: WorkflowStepper) -> None:
    rounds = []
    while (record := made.run_until(CALL)) is not None:
        rounds.append(record.iteration)
    assert rounds == [(0,), (1,), (2,)]
    assert made.finished


def test_a_breakpoint_on_a_value(made: WorkflowStepper) -> None:
    record = made.run_until("next.x", when=lambda array: array.max() >= 2)
    assert record is not None and (record.path, record.iteration) == (CALL, (1,))
    record = made.run_until("x", iteration=(2,))
    assert record is not None and (record.kind, record.iteration) == ("test", (2,))
    assert made.value("x").array.max() == 2


def test_a_breakpoint_that_nothing_meets_is_refused(made: WorkflowStepper) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown breakpoint 'next\.z'\. Did you mean 'next\.x'\?"):
        made.run_until("next.z")
    with pytest.raises(UnknownNameError, match="Unknown breakpoint"):
        made.run_until(f"{STEPS}[9]")


def test_values_are_those_that_can_be_seen_from_there(made: WorkflowStepper) -> None:
    made.run_until(CALL, iteration=1)
    assert list(made.values) == ["rows", "start", "yes", "most", "x", "go", "next.x", "next.go"]
    assert (made.value("x").high, made.value("next.x").high) == (1.0, 2.0)
    made.back()  # the test of the same round: next.x of the round before is gone
    assert list(made.values) == ["rows", "start", "yes", "most", "x", "go"]
    with pytest.raises(UnknownNameError, match=r"Unknown value 'next\.x'"):
        made.value("next.x")
    made.finish()
    assert list(made.values) == ["rows", "start", "yes", "most", "x", "go"] and made.value("x").high == 3.0


def test_back_forth_and_to_a_record(made: WorkflowStepper) -> None:
    made.finish()
    assert made.go_to(0).kind == "inputs" and made.back() is None
    assert made.forward() is made.trace[1]
    with pytest.raises(UnknownNameError, match="Unknown record 99"):
        made.go_to(99)


def test_a_run_by_steps_is_the_same_run(tmp_path: Path) -> None:
    document = decoder()(tmp_path)
    with stepper(document, ROWS, package_root=tmp_path) as made:
        while made.step() is not None:
            pass
        by_steps = made.run
    whole = interpret(document, ROWS, package_root=tmp_path)
    assert by_steps.tokens == whole.tokens
    assert by_steps.trace.rows() == whole.trace.rows()


def test_a_run_that_fails_can_still_be_looked_at() -> None:
    with stepper(counting(), ROWS, executors=always(lambda x: x[:1])) as made:
        run = made.finish()
        assert run.status == "failed" and made.finished and made.step() is None
        assert made.current is not None and made.current.failed and made.current.path == CALL
        assert made.value("x").shape == (2, 2)  # what the step read
        assert [one.value.text for one in made.current.writes] == ["float32[1, 2] 0 0", "bool[] True"]


def test_ctrl_c_between_two_records(monkeypatch: pytest.MonkeyPatch) -> None:
    run_one, calls = WorkflowStepper._advance, []

    def interrupted(self: WorkflowStepper) -> Any:
        calls.append(1)
        if len(calls) == 5:
            raise KeyboardInterrupt
        return run_one(self)

    monkeypatch.setattr(WorkflowStepper, "_advance", interrupted)
    made = stepper(counting(), ROWS, executors=always(lambda x: x + 1))
    assert made.finish().status == "interrupted" and len(made.trace) == 4
    assert made.step() is None and made.value("next.x").high == 1.0


def test_a_value_of_a_run_by_its_round() -> None:
    run = interpret(counting(), ROWS, executors=always(lambda x: x + 1))
    assert [run.value("next.x", (n,)).high for n in range(3)] == [1.0, 2.0, 3.0]
    assert run.value("x").high == 3.0 and run.value("start").shape == (2, 2)
    with pytest.raises(UnknownNameError, match=r"Unknown round of 'next\.x' \(7,\).*Known: \(0,\), \(1,\), \(2,\)"):
        run.value("next.x", (7,))
    with pytest.raises(UnknownNameError, match=r"Unknown value 'next\.y'\. Did you mean 'next\.x'"):
        run.value("next.y")


def test_faces(made: WorkflowStepper) -> None:
    assert repr(made) == "WorkflowStepper(at before the first record; 0 run, running)"
    made.run_until(CALL)
    assert "round 0 body" in repr(made)
    assert made.to_frame()["value"].tolist()[:2] == ["rows", "start"]
    assert "Values" in made._repr_html_()
    assert made.current is not None and "next.x" in made.current._repr_html_()
    assert made.current.to_frame()["port"].tolist() == ["x", "y", "more"]

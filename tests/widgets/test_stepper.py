"""PipelineStepper without a browser: buttons and fields as messages, work in the background, pages without a kernel."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.export.folders import source
from workbench.errors import ArgumentError, UnknownNameError
from workbench.steps import NAMES, Hooks, work
from workbench.widgets import PipelineStepper

EVIL = "<script>alert(1)</script>"


@pytest.fixture
def stepper(tmp_path: Path) -> Iterator[PipelineStepper]:
    made = PipelineStepper(str(source()), folder=str(tmp_path / "x"), prompt="abc", max_new_tokens=5)
    yield made
    made.close()


def states(stepper: PipelineStepper) -> list[str]:
    return [step["state"] for step in stepper.view._facts["steps"]]


def press(stepper: PipelineStepper, what: str, step: str = "") -> None:
    """As the browser does it."""
    stepper.view._handle_custom_msg({"do": what, "step": step}, [])


class Gate:
    """A step that waits until it may go on, and stops where it is asked to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
        self.entered, self.go_on = threading.Event(), threading.Event()
        self.real = work.WORK[step]
        monkeypatch.setitem(work.WORK, step, self)

    def __call__(self, choices: Any, products: Any, hooks: Hooks) -> Any:
        self.entered.set()
        assert self.go_on.wait(30)
        hooks.check()
        return self.real(choices, products, hooks)


def test_run_works_here_and_returns_the_stepper(stepper: PipelineStepper) -> None:
    assert stepper.run("ep") is stepper
    assert states(stepper) == ["done"] * 4 + ["not run"] * 3
    assert stepper.view.said == "4 of 7 steps are done." and stepper.view.step == "ep" and not stepper.view.busy
    assert "fuse/gqa" in stepper.reports.value and stepper.result.done == 4


def test_one_line_of_python_has_every_choice() -> None:
    stepper = PipelineStepper("smollm2-135m", execution_provider="webgpu", dtype="float16", folder="f")
    assert stepper.view.choices["execution_provider"] == "webgpu"
    with pytest.raises(UnknownNameError, match="Unknown choice 'ep'"):
        PipelineStepper("smollm2-135m", ep="webgpu")
    with pytest.raises(ArgumentError, match="dtype must be a text or None; found int 16"):
        PipelineStepper("smollm2-135m", dtype=16)
    with pytest.raises(UnknownNameError, match="Unknown step 'grph'"):
        stepper.run("grph")
    stepper.close()


def test_buttons_run_a_step_and_from_a_step(stepper: PipelineStepper) -> None:
    press(stepper, "step", "generic")
    assert stepper.wait(60) and states(stepper) == ["done"] * 3 + ["not run"] * 4
    press(stepper, "step", "config")
    assert stepper.wait(60) and states(stepper)[:3] == ["done", "done", "stale"]
    press(stepper, "nonsense", "generic")
    press(stepper, "step", "nonsense")
    assert stepper.wait(60) and states(stepper)[2] == "stale"


def test_a_field_makes_later_steps_stale_and_says_so(stepper: PipelineStepper) -> None:
    stepper.run("ep")
    stepper.view.choices = stepper.view.choices | {"dtype": "float16"}
    assert stepper.pipeline.choices.dtype == "float16"
    assert states(stepper)[:4] == ["done", "done", "stale", "stale"]
    assert stepper.view.said == "Changed dtype; 2 steps are stale."
    assert "dtype='float16'" in stepper.view._facts["steps"][3]["code"]


def test_a_field_with_nonsense_is_said_and_not_taken(stepper: PipelineStepper) -> None:
    stepper.view.choices = stepper.view.choices | {"max_new_tokens": ""}
    assert "max_new_tokens must be a whole number" in stepper.view.said
    assert stepper.pipeline.choices.max_new_tokens == 5 == stepper.view.choices["max_new_tokens"]


def test_a_model_that_is_no_text_stays_until_somebody_writes_another() -> None:
    hf = json.loads((source() / "config.json").read_text())
    stepper = PipelineStepper(hf, load_weights=False)
    assert stepper.view.choices["model"] == "a llama config"
    stepper.view.choices = stepper.view.choices | {"dtype": "float16"}
    assert stepper.pipeline.choices.model is hf
    stepper.run("ep")
    assert states(stepper)[3] == "done"
    stepper.view.choices = stepper.view.choices | {"model": "smollm2-135m"}
    assert stepper.pipeline.choices.model == "smollm2-135m" and states(stepper)[0] == "stale"
    stepper.close()


def test_a_failure_is_shown_with_its_hint(stepper: PipelineStepper, capsys: pytest.CaptureFixture[str]) -> None:
    stepper.choose(execution_provider="cud")
    press(stepper, "all")
    assert stepper.wait(60)
    facts = stepper.view._facts["steps"][2]
    assert facts["state"] == "failed" and "Did you mean 'cuda'?" in facts["problem"]
    assert stepper.view.step == "generic" and stepper.view.said == "Generic graph failed."
    assert stepper.view._facts["options"]["execution_provider"][-1] == "cud", "the field can show it"
    assert capsys.readouterr() == ("", "")


class TestBackground:
    def test_a_step_that_runs_is_shown_and_can_be_stopped(
        self, stepper: PipelineStepper, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        gate = Gate(monkeypatch, "ep")
        press(stepper, "all")
        assert gate.entered.wait(30)
        assert states(stepper)[3] == "running" and stepper.view.busy and stepper.view.said == "EP graph: running ..."
        press(stepper, "cancel")
        assert stepper.view.said == "Stopping ..."
        gate.go_on.set()
        assert stepper.wait(30)
        assert states(stepper) == ["done"] * 3 + ["not run"] * 4 and not stepper.view.busy
        assert stepper.view.said == "Stopped. What was done stays."

    def test_a_second_press_starts_nothing(self, stepper: PipelineStepper, monkeypatch: pytest.MonkeyPatch) -> None:
        gate = Gate(monkeypatch, "source")
        press(stepper, "step", "source")
        assert gate.entered.wait(30)
        press(stepper, "all")
        gate.go_on.set()
        assert stepper.wait(30) and states(stepper)[:2] == ["done", "not run"]

    def test_closing_stops_it(self, stepper: PipelineStepper, monkeypatch: pytest.MonkeyPatch) -> None:
        gate = Gate(monkeypatch, "generic")
        press(stepper, "all")
        assert gate.entered.wait(30)
        stepper.close()
        gate.go_on.set()
        assert stepper.wait(30) and stepper.result.done == 2

    def test_an_interrupt_passes_and_leaves_it_usable(
        self, stepper: PipelineStepper, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = work.WORK["ep"]

        def interrupted(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setitem(work.WORK, "ep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stepper.run()
        assert stepper.view.said == "Interrupted. What was done stays." and not stepper.view.busy
        monkeypatch.setitem(work.WORK, "ep", real)
        assert states(stepper.run("ep"))[3] == "done"


class TestStatic:
    def test_bundle(self, stepper: PipelineStepper) -> None:
        data = stepper.run("ep")._repr_mimebundle_()
        assert set(data) == {"application/vnd.jupyter.widget-view+json", "text/plain", "text/html"}
        assert data["text/plain"] == repr(stepper) == repr(stepper.result)
        assert "<table>" in data["text/html"] and "build(" in data["text/html"]

    def test_a_page_shows_it_and_runs_nothing(self, stepper: PipelineStepper, tmp_path: Path) -> None:
        page = stepper.run("ep").save_html(tmp_path / "page.html").read_text(encoding="utf-8")
        assert '"alive":false' in page and "fuse/gqa" in page and "http://" not in page

    def test_text_stays_text(self, tmp_path: Path) -> None:
        stepper = PipelineStepper(EVIL, prompt=EVIL, folder=EVIL).run()
        assert states(stepper)[0] == "failed"
        page = stepper.save_html(tmp_path / "page.html").read_text(encoding="utf-8")
        assert EVIL not in stepper._repr_mimebundle_()["text/html"] + stepper.reports.value
        assert EVIL not in page.split("</style>", 1)[1]
        stepper.close()


def test_names_of_steps_are_those_of_the_pipeline(stepper: PipelineStepper) -> None:
    assert tuple(step["name"] for step in stepper.view._facts["steps"]) == NAMES
    stepper.view.step = "no such step"
    assert stepper.view.step == "source"

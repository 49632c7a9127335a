"""The pipeline without a widget: what is done, what is stale, what fails and how it is said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.export.folders import change_config, genai, set_in, source
from workbench.errors import ArgumentError, UnknownNameError
from workbench.package import load
from workbench.steps import NAMES, STEPS, Choices, Hooks, Pipeline, Stopped

BEFORE_CLIENT = "checked"


@pytest.fixture
def pipeline(tmp_path: Path) -> Iterator[Pipeline]:
    yield make(tmp_path)


def make(folder: Path, **words: Any) -> Pipeline:
    given = {"model": str(source()), "folder": str(folder / "x"), "prompt": "abc", "max_new_tokens": 5, **words}
    return Pipeline(Choices().changed(given))


def states(pipeline: Pipeline) -> dict[str, str]:
    return {step.name: step.state for step in pipeline.state().steps}


def stale(pipeline: Pipeline) -> list[str]:
    return [name for name, state in states(pipeline).items() if state == "stale"]


def test_nothing_has_run(pipeline: Pipeline) -> None:
    assert set(states(pipeline).values()) == {"not run"} and pipeline.product("ep") is None
    assert NAMES == ("source", "config", "generic", "ep", "package", "checked", "running")


def test_steps_run_in_order_and_only_as_far_as_asked(pipeline: Pipeline) -> None:
    pipeline.run("ep")
    assert list(states(pipeline).values()) == ["done"] * 4 + ["not run"] * 3
    assert len(pipeline.product("ep").model.graph) == 45 and len(pipeline.product("generic").graph) == 77
    sizes = [step.size for step in pipeline.state().steps]
    assert sizes[1:4] == ["3 layers", "77 nodes", "45 nodes"] and sizes[4:] == [""] * 3
    assert all(step.seconds is not None and step.seconds >= 0 for step in pipeline.state().steps[:4])


@genai
def test_to_the_answer(pipeline: Pipeline, tmp_path: Path) -> None:
    pieces: list[str] = []
    pipeline.run(hooks=Hooks(piece=pieces.append))
    found = pipeline.state()
    assert found.done == len(STEPS)
    assert load(tmp_path / "x", verify=True).execution_provider == "cpu"
    assert [type(report).__name__ for step in found.steps for report in step.reports] == [
        "SourceReport", "ConfigReport", "OpHistogram", "OptimizationReport", "ExportReport", "LintReport",
        "ParityReport", "ChatResult",
    ]  # fmt: skip
    (answer,) = found["running"].reports
    assert len(answer.tokens) == 5 and pieces[-1] == answer.text and found["running"].size == "5 tokens"
    assert found["checked"].size == "0 findings, parity ok"


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ({"model": "other"}, "source"),
        ({"load_weights": False}, "source"),
        ({"dtype": "float16"}, "generic"),
        ({"cache_length": 64}, "generic"),
        ({"last_token_logits": True}, "generic"),
        ({"execution_provider": "default"}, "ep"),  # its generic graph is the same
        ({"execution_provider": "cuda"}, "generic"),  # another default dtype
        ({"padding": "any"}, "ep"),
        ({"folder": "elsewhere"}, "package"),
        ({"overwrite": True}, "package"),
        ({"window_cache": True}, "package"),
        ({"tokenizer": "elsewhere"}, "package"),
        ({"prompt": "cab"}, "checked"),
    ],
    ids=str,
)
def test_a_choice_makes_stale_what_depends_on_it(pipeline: Pipeline, words: dict[str, Any], first: str) -> None:
    before = {name: getattr(pipeline.choices, name) for name in words}
    pipeline.run(BEFORE_CLIENT)
    assert stale(pipeline) == []
    pipeline.choose(**words)
    assert stale(pipeline) == list(NAMES[NAMES.index(first) : -1])
    assert pipeline.product(first) is None
    pipeline.choose(**before)
    assert stale(pipeline) == [], "changed back: nothing is out of date"


def test_running_a_step_again_makes_later_ones_stale(pipeline: Pipeline) -> None:
    pipeline.run(BEFORE_CLIENT)
    pipeline.run("generic", again_from="generic")
    assert stale(pipeline) == ["ep", "package", "checked"]
    pipeline.run(BEFORE_CLIENT)
    assert stale(pipeline) == []


def test_what_is_done_is_not_done_again(pipeline: Pipeline) -> None:
    made = pipeline.run("ep").product("ep")
    assert pipeline.run("package").product("ep") is made
    assert pipeline.run("ep", again_from="ep").product("ep") is not made


def test_a_changed_folder_is_seen_when_it_is_checked_again(pipeline: Pipeline, tmp_path: Path) -> None:
    pipeline.run(BEFORE_CLIENT)
    change_config(tmp_path / "x", set_in("model.vocab_size", 97))
    pipeline.run(BEFORE_CLIENT, again_from="checked")
    lint = pipeline.product("checked")
    assert lint.codes == ("genai.vocab-logits",) and pipeline.state()["checked"].size == "1 finding, parity ok"


# --- failures -----------------------------------------------------------------------------------------------------
def test_a_failure_is_a_text_with_the_hint_and_ends_the_run(pipeline: Pipeline) -> None:
    pipeline.choose(execution_provider="cud").run()
    found = pipeline.state()
    assert [step.state for step in found.steps] == ["done", "done", "failed", *["not run"] * 4]
    assert "Did you mean 'cuda'?" in found["generic"].problem and "Did you mean" in repr(found)
    pipeline.choose(execution_provider="cpu")
    assert states(pipeline)["generic"] == "not run", "another choice, another try"
    assert pipeline.run("ep").state().done == 4


def test_a_failure_does_not_displace_what_was_made_before(pipeline: Pipeline) -> None:
    made = pipeline.run(BEFORE_CLIENT).product("ep")
    pipeline.choose(cache_length=999).run(BEFORE_CLIENT)
    assert states(pipeline)["generic"] == "failed" and states(pipeline)["ep"] == "stale"
    pipeline.choose(cache_length=None)
    assert pipeline.state().done == 6 and pipeline.product("ep") is made
    pipeline.choose(cache_length=999)
    assert states(pipeline)["generic"] == "failed", "the same choice fails in the same way"


def test_a_step_that_was_done_and_fails_now_is_failed(pipeline: Pipeline, tmp_path: Path) -> None:
    pipeline.run(BEFORE_CLIENT)
    (tmp_path / "x" / "mine.txt").write_text("mine")
    pipeline.run(BEFORE_CLIENT, again_from="package")
    assert states(pipeline)["package"] == "failed" and states(pipeline)["checked"] == "stale"
    (tmp_path / "x" / "mine.txt").unlink()
    assert pipeline.run(BEFORE_CLIENT).state().done == 6


def test_a_folder_in_the_way_is_left_alone_and_said(pipeline: Pipeline, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "mine.txt").write_text("mine")
    pipeline.run("package")
    assert "is not a package. Choose another folder." in pipeline.state()["package"].problem
    assert [path.name for path in (tmp_path / "x").iterdir()] == ["mine.txt"]


def test_an_older_package_is_replaced_only_when_that_was_chosen(tmp_path: Path) -> None:
    make(tmp_path).run("package")
    other = make(tmp_path, dtype="float16").run("package")
    assert "Pass overwrite=True to replace it." in other.state()["package"].problem
    assert load(tmp_path / "x").dtype is not None and load(tmp_path / "x").dtype.name == "FLOAT"
    other.choose(overwrite=True).run("package")
    assert load(tmp_path / "x").dtype.name == "FLOAT16"


def test_what_it_wrote_itself_it_may_write_again(pipeline: Pipeline, tmp_path: Path) -> None:
    assert "overwrite" not in pipeline.code("package")
    pipeline.run("package").choose(dtype="float16").run("package")
    assert pipeline.state()["package"].state == "done" and "overwrite=True" in pipeline.code("package")
    assert load(tmp_path / "x").dtype.name == "FLOAT16"


def test_an_unexpected_error_is_a_text_too(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.steps import work

    def boom(*_: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setitem(work.WORK, "ep", boom)
    pipeline.run("package")
    assert pipeline.state()["ep"].problem == "Unexpected RuntimeError: boom"
    assert states(pipeline)["package"] == "not run"


def test_wrong_words() -> None:
    with pytest.raises(UnknownNameError, match="Unknown choice 'provider'"):
        Pipeline().choose(provider="cpu")
    with pytest.raises(UnknownNameError, match="Unknown step 'graph'"):
        Pipeline().run("graph")
    for words in ({"dtype": 5}, {"cache_length": "64"}, {"max_new_tokens": True}, {"overwrite": "yes"}, {"prompt": 1}):
        with pytest.raises(ArgumentError, match=next(iter(words))):
            Pipeline().choose(**words)


# --- stopping -----------------------------------------------------------------------------------------------------
class StopIn:
    """Raises once a step is running and its own work has asked so many times."""

    def __init__(self, pipeline: Pipeline, step: str, after: int = 0) -> None:
        self.pipeline, self.step, self.after = pipeline, step, after

    def __call__(self) -> None:
        if states(self.pipeline)[self.step] == "running":
            self.after -= 1
            if self.after < 0:
                raise Stopped


@pytest.mark.parametrize("before", [False, True])
def test_a_stop_while_the_folder_is_written_leaves_what_was_there(
    pipeline: Pipeline, tmp_path: Path, before: bool
) -> None:
    if before:
        pipeline.run("package")
    again = "package" if before else ""
    with pytest.raises(Stopped):
        pipeline.run("package", again_from=again, hooks=Hooks(check=StopIn(pipeline, "package", after=3)))
    assert states(pipeline)["package"] == ("done" if before else "not run")
    assert [path.name for path in tmp_path.iterdir()] == (["x"] if before else [])
    if before:
        load(tmp_path / "x", verify=True)


@genai
def test_a_stop_while_it_answers(pipeline: Pipeline) -> None:
    pipeline.run(BEFORE_CLIENT)
    pieces: list[str] = []
    with pytest.raises(Stopped):
        pipeline.run(hooks=Hooks(check=StopIn(pipeline, "running", after=2), piece=pieces.append))
    assert len(pieces) == 3 and states(pipeline)["running"] == "not run"


# --- faces --------------------------------------------------------------------------------------------------------
def test_faces_say_the_same_each_time_and_escape(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    one, two = (make(tmp_path, prompt=evil, execution_provider=evil).run().state() for _ in range(2))
    assert repr(one) == repr(two) and one._repr_html_() == two._repr_html_()
    assert evil not in one._repr_html_() and "&lt;script&gt;" in one._repr_html_()
    frame = one.to_frame()
    assert list(frame.columns) == ["step", "state", "seconds", "size", "says"] and len(frame) == 7
    assert repr(one).startswith(f"Pipeline({source()} for {evil}: 2 of 7 steps done)")


def test_reports_have_html(pipeline: Pipeline) -> None:
    pipeline.run(BEFORE_CLIENT)
    for step in pipeline.state().steps:
        for report in step.reports:
            assert repr(report).split("\n")[0] in step.says and "<" in report._repr_html_()
    assert str(source().parent) not in pipeline.state()["source"].reports[0]._repr_html_()


def test_a_model_without_weights_gets_as_far_as_its_graph(tmp_path: Path) -> None:
    hf = json.loads((source() / "config.json").read_text())
    pipeline = make(tmp_path, model=hf, load_weights=False).run()
    assert states(pipeline)["ep"] == "done" and pipeline.state()["source"].size == "no weights"
    assert "no tokenizer" in pipeline.state()["package"].problem
    assert repr(pipeline.state()).startswith("Pipeline(a llama config for cpu:")


@pytest.mark.parametrize("words", [{"last_token_logits": True}, {"cache_length": 64}, {"padding": "any"}], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_variants_are_checked_against_the_plain_graph(tmp_path: Path, words: dict[str, Any], dtype: str) -> None:
    pipeline = make(tmp_path, dtype=dtype, **words).run(BEFORE_CLIENT)
    parity = pipeline.state()["checked"].reports[1]
    assert parity.verdict == "ok", parity
    assert {row.case for row in parity.rows} == {"prefill", "right-padded", "decode"}


def test_logits_of_the_last_token_that_are_wrong_are_seen(tmp_path: Path) -> None:
    """The check of a variant can fail: a graph whose last projection was changed differs."""
    pipeline = make(tmp_path, last_token_logits=True).run("ep")
    import onnx_ir as ir

    model = pipeline.product("ep").model
    head = model.graph.initializers["lm_head.weight.T"]
    head.const_value = ir.tensor(head.const_value.numpy() * 1.01, name=head.name)
    pipeline.run("checked")
    assert pipeline.state()["checked"].reports[1].verdict == "differs"

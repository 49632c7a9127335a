"""What ``describe`` writes, run: the tokens of our own greedy loop over the same graph, by the document's own steps."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.unit.describe.described import PACKAGES, described
from workbench import export
from workbench.cli.app import app
from workbench.errors import FeedsError
from workbench.interpret import interpret
from workbench.runtime.ort_cpu import OrtCpuSession
from workbench.runtime.tokens import TokenRunner, greedy

PROMPT, NEW = [5, 9, 31, 2, 77, 40, 8, 13, 21, 60, 3, 17], 12


@pytest.mark.parametrize("name", PACKAGES)
def test_tokens_are_those_of_the_greedy_loop(name: str, tmp_path: Path) -> None:
    package = PACKAGES[name]()
    with OrtCpuSession(package.model) as session:
        expected = greedy(TokenRunner(session, package.padding), PROMPT, NEW)
    export(package, tmp_path / "x", runtime="onnx-genai", progress=False)
    run = interpret(tmp_path / "x", {"prompt_tokens": [PROMPT]}, max_new_tokens=NEW, eos_token_ids=())
    assert run.ok and run.diagnostics == () and list(run.tokens[0]) == expected


def test_a_description_is_run_on_the_files_of_a_folder(tmp_path: Path) -> None:
    export(PACKAGES["growing"](), tmp_path / "x", runtime="onnx-genai", progress=False)
    given = {"prompt_tokens": [PROMPT]}
    by_object = interpret(described("growing"), given, package_root=tmp_path / "x", max_new_tokens=3)
    assert by_object.tokens == interpret(tmp_path / "x", given, max_new_tokens=3).tokens


def test_a_prompt_in_words(tmp_path: Path) -> None:
    package = PACKAGES["growing"]()
    export(package, tmp_path / "x", runtime="onnx-genai", progress=False)
    run = interpret(tmp_path / "x", prompt="3+4=", max_new_tokens=4)
    assert run.trace[0].writes[0].value.array.tolist() == [package.encode("3+4=")]
    words = ["metadata", "run", str(tmp_path / "x"), "--prompt", "3+4=", "--max-new-tokens", "4"]
    said = CliRunner().invoke(app, words).stdout
    assert repr(package.decode(run.tokens[0], skip_special_tokens=True)) in said


def test_a_cache_is_never_longer_than_its_bound(tmp_path: Path) -> None:
    export(PACKAGES["growing"](), tmp_path / "x", runtime="onnx-genai", progress=False)
    given = {"prompt_tokens": [PROMPT], "package.max_context": [len(PROMPT) + 2]}
    run = interpret(tmp_path / "x", given, max_new_tokens=NEW, eos_token_ids=())
    (found,) = run.diagnostics
    assert (found.code, found.iteration) == ("run.beyond-max", (3,)), "the prompt, then two tokens"
    assert "has 15 entries on axis 2, and at most 14 are allowed" in found.message


def test_an_input_is_given_once(tmp_path: Path) -> None:
    """By two of its names, or as an argument beside its name: nobody could say which one is meant."""
    export(PACKAGES["growing"](), tmp_path / "x", runtime="onnx-genai", progress=False)
    rows = {"prompt_tokens": [PROMPT]}
    for inputs, words, second in (
        (rows | {"request.input_ids": [PROMPT]}, {}, "'prompt_tokens' and 'request.input_ids'"),
        (rows, {"prompt": "3+4="}, "'prompt_tokens' and prompt"),
        (rows | {"max_output_tokens": 3}, {"max_new_tokens": 4}, "'max_output_tokens' and max_new_tokens"),
    ):
        with pytest.raises(FeedsError, match=f"given twice: {second}. Give one of them."):
            interpret(tmp_path / "x", inputs, **words)

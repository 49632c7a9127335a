"""What a run is given, refused before any graph sees it: what is wrong with which input, and what is allowed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.describe.described import PACKAGES
from workbench import describe, export
from workbench.errors import FeedsError
from workbench.interpret import graphs, interpret
from workbench.interpret.graphs import Graphs

OK = {"prompt_tokens": [[5, 9, 31]]}
TOKENS = "The input 'request.input_ids' "
MASK = "The input 'application.attention_mask' "
SHAPE = "Give int64[batch_size, sequence_length]."
NAN = float("nan")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place, made = tmp_path_factory.mktemp("given"), {}
    for words in ("growing-portable runtime", "growing-portable graphs", "fixed-portable runtime"):
        name, policy = words.split()
        package, folder = PACKAGES[name](), place / words
        metadata = describe(package, policy=policy)
        export(package, folder, runtime="onnx-genai", metadata=metadata, progress=False)
        made[folder.name] = folder
    return made


@pytest.fixture
def no_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*words: Any) -> None:
        pytest.fail("a graph was run")

    monkeypatch.setattr(graphs.Graphs, "run", run)
    assert Graphs.run is run


PROMPTS: dict[str, tuple[Any, str, str]] = {
    "negative": ([[5, -1]], "holds -1; tokens of this model are 0 to 95", "Give ids of its own tokenizer."),
    "very negative": ([[-(2**63)]], f"holds {-(2**63)}; tokens of this model are 0 to 95", "Give ids of its own"),
    "beyond": ([[5, 96]], "holds 96; tokens of this model are 0 to 95", "Give ids of its own tokenizer."),
    "far beyond": ([[2**40]], "holds 1099511627776; tokens of this model", "Give ids of its own tokenizer."),
    "empty row": ([[]], "has no tokens", "give a longer one"),
    "empty rows": ([[], []], "has no tokens", "give a longer one"),
    "nothing": ([], "has no tokens", "give a longer one"),
    "no row": (np.zeros((0, 4), np.int64), "has no tokens", "give a longer one"),
    "one number": (5, "has 0 axes (int64[]), and its contract says 2", SHAPE),
    "one row": ([5, 9], "has 1 axes (int64[2]), and its contract says 2", SHAPE),
    "too deep": ([[[5]]], "has 3 axes (int64[1, 1, 1]), and its contract says 2", SHAPE),
    "fractions": ([[5.0]], "is float64[1, 1], and its contract says int64", "Convert it."),
    "nan": ([[NAN]], "is float64[1, 1], and its contract says int64", "Convert it."),
    "flags": ([[True]], "is bool[1, 1], and its contract says int64", "Convert it."),
    "words": ([["a"]], "is string[1, 1], and its contract says int64", "Convert it."),
    "a text": ("abc", "is string[], and its contract says int64", "Convert it."),
    "unsigned": ([[2**63]], "is uint64[1, 1], and its contract says int64", "Convert it."),
    "complex": ([[1j]], "is complex128[1, 1], and its contract says int64", "Convert it."),
    "dates": (np.zeros((1, 2), "M8[s]"), "is datetime64[s][1, 2], and its contract says int64", "Convert it."),
    "too long": ([[5] * 200], "has 200 tokens a row, and the model has", "(max_sequence_length). Shorten it."),
}


@pytest.mark.usefixtures("no_graph")
@pytest.mark.parametrize("case", PROMPTS)
def test_prompts_that_are_none(case: str, folders: dict[str, Path]) -> None:
    given, said, hint = PROMPTS[case]
    for folder in folders.values():
        run = interpret(folder, {"prompt_tokens": given}, max_new_tokens=2)
        (found,) = run.diagnostics
        assert (found.code, found.step, run.status) == ("run.input", "pipeline.workflow.inputs", "failed")
        assert found.message.startswith(TOKENS + said) and hint in f"{found.message} {found.hint}"


OTHERS: dict[str, tuple[str, Any, str]] = {
    "mask of other numbers": ("attention_mask", [[2, 1, 1]], MASK + "holds 2; it must hold 1 for a real token and 0"),
    "negative mask": ("attention_mask", [[1, -1, 1]], MASK + "holds -1; it must hold 1 for a real token and 0 for"),
    "mask of nothing": ("attention_mask", [[0, 0, 0]], MASK + "has no real token in row 0. Write 1 for each token"),
    "mask of fractions": ("attention_mask", [[0.5, 1, 1]], MASK + "is float64[1, 3], and its contract says int64"),
    "mask of a number": ("attention_mask", 1, MASK + "has 0 axes (int64[]), and its contract says 2"),
    "cache of nan": ("package.empty_cache", [[[[NAN, 1.0]]]], "holds 1 NaN among 2 elements. Give numbers."),
    "flags of nothing": ("package.true", [], "bool[0]: 0 entries on its request axis 0, and this run has 1"),
    "limit of nothing": ("max_output_tokens", [], "has 0 entries on axis 0 (int64[0]), and its contract says 1"),
    "limit of words": ("max_output_tokens", "x", "is string[], and its contract says int64"),
}


@pytest.mark.usefixtures("no_graph")
@pytest.mark.parametrize("case", OTHERS)
def test_other_inputs(case: str, folders: dict[str, Path]) -> None:
    name, given, said = OTHERS[case]
    run = interpret(folders["growing-portable runtime"], OK | {name: given})
    (found,) = run.diagnostics
    assert (found.code, found.step, run.status) == ("run.input", "pipeline.workflow.inputs", "failed")
    assert said in found.message


@pytest.mark.parametrize("given", [[[1, 2], [3]], [[1], 2], None, [[None]], {}, [[2**70]], object()])
def test_no_arrays(given: Any, folders: dict[str, Path]) -> None:
    for folder in folders.values():
        with pytest.raises(FeedsError, match=r"^prompt_tokens is no array: .*[^.]\. Give (numbers in rows|an)"):
            interpret(folder, {"prompt_tokens": given})
    with pytest.raises(FeedsError, match="inputs must map input names to arrays; found dict {3: 4}"):
        interpret(folders["growing-portable runtime"], {3: 4})


def test_the_last_token_and_the_longest_prompt_are_taken(folders: dict[str, Path]) -> None:
    folder = folders["growing-portable runtime"]
    assert interpret(folder, {"prompt_tokens": [[0, 95]]}, max_new_tokens=1).ok
    assert interpret(folder, {"prompt_tokens": np.full((1, 128), 5)}, max_new_tokens=1).ok
    padded = {"prompt_tokens": [[5, 9], [5, 0]], "attention_mask": [[1, 1], [1, 0]]}
    assert interpret(folder, padded, max_new_tokens=1).ok


@pytest.mark.parametrize(("tokens", "mask", "said"), [
    ([0, 5, 9, 31], [0, 1, 1, 1], "attention_mask row 0 starts with 0: left padding."),
    ([5, 9, 0, 31], [1, 1, 0, 1], "attention_mask row 0 has padding between real tokens."),
])  # fmt: skip
def test_padding_that_the_attention_cannot_see(
    tokens: list[int], mask: list[int], said: str, folders: dict[str, Path], tmp_path: Path
) -> None:
    export(PACKAGES["growing"](), tmp_path / "x", runtime="onnx-genai", progress=False)
    given, words = {"prompt_tokens": [tokens], "attention_mask": [mask]}, dict[str, Any](max_new_tokens=3)
    (found,) = interpret(tmp_path / "x", given, **words).diagnostics
    assert found.code == "run.input" and found.message.startswith(said) and "Pad on the right" in found.message
    other = folders["growing-portable runtime"]
    assert interpret(other, given, **words).tokens == interpret(other, OK, **words).tokens, "this one reads its mask"
    right = {"prompt_tokens": [[5, 9, 31, 0]], "attention_mask": [[1, 1, 1, 0]]}
    assert interpret(tmp_path / "x", right, **words).tokens == interpret(tmp_path / "x", OK, **words).tokens


def test_where_nothing_says_how_many_tokens_there_are_none_is_negative(tmp_path: Path) -> None:
    package = PACKAGES["growing-portable"]()
    export(package, tmp_path / "x", runtime="onnx-genai", progress=False)
    data = describe(package).data
    del data["model"]
    words: dict[str, Any] = {"package_root": tmp_path / "x", "max_new_tokens": 1}
    (found,) = interpret(data, {"prompt_tokens": [[-7]]}, **words).diagnostics
    assert found.code == "run.input" and "holds -7; tokens of this model are 0 or more." in found.message
    (found,) = interpret(data, {"prompt_tokens": [[96]]}, **words).diagnostics
    assert found.code == "run.component", "only the graph knows"

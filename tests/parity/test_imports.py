"""Folders of three builders, imported and run: the published client answers as Hugging Face does."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.families import some_rows
from tests.parity.described import NEW, engine_tokens
from tests.parity.tiny import built_by_genai, hf_greedy, saved
from tests.unit.export.folders import change_config, set_in
from tests.unit.importing.folders import rename_ports
from workbench.build import build
from workbench.export import export
from workbench.importing import GenaiImport, import_genai_config
from workbench.metadata import check_ports

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(
        importlib.util.find_spec("onnx_genai") is None,
        reason="onnx-genai is not installed: pip install -e '.[genai]'",
    ),
]
(ROW,) = some_rows((40,))
"""Longer than the windows of the exercises."""
WIDTH = {"intermediate_size": 112}
"""The builder of ORT GenAI 0.18 takes a layer that is as wide as the vocabulary (96) for the head."""


def by_genai(model_type: str, kind: Any, folder: Path) -> None:
    pytest.importorskip("onnxruntime_genai.models.builder", reason="not installed: pip install -e '.[peers]'")
    built_by_genai(model_type, kind, folder, "cpu", "fp32", **WIDTH)


def by_mobius(ep: str) -> Any:
    def make(model_type: str, kind: Any, folder: Path) -> None:
        mobius = pytest.importorskip("mobius", reason="mobius-onnx is not installed: pip install -e '.[peers]'")
        from mobius.integrations.ort_genai import export_package

        package = mobius.build(str(folder / "hf"), execution_provider=ep, dtype="f32")
        options = {"ep": ep, "local_config_dir": str(folder / "hf"), "progress_bar": False}
        export_package(package, str(folder / "x"), context_length=128, **options)

    return make


def by_us(ep: str, *, other_names: bool = False, **variant: Any) -> Any:
    def make(model_type: str, kind: Any, folder: Path) -> None:
        export(build(folder / "hf", execution_provider=ep, dtype="float32", **variant), folder / "x", progress=False)
        if other_names:
            rename_ports(folder / "x")

    return make


def run(folder: Path) -> list[int]:
    """The client's answer; the config is gone, so that the document alone says how."""
    (folder / "genai_config.json").unlink()
    return engine_tokens(folder, ROW)


def imported(folder: Path) -> GenaiImport:
    """A folder imported and saved: valid in both dialects, its ports those of the graph."""
    found = import_genai_config(folder, allow_lossy=True)
    assert not found.metadata.validate("pr828") and not found.metadata.validate("v1")
    found.save()
    report = check_ports(folder, dialect="v1")
    assert report.ok and {entry.verdict for entry in report.entries} == {"agrees"}, report.rows()
    return found


SLIDING = {f"model.decoder.sliding_window.{word}" for word in ("slide_key_value_cache", "slide_inputs", "cache_slack")}
LOST = {"model.decoder.session_options.log_id", "model.decoder.hidden_size"}


@pytest.mark.parametrize(
    ("make", "model_type", "kind", "lost"),
    [
        pytest.param(by_genai, "llama", "exercise", LOST, id="genai-llama"),
        pytest.param(by_genai, "qwen3", "exercise", LOST | SLIDING, id="genai-qwen3-windows"),
        pytest.param(by_mobius("default"), "llama", "default", LOST, id="mobius-default-llama"),
        pytest.param(by_mobius("cpu"), "mistral", "exercise", LOST, id="mobius-cpu-mistral-windows"),
        pytest.param(by_us("cpu"), "qwen3", "exercise", LOST, id="ours-cpu-qwen3-windows"),
        pytest.param(
            by_us("default", other_names=True), "llama", "exercise", LOST, id="ours-default-llama-other-names"
        ),
        pytest.param(
            by_us("default", other_names=True, cache_length=96),
            "llama",
            "exercise",
            LOST,
            id="ours-default-fixed-cache",
        ),
    ],
)
def test_greedy_tokens_equal_hugging_face(
    make: Any, model_type: str, kind: Any, lost: set[str], tmp_path: Path
) -> None:
    """Families that each builder gets right (see the client's tests for what they get wrong)."""
    expected = hf_greedy(saved(model_type, kind, tmp_path / "hf", **WIDTH), ROW)[:NEW]
    assert len(set(expected)) >= 9
    make(model_type, kind, tmp_path)
    unused = next(token for token in reversed(range(96)) if token not in expected)
    change_config(tmp_path / "x", set_in("model.eos_token_id", unused))
    assert {loss.path for loss in imported(tmp_path / "x").losses} == lost
    assert run(tmp_path / "x") == expected


def test_every_end_of_a_list_ends_an_answer(tmp_path: Path) -> None:
    expected = hf_greedy(saved("llama", "exercise", tmp_path / "hf", **WIDTH), ROW)[:NEW]
    by_us("cpu")("llama", "exercise", tmp_path)
    unused = next(token for token in reversed(range(96)) if token not in expected)
    change_config(tmp_path / "x", set_in("model.eos_token_id", [unused, expected[9]]))
    imported(tmp_path / "x")
    assert run(tmp_path / "x") == expected[: expected.index(expected[9]) + 1]

"""Every family through ONNX Runtime GenAI: greedy tokens equal Hugging Face's, beyond windows and RoPE lengths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.families import DECODERS, KINDS, Kind, some_rows
from tests.parity.tiny import NEW, built_by_genai, hf_greedy, saved
from tests.unit.export.folders import change_config, genai, set_in
from workbench.build import build
from workbench.errors import ExecutionError
from workbench.export import export, lint
from workbench.runtime.genai import GenaiClient
from workbench.runtime.stand_ins import stand_ins

pytestmark = [pytest.mark.torch, genai]
LENGTH = 40
"""Longer than any window and any original RoPE length of the exercises."""


def check(model_type: str, kind: Kind, folder: Path, ep: str = "cpu", **variant: Any) -> None:
    model = saved(model_type, kind, folder / "hf")
    package = build(folder / "hf", execution_provider=ep, dtype="float32", **variant)
    export(package, folder / "x", progress=False)
    assert lint(folder / "x").findings == ()
    (row,) = some_rows((LENGTH,))
    expected = hf_greedy(model, row)
    unused = next(token for token in reversed(range(96)) if token not in expected)
    client = GenaiClient(change_config(folder / "x", set_in("model.eos_token_id", [unused])))
    if stand_ins(package.model):  # the client has CPU kernels alone here, and none that normalises query and key
        with pytest.raises(ExecutionError, match="q_norm_weight"):
            list(client.tokens(row, NEW, {"do_sample": False}))
        return
    assert list(client.tokens(row, NEW, {"do_sample": False})) == expected


@pytest.mark.parametrize("model_type", DECODERS)
def test_greedy_tokens_equal_hugging_face(model_type: str, tmp_path: Path) -> None:
    check(model_type, "exercise", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ep", ["default", "webgpu", "dml", "cuda", "trt-rtx", "onnx-standard"])
@pytest.mark.parametrize("model_type", DECODERS)
def test_graphs_of_every_provider_do_so(model_type: str, kind: Kind, ep: str, tmp_path: Path) -> None:
    check(model_type, kind, tmp_path, ep)


@pytest.mark.slow
@pytest.mark.parametrize("variant", [{"cache_length": 96}, {"last_token_logits": True}, {"padding": "any"}], ids=str)
@pytest.mark.parametrize("ep", ["cpu", "default"])
@pytest.mark.parametrize("model_type", DECODERS)
def test_variants_of_the_graph_do_so(model_type: str, ep: str, variant: dict[str, Any], tmp_path: Path) -> None:
    check(model_type, "exercise", tmp_path, ep, **variant)


# --- folders of other makers --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("ep", "precision"),
    [
        ("cpu", "fp32"),
        ("cuda", "fp16"),
        ("dml", "fp16"),
        ("webgpu", "fp16"),
        ("NvTensorRtRtx", "fp16"),
        ("cpu", "int4"),
    ],
)
def test_silence_on_folders_of_the_builder(ep: str, precision: str, tmp_path: Path) -> None:
    assert lint(built_by_genai("llama", "default", tmp_path, ep, precision)).findings == ()


@pytest.mark.parametrize(
    ("model_type", "ep"), [("gemma2", "cpu"), ("granite", "dml"), ("phi", "webgpu"), ("qwen3", "cuda")]
)
def test_silence_on_other_families_of_the_builder(model_type: str, ep: str, tmp_path: Path) -> None:
    precision = "fp32" if ep == "cpu" else "fp16"
    report = lint(built_by_genai(model_type, "default", tmp_path, ep, precision))
    assert report.findings == (), report.to_dict()


@pytest.mark.parametrize(("ep", "precision"), [("cpu", "fp32"), ("cuda", "fp16"), ("NvTensorRtRtx", "fp16")])
def test_the_window_that_the_builder_drops_is_reported(ep: str, precision: str, tmp_path: Path) -> None:
    """0.18.0 writes the entry and forgets the attribute, so that its own client fails at a long prompt, or answers
    without the window."""
    report = lint(built_by_genai("mistral", "exercise", tmp_path, ep, precision))
    assert report.codes == ("genai.window-not-there",)
    assert "it was dropped" in report.findings[0].message and not report.ok


@pytest.mark.parametrize("ep", ["cpu", "cuda", "dml", "webgpu", "trt-rtx"])
def test_silence_on_folders_of_mobius(ep: str, tmp_path: Path) -> None:
    mobius = pytest.importorskip("mobius", reason="mobius-onnx is not installed: pip install -e '.[peers]'")
    from mobius.integrations.ort_genai import export_package

    saved("llama", "default", tmp_path / "hf")
    package = mobius.build(str(tmp_path / "hf"), execution_provider=ep, dtype="f32" if ep == "cpu" else "f16")
    options = {"ep": ep, "local_config_dir": str(tmp_path / "hf"), "progress_bar": False}
    export_package(package, str(tmp_path / "x"), context_length=128, **options)
    assert lint(tmp_path / "x").findings == ()
    if ep == "cpu":  # its own default is 4096 tokens at least, whatever tables the model has
        export_package(package, str(tmp_path / "y"), **options)
        assert lint(tmp_path / "y").codes == ("genai.context-length",)

"""Described packages in onnx-genai's own engine: greedy tokens equal Hugging Face's, beyond every window."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests import make_goldens
from tests.make_goldens import SMOLLM2
from tests.parity.described import (
    FAMILIES,
    MARGIN,
    NEW,
    PROMPT,
    ROW,
    SLIDING,
    SMOLLM2_TOKENS,
    engine_tokens,
    made,
    margin,
)
from tests.parity.real import skipped_without_weights
from tests.parity.tiny import hf_greedy
from tests.unit.metadata.client import ask
from workbench import UnsupportedError, build, describe, export
from workbench.export import ExportReport, lint
from workbench.package import Package
from workbench.runtime.genai import GenaiClient

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(
        any(importlib.util.find_spec(f"onnx{name}") is None for name in ("_genai", "_genai_server", "runtime_genai")),
        reason="onnx-genai is not installed: pip install -e '.[genai]'",
    ),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("described")


def checked(package: Package, folder: Path, runtime: str = "both") -> ExportReport:
    """Exported; nobody has anything to say against the document."""
    report = export(package, folder, runtime=runtime, progress=False)
    assert report.metadata is not None and report.lint.findings == lint(folder).findings == ()
    for dialect in ("pr828", "v1"):
        assert list(report.metadata.validate(dialect)) == []
    assert ask({"made": report.metadata.to("v1").data})["made"].stage == "ok"
    return report


@pytest.mark.parametrize("ep", ["cpu", "default"])
@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_tokens_equal_hugging_face(family: str, ep: str, place: Path) -> None:
    source, row, expected = made(family, place)
    folder = place / f"{family}-{ep}"
    report = checked(build(source, execution_provider=ep, dtype="float32"), folder)
    groups = report.metadata.document.workflow.serving.state_service.groups
    assert set(groups) == SLIDING.get(family, {"full_attention"})
    assert engine_tokens(folder, row) == expected
    if ep == "cpu":
        assert list(GenaiClient(folder).tokens(row, NEW, {"do_sample": False})) == expected


@pytest.mark.parametrize("ep", ["cpu", "default"])
@pytest.mark.parametrize("family", ["llama", "gemma3_text"])
def test_a_cache_of_fixed_length(family: str, ep: str, place: Path) -> None:
    """On cpu the kernel finds its slot; the portable graph is told by the workflow, whose every step is run."""
    source, row, expected = made(family, place)
    package = build(source, execution_provider=ep, dtype="float32", cache_length=len(row) + NEW)
    report = checked(package, place / f"{family}-{ep}-fixed", runtime="onnx-genai")
    assert report.metadata is not None and bool(report.metadata.artifacts) is (ep == "default")
    assert engine_tokens(report.folder, row) == expected
    if ep == "default":
        with pytest.raises(
            UnsupportedError, match="One folder cannot serve both clients here.*write_indices.*Write two folders"
        ):
            export(package, place / "neither", runtime="both", progress=False)


@pytest.mark.parametrize("ep", ["cpu", "default"])
@pytest.mark.parametrize("family", ["llama", "gemma3_text", "bloom"])
def test_every_step_spelled_out(family: str, ep: str, place: Path) -> None:
    """Without the runtime's own decode loop: the engine runs the workflow as it stands."""
    source, row, expected = made(family, place)
    package = build(source, execution_provider=ep, dtype="float32")
    folder = place / f"{family}-{ep}-spelled"
    report = export(package, folder, runtime="both", metadata=describe(package, policy="graphs"), progress=False)
    assert report.lint.findings == () and engine_tokens(folder, row) == expected


@pytest.mark.parametrize("ep", ["cuda", "dml", "webgpu", "trt-rtx", "onnx-standard"])
def test_graphs_of_other_providers_on_cpu_kernels(ep: str, place: Path) -> None:
    """In float16 where they compute in it; on a device of their own they ran nowhere here."""
    source, row, expected = made("llama", place)
    dtype = "float32" if ep == "onnx-standard" else "float16"
    package = build(source, execution_provider=ep, dtype=dtype)
    report = checked(package, place / f"llama-{ep}", runtime="onnx-genai")
    assert engine_tokens(report.folder, row) == expected
    if ep == "webgpu":  # int32 tokens, which this client does not feed
        with pytest.raises(UnsupportedError, match="One folder cannot serve both clients here.*in int64.*two folders"):
            export(package, place / "neither", runtime="both", progress=False)


def test_the_document_is_what_runs(place: Path) -> None:
    """Not the other client's config beside it: an end of text that only the document names stops the engine."""
    source, row, expected = made("llama", place)
    export(build(source, execution_provider="cpu", dtype="float32"), place / "ends", runtime="both", progress=False)
    end = expected[5]
    path = place / "ends" / "inference_metadata.yaml"
    path.write_text(path.read_text().replace("eos_token_id: [2]", f"eos_token_id: [2, {end}]"))
    assert engine_tokens(place / "ends", row) == expected[: expected.index(end) + 1]


# --- the real model -----------------------------------------------------------------------------------------------
@pytest.mark.weights
@pytest.mark.parametrize("ep", ["cpu", "default"])
def test_smollm2(ep: str, place: Path) -> None:
    with skipped_without_weights():
        package = build(SMOLLM2, execution_provider=ep, dtype="float32")
    report = checked(package, place / f"smollm2-{ep}")
    assert package.encode(PROMPT) == ROW and engine_tokens(report.folder, ROW) == SMOLLM2_TOKENS
    if ep == "cpu":
        assert list(GenaiClient(report.folder).tokens(ROW, NEW, {"do_sample": False})) == SMOLLM2_TOKENS


@pytest.mark.slow
@pytest.mark.weights
def test_hugging_face_still_says_so() -> None:
    """With the weights that the workbench opens."""
    from workbench.config.resolve import resolve
    from workbench.weights.load import open_weights

    source = resolve(SMOLLM2)
    model = make_goldens.hugging_face(source.hf, {name: t.numpy() for name, t in open_weights(source).items()})
    assert hf_greedy(model, ROW)[:NEW] == SMOLLM2_TOKENS and len(SMOLLM2_TOKENS) == NEW
    assert margin(model, ROW, SMOLLM2_TOKENS) >= MARGIN

"""FusionReport without a browser: what it takes, what the browser gets, what a page without a kernel shows."""

from __future__ import annotations

import functools
import re

import pytest

import workbench
from tests.golden_ops import words
from tests.unit.rules.graphs import config, llama
from tests.widgets.results import details
from workbench import optimize
from workbench.errors import ArgumentError
from workbench.models import lookup
from workbench.widgets.fusion_report import FusionReport
from workbench.widgets.replay import PipelineReplay
from workbench.widgets.view import View


@functools.cache
def comparison() -> workbench.Comparison:
    """A model of which cpu keeps RoPE outside: its heads hold 24 numbers."""
    spec = lookup("llama")
    given = words(spec) | {"head_dim": 24}
    return workbench.compare(spec.read(given), execution_providers=["cpu", "onnx-standard"], load_weights=False)


def test_details_are_taken() -> None:
    view = FusionReport(details())
    assert view.result is details()
    assert view._facts["execution_providers"] == ["webgpu", "cpu", "dml", "onnx-standard"]
    assert len(view._facts["lines"]) == len(details().lines)
    first = view._facts["folds"][0]
    assert (first["rule"], first["kind"], len(first["nodes"])) == ("fuse/gqa", "unmatched", 2)
    assert [pair[0] for pair in first["near"]["pairs"]] == ["mismatch", "ok", "ok", "ok"]
    assert len(first["near"]["nodes"]) > 3


def test_a_comparison_is_replayed_where_something_was_missed() -> None:
    """The pattern is laid beside the graph that the rule saw, which needs no recording of the user's."""
    view = FusionReport(comparison())
    kinds = {(fold["execution_provider"], fold["rule"]): fold["kind"] for fold in view._facts["folds"]}
    assert kinds == {("cpu", "fuse/gqa"): "partial", ("cpu", "fuse/pack_qkv"): "precondition"}
    assert {fold["near"]["moment"] for fold in view._facts["folds"]} == {"when the rule looked"}


def test_one_optimized_graph() -> None:
    view = FusionReport(optimize(llama(config(head_dim=24)), execution_provider="cpu"))
    assert view._facts["execution_providers"] == ["cpu"]
    moments = {fold["kind"]: fold["near"]["moment"] for fold in view._facts["folds"]}
    assert moments == {"partial": "", "precondition": "the final graph"}


def test_anything_else_is_refused() -> None:
    with pytest.raises(ArgumentError, match=re.escape("FusionReport's result must be a Comparison, an Optimized")):
        FusionReport({"cpu": 1})


def test_the_static_faces_say_why() -> None:
    data, _ = FusionReport(details())._repr_mimebundle_()
    assert data["text/plain"] == repr(details())
    assert "Nearest misses" in data["text/html"] and "3 of 4 lines agree" in data["text/html"]


def test_a_page_of_its_own(tmp_path: object) -> None:
    page = FusionReport(details()).save_html(f"{tmp_path}/fusions.html").read_text(encoding="utf-8")
    assert "fuse/gqa" in page and page.count("</script>") == page.count("<script")


@pytest.mark.parametrize("view", [FusionReport, PipelineReplay])
def test_the_browser_s_half_is_small_and_plain(view: type[View]) -> None:
    """One text of all modules: a name that two of them have at the top would be an error in the browser."""
    text = view._esm
    names = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", text, re.MULTILINE)
    assert len(names) > 10 and len(names) == len(set(names))
    assert len(text.encode("utf-8")) <= 40_000
    assert "innerHTML" not in text and "import " not in text
    assert [found for found in re.findall(r"https?://\S+", text) if "www.w3.org/2000/svg" not in found] == []

"""CapabilityMatrix without a browser: what it takes, what the browser gets, what a page without a kernel shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from workbench.analysis.capabilities import capabilities
from workbench.errors import ArgumentError
from workbench.widgets import CapabilityMatrix


def test_facts_reach_the_browser() -> None:
    found = capabilities(["cpu", "webgpu"])
    view = CapabilityMatrix(found)
    assert view._facts["execution_providers"] == ["cpu", "webgpu"] and len(view._facts["facts"]) == len(found.facts)
    line = next(one for one in view._facts["facts"] if one[3] == "softcap" and one[0] == "webgpu" and "Group" in one[2])
    assert line[5] is False and "ignores softcap" in view._facts["sources"][line[8]] and line[9] == [
        "+lower/gqa_to_standard", "~fuse/gqa",
    ]  # fmt: skip
    assert "fuse/gqa" in view._facts["rules"] and view.dtype == "float32"


def test_all_facts_by_default_and_another_dtype() -> None:
    assert len(CapabilityMatrix().result.execution_providers) >= 7
    assert CapabilityMatrix(capabilities(["cpu"], dtypes=["float16"])).dtype == "float16"


def test_anything_else_is_refused() -> None:
    with pytest.raises(ArgumentError, match="CapabilityMatrix's result must be Capabilities"):
        CapabilityMatrix("cpu")


def test_static_faces_and_a_page(tmp_path: Path) -> None:
    view = capabilities(["cpu"]).widget()
    data, _ = view._repr_mimebundle_()
    assert data["text/plain"] == repr(view.result) and "one-node models that were run" in data["text/html"]
    page = view.save_html(tmp_path / "facts.html").read_text(encoding="utf-8")
    assert "GroupQueryAttention" in page and page.count("</script>") == page.count("<script")


def test_the_browser_s_half_is_small_and_plain() -> None:
    text = CapabilityMatrix._esm
    names = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", text, re.MULTILINE)
    assert len(names) > 10 and len(names) == len(set(names)) and len(text.encode("utf-8")) <= 40_000
    assert "innerHTML" not in text and "import " not in text and "http" not in text

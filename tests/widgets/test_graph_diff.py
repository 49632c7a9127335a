"""The widget without a browser: what it sends, what it is by default, what it shows where nothing runs."""

from __future__ import annotations

import json
from pathlib import Path

import onnx_ir as ir
import pytest
import traitlets

from tests.unit.metadata.runs import graph
from tests.unit.viz.graph.diffs import EVIL, HandMade, decoder, nasty
from workbench.analysis.diff import GraphDiff
from workbench.analysis.diff.one_graph import OneGraph, one_graph
from workbench.widgets.esm import STATIC, esm, modules
from workbench.widgets.graph_diff import GraphDiffView, GraphView
from workbench.widgets.report import Report


def real(made: HandMade) -> GraphDiff:
    return GraphDiff(
        made.labels, made.a, made.b, made.entries, made.edges, made.groups, made.changes, made.runs, "provenance"
    )


def texts(view: GraphDiffView, column: str) -> list[str]:
    import numpy as np

    _, start, length, at = view._header[column]
    ends = np.frombuffer(view._blob, np.int32, length + 1, start)
    return [view._blob[at + a : at + b].decode() for a, b in zip(ends, ends[1:])]


def test_a_result_makes_its_view_in_one_line() -> None:
    view = real(decoder(2)).widget()
    assert isinstance(view, GraphDiffView) and view.mode == "union"
    assert "model.layers.0" in view.expanded


def test_the_browser_gets_every_node_once() -> None:
    diff = decoder(2)
    view = GraphDiffView(diff)
    assert texts(view, "name") == [diff.info(entry).name for entry in diff.entries]
    assert view._header["status"][2] == len(diff.entries) and view._header["source"][2] == len(diff.edges)
    assert view._facts["counts"] == [28, 0, 12, 4]


def test_details_tell_what_changed() -> None:
    diff = decoder(2, odd=1)
    told = [json.loads(text) for text in texts(GraphDiffView(diff), "details")]
    changed = next(t for t, entry in zip(told, diff.entries) if entry.status == "changed")
    assert changed["changes"] == [["attribute", "epsilon", "1e-05", "1e-06"]]
    assert changed["attributes"] == [["axis", "-1"], ["epsilon", "1e-06"]]
    assert changed["types"] == ["float32[B, S, 64]"]


def test_stories_name_the_nodes_of_a_group() -> None:
    story = json.loads(texts(GraphDiffView(decoder(1)), "groups")[0])
    assert story["rule"] == "fuse/gqa fuse/pack_qkv"
    assert len(story["before"]) == 6 and len(story["after"]) == 2


def test_long_texts_are_cut_and_names_whole() -> None:
    view = GraphDiffView(nasty())
    assert max(map(len, texts(view, "details"))) < 8_000
    assert "n" * 10_000 in texts(view, "name"), "names select, so they travel whole"


def test_mode_is_one_of_two() -> None:
    with pytest.raises(traitlets.TraitError):
        GraphDiffView(decoder(1), mode="three")


def test_pages_without_kernel_get_picture_and_text() -> None:
    diff = real(decoder(1))
    data, _ = GraphDiffView(diff)._repr_mimebundle_()
    assert {"text/plain", "image/svg+xml", "image/png"} <= set(data)
    assert "text/html" not in data
    assert repr(GraphDiffView(diff)) == repr(diff)


def one() -> OneGraph:
    return one_graph(graph(), "lm")


WORDS = ("same", "differ", "diff", "changed", "removed", "added", "→", "rule")


def test_one_graph_says_nothing_of_another(tmp_path: Path) -> None:
    view = one().widget()
    facts = view._facts
    assert isinstance(view, GraphView) and facts["one"] and facts["title"] == "Graph lm: 2 nodes"
    data, _ = view._repr_mimebundle_()
    assert data["text/plain"] == "OneGraph(lm: 2 nodes)" and "image/png" in data
    for text in (data["text/plain"], data["image/svg+xml"]):
        assert [word for word in WORDS if word in text.lower()] == []
    assert "Cast" in data["image/svg+xml"] and 'aria-label="lm: 2 nodes"' in data["image/svg+xml"]
    page = one().save_html(tmp_path / "page.html").read_text()
    assert "<h1>lm</h1>" in page and ">Graph</h2>" in page and "Graph diff" not in page.split("<script")[0]
    assert list(one().to_frame().op_type) == ["Cast", "Relu"]


def test_one_graph_is_of_the_model_that_was_given() -> None:
    found = one()
    assert found.is_one and found.is_empty and not real(decoder(1)).is_one
    assert [info.op_type for info in found.b] == ["Cast", "Relu"] and not GraphDiffView(real(decoder(1)))._facts["one"]
    empty = one_graph(ir.from_onnx_text('<ir_version: 10, opset_import: ["" : 21]> e (float[1] x) => (x) {}'), "e")
    assert (
        "The graph has no node." in empty._repr_mimebundle_()[0]["image/svg+xml"]
        and repr(empty) == "OneGraph(e: 0 nodes)"
    )


def test_a_page_alone_holds_no_live_markup(tmp_path: Path) -> None:
    page = GraphDiffView(real(nasty()), node=EVIL).save_html(tmp_path / "page.html").read_text()
    assert EVIL not in page and page.count("</script") == page.count("<script")
    assert Report("two", GraphDiffView(real(decoder(1))), GraphDiffView(real(nasty()))).to_html().count("module") >= 2


def test_the_browsers_half_is_plain_and_asks_for_nothing() -> None:
    for name in modules("graph_diff.js"):
        source = (STATIC / name).read_text()
        assert len(source.encode()) <= 40_000 and source.count("\n") <= 400
        assert "innerHTML" not in source and "http" not in source and "eval(" not in source
    assert "import " not in esm("graph_diff") and esm("graph_diff").count("export default") == 1


def test_top_level_names_are_unique() -> None:
    import re

    names: list[str] = []
    for line in esm("graph_diff").splitlines():
        found = re.match(r"(?:const|let|function|class|async function)\s+(\[[^\]]+\]|\w+)", line)
        if found:
            names += re.findall(r"\w+", found[1])
    assert sorted(names) == sorted(set(names))

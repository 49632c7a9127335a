"""What a diff shows: one line, the summary, the table, the document, the page; and the union that views draw."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.unit.analysis.diff.graphs import chain, pair
from workbench.analysis.diff import GraphDiff, diff
from workbench.analysis.diff.graph_diff import COLUMNS


@pytest.fixture(scope="module")
def found() -> GraphDiff:
    return diff(*pair("llama", "dml", "default"), labels=("generic", "dml"))


def test_one_line_has_the_numbers(found: GraphDiff) -> None:
    counts = found.counts
    assert list(counts) == ["same", "changed", "removed", "added"]
    text = repr(found)
    assert text.startswith(f"GraphDiff(generic -> dml: {counts['same']} same, 0 changed, {counts['removed']} removed, ")
    assert "\n" not in text and text.endswith("by provenance)")


def test_the_table_has_what_is_not_the_same(found: GraphDiff) -> None:
    frame = found.to_frame()
    assert list(frame.columns) == COLUMNS
    assert len(frame) == len(found.entries) - found.counts["same"]
    assert set(frame["rule"]) >= {"fold", "fuse/gqa", "fuse/skip_rms_norm", "lower/rotary_to_ms"}


def test_the_summary_counts_what_is_alike(found: GraphDiff) -> None:
    summary = found.summary()
    assert sum(step.count for step in summary.steps) == len(found.groups)
    assert repr(summary) == "\n".join(summary.lines)
    assert list(summary.to_frame().columns) == ["what", "count", "before", "after"]
    assert "fuse/skip_rms_norm" in summary._repr_html_()
    assert not summary.unexplained


def test_long_summaries_are_cut_and_say_so() -> None:
    names = ["Abs", "Acos", "Asin", "Atan", "Ceil", "Cos", "Erf", "Exp", "Floor", "Log", "Neg", "Relu", "Sin", "Sqrt"]
    lines = diff(chain("Tanh", *names, "Softplus"), chain("Tanh", "Softplus")).summary().lines
    assert "  not explained: ... and 2 more" in lines


def test_the_document_is_json_and_whole(found: GraphDiff) -> None:
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert document["format"] == "ep-workbench.diff" and document["format_version"] == 1
    assert document["counts"] == dict(found.counts)
    assert len(document["nodes"]) == len(found.to_frame()) and len(document["groups"]) == len(found.groups)
    assert document["layer_runs"] == [
        {"prefix": "model.layers", "layers": [0]}, {"prefix": "model.layers", "layers": [1]},
    ]  # fmt: skip


def test_entries_edges_and_groups_belong_together(found: GraphDiff) -> None:
    assert sorted(e.a for e in found.entries if e.a is not None) == list(range(len(found.a)))
    assert sorted(e.b for e in found.entries if e.b is not None) == list(range(len(found.b)))
    for index, group in enumerate(found.groups):
        for members, status in ((group.before, "removed"), (group.after, "added")):
            assert all(found.entries[i].status == status and found.entries[i].group == index for i in members)
    for edge in found.edges:
        source, target = found.entries[edge.source], found.entries[edge.target]
        sides = {0: ("a", "b"), 1: ("a",), 2: ("b",)}[edge.side]
        for side in sides:
            records, at, to = getattr(found, side), getattr(source, side), getattr(target, side)
            assert at is not None and to is not None
            if edge.side != 0 or side == "b":
                assert edge.value in records[at].outputs and edge.value in records[to].inputs


def test_each_entry_comes_after_what_it_reads(found: GraphDiff) -> None:
    assert all(edge.source < edge.target for edge in found.edges)
    main = [not found.info(entry).graph for entry in found.entries]
    assert main == sorted(main, reverse=True)


def test_a_page_that_needs_nothing(found: GraphDiff, tmp_path: Path) -> None:
    text = found.save_html(tmp_path / "diff.html").read_text("utf-8")
    assert "fuse/skip_rms_norm" in text and "generic against dml" in text
    assert "http:" not in text.replace("http://www.w3.org", "") and "https:" not in text and "src=" not in text


def test_the_page_has_no_empty_columns_and_breaks_long_names(found: GraphDiff, tmp_path: Path) -> None:
    nodes = found.save_html(tmp_path / "diff.html").read_text("utf-8").split('<section id="nodes">')[1]
    columns = re.findall(r"<th[^>]*>(\w+)</th>", nodes)
    frame = found.to_frame()
    assert columns == [name for name in frame.columns if (frame[name] != "").any()]
    name = next(node for node in frame["node"] if "/" in node)
    assert name not in nodes and name in nodes.replace("<wbr>", "")
    plain = diff(chain("Relu", "Exp"), chain("Relu")).save_html(tmp_path / "plain.html").read_text("utf-8")
    assert "<th" in plain.split('<section id="nodes">')[1] and ">graph</th>" not in plain

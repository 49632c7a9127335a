"""PipelineReplay without a browser: what the browser gets, what a page without a kernel shows."""

from __future__ import annotations

import re
import struct

import numpy as np
import pytest

from tests.widgets.results import EVIL, evil_recording, long_recording, recording
from workbench.viz.replay import sparkline
from workbench.widgets.replay import PipelineReplay


def column(view: PipelineReplay, name: str) -> np.ndarray:
    kind, start, length = view._header[name][:3]
    return np.frombuffer(view._blob, f"<{kind}", length, start)


def texts(view: PipelineReplay, name: str) -> list[str]:
    _, start, length, at = view._header[name]
    ends = struct.unpack_from(f"<{length + 1}i", view._blob, start)
    return [view._blob[at + a : at + b].decode() for a, b in zip(ends, ends[1:])]


@pytest.mark.parametrize("of", [recording, evil_recording, lambda: long_recording(50)])
def test_the_columns_hold_the_steps(of: object) -> None:
    found = of()
    view = PipelineReplay(found)
    assert column(view, "count").tolist() == list(found.counts)
    starts, split = column(view, "from"), column(view, "split")
    names, ops = texts(view, "name"), column(view, "op")
    for i, step in enumerate(found.steps):
        here = slice(starts[i], starts[i + 1])
        nodes = (*step.removed, *step.added)
        assert (names[here], split[i]) == ([node.name for node in nodes], len(step.removed))
        assert [view._facts["ops"][op] for op in ops[here]] == [node.op for node in nodes]
        stage, rule, file, line = view._facts["rules"][column(view, "rule")[i]]
        assert (stage, rule, file, line) == (step.stage, step.rule, step.file, step.line)
    assert texts(view, "anchor") == [step.anchor for step in found.steps]
    inputs = [node.inputs for step in found.steps for node in (*step.removed, *step.added)]
    assert texts(view, "inputs") == ["\x1f".join(names) for names in inputs]


def test_one_line_from_the_result() -> None:
    view = recording().widget()
    assert isinstance(view, PipelineReplay) and view.result is recording()


def test_a_step_stays_within_the_recording() -> None:
    view = PipelineReplay(recording(), step=10_000)
    assert view.step == len(recording().steps)
    view.step = -3
    assert view.step == 0


def test_the_static_faces_are_the_result_s() -> None:
    data, _ = PipelineReplay(recording())._repr_mimebundle_()
    assert data["text/plain"] == repr(recording())
    assert data["text/html"] == recording()._repr_html_()


def test_a_page_of_its_own(tmp_path: object) -> None:
    page = recording().save_html(f"{tmp_path}/replay.html").read_text(encoding="utf-8")
    assert "fuse/gqa" in page and "http://" not in page.replace("http://www.w3.org/2000/svg", "")


def test_text_of_a_graph_stays_text(tmp_path: object) -> None:
    found = evil_recording()
    assert EVIL not in found._repr_html_()
    page = found.save_html(f"{tmp_path}/evil.html").read_text(encoding="utf-8")
    assert EVIL not in page and page.count("</script>") == page.count("<script")


# --- the sparkline --------------------------------------------------------------------------------------
def points(svg: str) -> list[tuple[int, int]]:
    (found,) = re.findall(r'points="([^"]*)"', svg)
    return [(int(x), int(y)) for x, y in (pair.split(",") for pair in found.split())]


def test_the_line_goes_down_with_the_nodes() -> None:
    svg = sparkline([10, 10, 7, 1])
    heights = [y for _, y in points(svg)]
    assert heights[0] == heights[1] < heights[2] < heights[3]
    assert "10 at the start, at most 10, 1 at the end" in svg
    assert "style=" not in svg and "<style" not in svg


@pytest.mark.parametrize("counts", [[5], [0], [7, 7, 7]])
def test_a_flat_line(counts: list[int]) -> None:
    assert len({y for _, y in points(sparkline(counts))}) == 1


def test_thousands_of_steps_are_a_few_hundred_points() -> None:
    found = points(sparkline(list(range(5000, 0, -1))))
    assert len(found) <= 300 and found == sorted(found)


def test_the_picture_is_the_same_each_time() -> None:
    assert sparkline(recording().counts) == sparkline(recording().counts)

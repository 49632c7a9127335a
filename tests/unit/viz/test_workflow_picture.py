"""The static picture of a workflow: nested, nothing over anything else, texts where they fit, the same each time."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from tests.make_workflow_pictures import FOLDER, pictures
from tests.unit.metadata.fixtures import base, of_kind
from tests.unit.metadata.layers import decoder
from tests.unit.metadata.runs import broken, forgetful, hostile, recorded, stepped
from workbench.metadata import workflow_map
from workbench.viz.figure import CARD, INK
from workbench.viz.svg import text_width
from workbench.viz.workflow import moments, pinned, to_svg
from workbench.viz.workflow.nets import MOST_TRACKS, Net, nets
from workbench.viz.workflow.places import Box, places
from workbench.widgets.esm import STATIC


def deep() -> dict[str, Any]:
    """Forty sequences inside each other."""
    found = base("branch")
    steps = found["pipeline"]["workflow"]["steps"]
    for _ in range(40):
        steps[0] = {"kind": "sequence", "steps": [steps[0]]}
    return found


DOCUMENTS: dict[str, Any] = {
    "decoder": lambda: decoder(100), "branch": lambda: base("branch"), "speculative": lambda: base("spec"),
    "static": lambda: base("static"), "broken": broken, "hostile": hostile, "nothing": lambda: "[]",
}  # fmt: skip


def within(inner: Box, outer: Box) -> bool:
    return (
        outer.x <= inner.x
        and outer.y <= inner.y
        and inner.x + inner.width <= outer.x + outer.width
        and inner.y + inner.height <= outer.y + outer.height
    )


@pytest.mark.parametrize("name", DOCUMENTS)
def test_rows_lie_in_their_frames_and_beside_each_other(name: str) -> None:
    found = workflow_map(DOCUMENTS[name]())
    where = places(found)
    for node in found.nodes:
        inner = where.frames.get(node.index, where.rows[node.index])
        assert node.parent < 0 or within(inner, where.frames[node.parent])
        assert not node.is_frame or within(where.rows[node.index], where.frames[node.index])
    rows = sorted(where.rows.values(), key=lambda box: box.y)
    assert all(above.y + above.height <= below.y for above, below in zip(rows, rows[1:]))
    siblings = [[where.frames[n.index] for n in found.nodes if n.parent == p and n.is_frame] for p in where.frames]
    assert all(a.y + a.height <= b.y for group in siblings for a, b in zip(group, group[1:]))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_picture(name: str) -> None:
    found = workflow_map(DOCUMENTS[name]())
    svg = to_svg(found)
    assert svg == to_svg(workflow_map(DOCUMENTS[name]())) and "style" not in svg and "<script" not in svg
    root = ElementTree.fromstring(svg)
    wide, high = int(root.get("width") or 0), int(root.get("height") or 0)
    assert wide < 1100, "a page has room for it"
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        if text.get("x"):
            size, x = int(text.get("font-size") or 12), int(text.get("x") or 0)
            there = text_width(text.text or "", size) // (2 if text.get("text-anchor") == "middle" else 1)
            assert 0 < x + there <= wide and 0 < int(text.get("y") or 0) < high
    assert all(
        node.title[:8] in re.sub(r"<[^>]*>", "", svg)
        for node in found.nodes
        if node.kind == "invoke" and name != "hostile"
    )


def words(svg: str) -> list[str]:
    return [text.text or "" for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_long_names_keep_what_tells_them_apart() -> None:
    """A lane's name goes on below; of a step's values both sides of the arrow are seen."""
    text = (
        json.dumps(decoder(30)).replace('"kv"', '"full_attention"').replace('"prompt"', '"request.input_ids.of.this"')
    )
    shown = words(to_svg(workflow_map(text)))
    assert shown.index("attention") == shown.index("full_") + 1
    (said,) = [word for word in shown if word.startswith("request.input_ids.of.this, mask")]
    assert " → s.scores, n.k* ×30" in said and len(said) <= 66


def test_there_is_room_however_deep_steps_lie() -> None:
    where = places(workflow_map(deep()))
    assert min(box.width for box in (*where.rows.values(), *where.frames.values())) > 100
    assert ElementTree.fromstring(to_svg(workflow_map(deep()))) is not None


@pytest.mark.parametrize("fixture", of_kind("valid")[::4])
def test_whatever_is_valid_is_drawn(fixture: Any) -> None:
    found = workflow_map(fixture.path)
    assert ElementTree.fromstring(to_svg(found)) is not None and len(places(found).rows) == len(found.nodes)


def test_the_pages_of_the_docs_have_these_pictures() -> None:
    for name, text in pictures().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, "python -m tests.make_workflow_pictures"


# --- lines ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [*DOCUMENTS, "crowded"])
def test_every_link_is_a_line_or_a_badge(name: str) -> None:
    found = workflow_map(DOCUMENTS.get(name, crowded)())
    where = places(found)
    lines = [(net.source, target) for net in where.nets.nets for target in net.targets]
    assert sorted([*lines, *where.nets.far]) == sorted((link.source, link.target) for link in found.links)
    svg = to_svg(found)
    assert svg.count('Z" fill="') - svg.count(f'Z" fill="{INK}" s') - svg.count(f'Z" fill="{CARD}" s') == len(lines)
    assert svg.count("↑ ") + svg.count("↓ ") >= bool(where.nets.far)


@pytest.mark.parametrize("name", [*DOCUMENTS, "crowded"])
def test_lines_lie_on_no_text_no_row_and_no_lane(name: str) -> None:
    found = workflow_map(DOCUMENTS.get(name, crowded)())
    where = places(found)
    boxes = [where.frames.get(node, box) if found.nodes[node].is_frame else box for node, box in where.rows.items()]
    tracks = [where.track(net.track) for net in where.nets.nets]
    assert all(box.x + box.width + 6 < x < where.x(0) - 12 for box in boxes for x in tracks)
    for net, other in itertools.combinations(where.nets.nets, 2):
        assert net.track != other.track or reach(net)[1] < reach(other)[0] or reach(other)[1] < reach(net)[0]


def reach(net: Net) -> tuple[int, int]:
    """From where to where a line runs down, in half rows: it leaves from the lower half and comes to the upper."""
    ends = [2 * net.source + 1, *(2 * target for target in net.targets)]
    return min(ends), max(ends)


def crowded() -> dict[str, Any]:
    """Twelve steps of which each reads what all before it make: more lines than there are tracks, and long ones."""
    found = base("branch")
    flow = found["pipeline"]["workflow"]
    (_, call, *rest) = flow["steps"]
    reads = [{"ids": "text"} | {f"feat{i}": f"features.of.step.{i}" for i in range(n)} for n in range(12)]
    flow["steps"] = [
        {**call, "inputs": inputs, "outputs": {"scores": f"features.of.step.{n}"}} for n, inputs in enumerate(reads)
    ]
    flow["steps"] += rest
    return found


def test_long_lines_are_badges_with_the_name() -> None:
    found = workflow_map(base("branch"))
    shown = words(to_svg(found))
    assert "↓ text" in shown and "↑ text" in shown, "seven rows from the inputs to the head"
    assert "<title>inputs → head: text</title>" in to_svg(found) and "<title>inputs → blank: text</title>" in to_svg(
        found
    )
    crowd = workflow_map(crowded())
    assert places(crowd).nets.tracks == MOST_TRACKS and any(word.startswith("↕") for word in words(to_svg(crowd)))


SCRIPT = """
const { netsOf } = await import(process.argv[2]);
console.log(JSON.stringify(JSON.parse(process.argv[3]).map((pairs) => netsOf(pairs))));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not on the path")
def test_the_browsers_twin_lays_the_same_lines(tmp_path: Path) -> None:
    maps = [workflow_map(document()) for document in (*DOCUMENTS.values(), crowded)]
    asked = [[(link.source, link.target) for link in found.links] for found in maps] + [
        [(5, 2), (5, 8), (1, 2), (2, 5)]
    ]
    shutil.copy(STATIC / "workflow_nets.js", tmp_path / "nets.mjs")
    (tmp_path / "twin.mjs").write_text(SCRIPT)
    command = ["node", str(tmp_path / "twin.mjs"), str(tmp_path / "nets.mjs"), json.dumps(asked)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    ours = [dataclasses.asdict(nets(pairs)) for pairs in asked]
    assert json.loads(done.stdout) == json.loads(json.dumps(ours))


# --- moments of a run -------------------------------------------------------------------------------------------
def test_each_record_is_a_moment_on_its_node() -> None:
    run = recorded()
    found = workflow_map(base("dec"))
    seen = moments(found, run.trace)
    titles = [found.nodes[one.node].title for one in seen]
    assert titles == [
        "inputs",
        "loop",
        *["while active", "lm", "policy", "emit tokens", "next round"] * 3,
        "while active",
        "loop",
    ]
    assert [one.note for one in seen[:4]] == ["", "enter", "round 0? yes", "round 0"]
    (scores, *_) = seen[4].read
    assert (scores.name, scores.type) == ("s.scores", "float32[1, 3, 258]")
    (token, *_) = seen[4].made
    assert (token.port, token.name, token.type, token.numbers) == ("tok", "s.tok", "int64[1, 1]", "8")


def test_what_goes_wrong_in_a_run_stands_where_it_does() -> None:
    with stepped(lm=forgetful) as made:
        run = made.finish()
    found = workflow_map(base("dec"))
    (pin,) = pinned(found, run.trace).pins
    assert pin.diagnostic.code == "run.growth" and found.nodes[pin.node].title == "lm"
    assert "run.growth" in moments(found, run.trace)[-1].faults[0]
    assert pinned(found, recorded().trace) == found

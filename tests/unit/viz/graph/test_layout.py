"""What must hold for every layout: boxes apart, frames around their boxes, lines downwards, no drift."""

from __future__ import annotations

import itertools

import pytest

from tests.unit.viz.graph.diffs import ALL, Maker, decoder
from workbench.viz.graph.fold import fold
from workbench.viz.graph.layout import Layout, layout
from workbench.viz.graph.rows import LONG, settle
from workbench.viz.graph.scene import Scene, scene


def everything(name: str) -> tuple[Scene, Layout]:
    drawn = scene(ALL[name]())
    return drawn, layout(drawn, range(drawn.trees))


@pytest.mark.parametrize("name", ALL)
def test_siblings_never_overlap_and_lie_in_their_frame(name: str) -> None:
    _, laid = everything(name)
    for frame, inside in laid.folded.children.items():
        for box in inside:
            assert laid.x[frame] <= laid.x[box] and laid.x[box] + laid.w[box] <= laid.x[frame] + laid.w[frame]
            assert laid.y[frame] <= laid.y[box] and laid.y[box] + laid.h[box] <= laid.y[frame] + laid.h[frame]
        for one, two in itertools.combinations(inside, 2):
            apart = laid.x[one] + laid.w[one] <= laid.x[two] or laid.x[two] + laid.w[two] <= laid.x[one]
            above = laid.y[one] + laid.h[one] <= laid.y[two] or laid.y[two] + laid.h[two] <= laid.y[one]
            assert apart or above, (one, two)


@pytest.mark.parametrize("name", ALL)
def test_everything_is_whole_and_lines_run_down(name: str) -> None:
    _, laid = everything(name)
    for x1, y1, y2, x2, y3, y4, *_ in laid.pieces:
        assert all(type(n) is int for n in (x1, x2))
        assert y1 <= y2 <= y3 <= y4


@pytest.mark.parametrize("name", ["decoder", "long", "nasty"])
def test_a_line_leads_from_every_box_to_its_readers(name: str) -> None:
    """Pieces hang together: going up from a reader along one source's pieces ends at that source."""
    _, laid = everything(name)
    ends = {(p[6], p[3], p[5]): p for p in laid.pieces}
    for (a, b, _), far in zip(laid.folded.edges, laid.far):
        if far:
            continue
        x, y = laid.x[b] + laid.w[b] // 2, laid.y[b]
        while (a, x, y) in ends:
            x, y = ends[a, x, y][:2]
        assert (x, y) == (laid.x[a] + laid.w[a] // 2, laid.y[a] + laid.h[a]), (a, b)


def test_layers_stay_in_a_column_however_many_there_are() -> None:
    widths = []
    for layers in (12, 60):
        drawn = scene(decoder(layers))
        widths.append(layout(drawn, range(drawn.trees)).size[0])
    assert widths[0] == widths[1] < 1_500


def test_values_that_every_layer_reads_are_badges_far_away() -> None:
    drawn = scene(decoder(12))
    laid = layout(drawn, {i for i in range(drawn.trees) if drawn.kind[i] in (0, 1) and "layers." not in drawn.path[i]})
    mask = drawn.op.index("CausalMask") + drawn.trees
    far = [far for (a, _, _), far in zip(laid.folded.edges, laid.far) if a == mask]
    assert far.count(False) == LONG and far.count(True) == 12 - LONG


def test_an_edge_back_into_a_folded_box_is_a_badge() -> None:
    drawn = scene(ALL["knot"]())
    laid = layout(drawn, {0})
    box = drawn.path.index("a")
    back = [far for (_, b, _), far in zip(laid.folded.edges, laid.far) if b == box]
    assert back == [True]


def test_a_wide_row_is_wrapped_and_its_lower_lines_get_badges() -> None:
    drawn = scene(ALL["knot"]())
    laid = layout(drawn, {0})
    wide = [i + drawn.trees for i, op in enumerate(drawn.op) if op.startswith("Wide")]
    assert laid.size[0] <= 1_600 and len({laid.y[i] for i in wide}) == 5
    for (_, b, _), far in zip(laid.folded.edges, laid.far):
        if b in wide:
            assert far == (laid.y[b] > min(laid.y[i] for i in wide))


def test_removed_lies_left_of_added() -> None:
    make = Maker()
    x = make.node("Gather", "")
    new = make.node("New", "", x, status="added")
    old = make.node("Old", "", x, status="removed")
    make.node("Add", "", old, new)
    drawn = scene(make.diff())
    laid = layout(drawn, {0})
    assert laid.x[old + drawn.trees] < laid.x[new + drawn.trees]
    assert laid.y[old + drawn.trees] == laid.y[new + drawn.trees]


def test_rows() -> None:
    assert settle(4, [(0, 1), (1, 2), (0, 2), (3, 2)]) == [0, 1, 2, 1], "the source 3 moves down to its reader"
    assert settle(3, [(0, 1), (1, 0), (1, 2)]) == [0, 1, 2], "of a knot the first goes first"
    assert settle(0, []) == []


def test_the_same_diff_has_the_same_layout() -> None:
    one, two = (layout(scene(decoder(3)), range(99)) for _ in range(2))
    assert (one.x, one.y, one.pieces) == (two.x, two.y, two.pieces)
    assert fold(scene(decoder(3)), {0, 1}) == fold(scene(decoder(3)), {0, 1})


@pytest.mark.parametrize("name", ["decoder", "long"])
def test_lines_run_beside_boxes(name: str) -> None:
    """The straight way of a piece, past the boxes of its row, crosses none of them."""
    _, laid = everything(name)
    boxes = [b for b in laid.folded.boxes if b]
    for x1, y1, y2, x2, y3, y4, source, *_ in laid.pieces:
        for box in boxes:
            left, top = laid.x[box], laid.y[box]
            for x, start, end in ((x1, y1, y2), (x2, y3, y4)):
                crosses = left < x < left + laid.w[box] and start < top + laid.h[box] and end > top
                assert not crosses, (source, box)


def test_a_frame_wider_than_a_page_lets_lines_pass_beside_it() -> None:
    make = Maker()
    x = make.node("Gather", "")
    inner = [make.node("M" * 30, f"wide.s{i}", x) for i in range(6)]
    y = make.node("Concat", "wide", *inner)
    make.node("Add", "", x, y)
    drawn = scene(make.diff())
    laid = layout(drawn, range(drawn.trees))
    frame = drawn.path.index("wide")
    assert laid.w[frame] > 1_500
    past = [p for p in laid.pieces if p[1] == laid.y[frame] and p[8] == 1 and p[5] > laid.y[frame] + laid.h[frame]]
    assert past and all(p[0] < laid.x[frame] or p[0] > laid.x[frame] + laid.w[frame] for p in past)

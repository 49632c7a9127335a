"""From a diff to the tree of boxes and to what is seen of it."""

from __future__ import annotations

import pytest

from tests.unit.viz.graph.diffs import ALL, Maker, decoder, nasty
from workbench.analysis.diff.result import LayerRun
from workbench.viz.graph.fold import FIRST, SECOND, fold, unfolded_at_first
from workbench.viz.graph.scene import Scene, scene
from workbench.viz.graph.tree import BODY, GROUP, RUN
from workbench.viz.graph.words import clean, shorten, width


def tree(drawn: Scene, path: str) -> int:
    return drawn.path.index(path)


@pytest.mark.parametrize("name", ALL)
def test_every_node_is_one_leaf_of_one_tree(name: str) -> None:
    diff = ALL[name]()
    drawn = scene(diff)
    assert len(drawn.status) == len(diff.entries)
    assert drawn.parent[0] == -1
    assert (drawn.parent[1:] < drawn.trees).all() and (drawn.parent[1:] >= 0).all()
    assert all(drawn.parent[i] < i for i in range(1, drawn.trees)), "a parent stands before its children"
    assert drawn.counts[:4].tolist() == list(diff.counts.values())
    assert len(set(drawn.path)) == drawn.trees, "paths tell boxes apart"


class TestTree:
    def test_like_layers_share_a_box_behind_the_first(self) -> None:
        drawn = scene(decoder(6, odd=3))
        runs = [i for i in range(drawn.trees) if drawn.kind[i] == RUN]
        assert [drawn.label[i] for i in runs] == ["layers 1-2 like 0", "layers 4-5 like 0"]
        assert [drawn.note[i] for i in runs] == ["2 layers · 36 nodes"] * 2
        assert drawn.parent[tree(drawn, "model.layers.3")] == tree(drawn, "model.layers")
        assert drawn.parent[tree(drawn, "model.layers.2")] == runs[0]

    def test_a_rule_has_a_frame_in_its_layer(self) -> None:
        drawn = scene(decoder(2))
        group = next(i for i in range(drawn.trees) if drawn.kind[i] == GROUP)
        assert drawn.label[group] == "fuse/gqa fuse/pack_qkv"
        assert drawn.path[drawn.parent[group]] == "model.layers.0.self_attn"
        assert drawn.signs(group) == ["−6", "+2"]
        inside = [drawn.op[i - drawn.trees] for i in range(drawn.trees, len(drawn.parent)) if drawn.parent[i] == group]
        assert inside == ["MatMul"] * 3 + ["RotaryEmbedding"] * 2 + ["Attention", "MatMul", "GroupQueryAttention"]

    def test_what_a_rule_took_from_elsewhere_stays_there(self) -> None:
        make = Maker()
        far = make.node("CausalMask", "model.mask", status="removed")
        old = make.node("Attention", "model.layers.1.attn", far, status="removed")
        new = make.node("Fused", "model.layers.1.attn", status="added")
        make.node("Add", "model.layers.1", old, new)
        make.group("fuse/gqa", "model.layers.1.attn", [far, old], [new])
        drawn = scene(make.diff())
        homes = [drawn.path[drawn.parent[drawn.trees + i]] for i in (far, old, new)]
        assert homes == ["model", "model.layers.1.attn#0", "model.layers.1.attn#0"]

    def test_a_scope_with_one_node_needs_no_box(self) -> None:
        drawn = scene(decoder(1))
        assert "model.embed_tokens" not in drawn.path
        gather = drawn.op.index("Gather")
        assert (drawn.mark[gather], drawn.path[drawn.parent[drawn.trees + gather]]) == ("embed_tokens", "model")

    def test_bodies_are_boxes_of_their_own(self) -> None:
        drawn = scene(decoder(1))
        body = next(i for i in range(drawn.trees) if drawn.kind[i] == BODY)
        assert (drawn.label[body], drawn.parent[body], drawn.note[body]) == (
            "function ep_workbench.CausalMask", 0, "2 nodes",
        )  # fmt: skip

    def test_a_node_without_a_name_goes_by_its_output(self) -> None:
        assert scene(nasty()).name[2] == "v2"


class TestFold:
    def test_folded_everything_is_in_the_boxes_at_the_top(self) -> None:
        drawn = scene(decoder(3))
        seen = fold(drawn, {0})
        assert [drawn.label[i] if i < drawn.trees else drawn.op[i - drawn.trees] for i in seen.boxes] == [
            "model", "function ep_workbench.CausalMask", "MatMul",
        ]  # fmt: skip
        assert [(a, b) for a, b, _ in seen.edges] == [(tree(drawn, "model"), seen.boxes[-1])]

    def test_unfolded_every_node_is_a_box_and_every_edge_there(self) -> None:
        diff = decoder(3)
        drawn = scene(diff)
        seen = fold(drawn, range(drawn.trees))
        assert sorted(seen.boxes) == list(range(drawn.trees, drawn.trees + len(diff.entries)))
        pairs = {(e.source + drawn.trees, e.target + drawn.trees) for e in diff.edges}
        assert {(a, b) for a, b, _ in seen.edges} == pairs

    def test_sides_of_edges_come_together(self) -> None:
        make = Maker()
        one = make.node("A", "")
        gone, new = (make.node("B", "s", one, status=s) for s in ("removed", "added"))
        make.node("C", "", gone, new)
        drawn = scene(make.diff())
        assert [sides for _, _, sides in fold(drawn, {0}).edges] == [FIRST | SECOND] * 2
        assert sorted(sides for _, _, sides in fold(drawn, {0, 1}).edges) == [FIRST, FIRST, SECOND, SECOND]

    def test_a_box_in_a_folded_box_is_not_seen(self) -> None:
        drawn = scene(decoder(3))
        inner = tree(drawn, "model.layers.0.self_attn")
        assert list(fold(drawn, {0, inner}).children) == [0]

    @pytest.mark.parametrize("layers", [2, 30, 120])
    def test_at_first_a_few_dozen_boxes_and_one_layer_open(self, layers: int) -> None:
        drawn = scene(decoder(layers))
        first = unfolded_at_first(drawn)
        assert 15 <= len(fold(drawn, first).boxes) <= 60
        assert "model.layers.0.self_attn#0" in {drawn.path[i] for i in first}
        assert not any(drawn.kind[i] == RUN for i in first)

    def test_the_open_layer_is_the_one_that_most_are_like(self) -> None:
        make = Maker()
        x = make.node("Gather", "model.embed")
        for i in range(6):
            x = make.node("Relu", f"model.layers.{i}.act", x)
            x = make.node("Add", f"model.layers.{i}.act", x, status="added" if i else "removed")
        drawn = scene(make.diff(LayerRun("model.layers", (0,)), LayerRun("model.layers", (1, 2, 3, 4, 5))))
        opened = {drawn.path[i] for i in unfolded_at_first(drawn)}
        assert {p for p in opened if p.startswith("model.layers.")} == {"model.layers.1.act"}


class TestWords:
    def test_control_and_direction_characters_are_gone(self) -> None:
        assert clean("a\x00b\u202ec\nd") == "a·b·c d"

    def test_ten_kilobytes_become_head_and_tail(self) -> None:
        text = shorten("a" * 5_000 + "b" * 5_000)
        assert text == "a" * 15 + "…" + "b" * 16

    def test_capitals_are_wider(self) -> None:
        assert width("MMMM") > width("AAAA") > width("aaaa") > width("iiii") > width("iiii", small=True) > 0

"""Places of nodes: from scopes of ordinary and of odd models."""

from __future__ import annotations

import pytest

from workbench.analysis.layers import Layout, Spot, ranges

DECODER = ["", "model", "model.embed_tokens", "model.layers.0.mlp", "model.layers.11.self_attn.q_proj", "model.norm",
           "lm_head"]  # fmt: skip


def spots(*scopes: str) -> list[Spot]:
    layout = Layout(scopes)
    return [layout.spot(scope) for scope in scopes]


def test_a_decoder() -> None:
    outside = Spot()
    assert spots(*DECODER) == [
        outside, outside, Spot(part="embed"), Spot("model.layers", 0), Spot("model.layers", 11), Spot(part="norm"),
        Spot(part="lm_head"),
    ]  # fmt: skip
    assert Layout(DECODER).stack_name("model.layers") == "layers"


def test_layers_at_the_top() -> None:
    found = spots("embed_tokens", "embed_positions", "layers.0", "layers.1.mlp", "")
    assert found == [Spot(part="embed"), Spot(part="embed"), Spot("layers", 0), Spot("layers", 1), Spot()]


def test_two_stacks_keep_their_whole_names() -> None:
    scopes = ["vision.patch_embed", "vision.blocks.0.norm", "vision.norm", "model.layers.0", "model.norm", "lm_head"]
    layout = Layout(scopes)
    assert layout.stacks == (("vision", "blocks"), ("model", "layers"))
    assert [layout.stack_name(s) for s in ("vision.blocks", "model.layers")] == ["vision.blocks", "model.layers"]
    parts = [layout.spot(scope).part for scope in scopes]
    assert parts == ["vision.patch_embed", "", "vision.norm", "", "model.norm", "lm_head"]


def test_experts_lie_inside_their_layer() -> None:
    assert spots("model.layers.3.mlp.experts.7.up_proj", "model.layers.3.mlp.gate") == [Spot("model.layers", 3)] * 2


def test_no_layers() -> None:
    assert spots("model.embed_tokens", "model.norm", "model", "lm_head") == [
        Spot(part="embed"), Spot(part="norm"), Spot(), Spot(part="lm_head"),
    ]  # fmt: skip
    assert spots("encoder", "decoder") == [Spot(part="encoder"), Spot(part="decoder")]
    assert spots("") == [Spot()]


def test_numbers_alone() -> None:
    layout = Layout(["0", "1.linear"])
    assert [layout.spot("0"), layout.spot("1.linear")] == [Spot("", 0), Spot("", 1)]


def test_part_scope() -> None:
    layout = Layout(DECODER)
    assert layout.part_scope("model.norm.inner.deep") == "model.norm"
    assert layout.part_scope("lm_head") == "lm_head"


@pytest.mark.parametrize(("numbers", "text"), [([], ""), ([4], "4"), ([2, 0, 1], "0-2"), ([0, 2, 3, 7], "0,2-3,7")])
def test_ranges(numbers: list[int], text: str) -> None:
    assert ranges(numbers) == text

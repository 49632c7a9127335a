"""lower/attention: the standard's Attention in primitives, number by number."""

from __future__ import annotations

import numpy as np
import onnx_ir as ir
import pytest

from tests.unit.rules.graphs import applied, config, distance, feeds, llama, nodes, only_miss, parsed, run

H, D, V, B, S, P = 4, 8, 8, 2, 3, 2
T = P + S


def graph(
    mask: str = "bool[b, 1, s, t]", attributes: str = "", kv_heads: int = 2, value_size: int = V, **words: str
) -> ir.Model:
    query = words.get("query", f"float[b, s, {H * D}]")
    call = words.get("call", "(q, k, v, mask, past_k, past_v)")
    outputs = words.get("outputs", "y, present_k, present_v")
    declared = (
        f"float[b, s, {H * value_size}] y, float[b, {kv_heads}, t, {D}] present_k, "
        f"float[b, {kv_heads}, t, {value_size}] present_v"
    )
    return parsed(f"""<ir_version: 10, opset_import: ["" : 24]>
      g ({query} q, float[b, s, {kv_heads * D}] k, float[b, s, {kv_heads * value_size}] v, {mask} mask,
         float[b, {kv_heads}, p, {D}] past_k, float[b, {kv_heads}, p, {value_size}] past_v) => ({declared})
      {{ {outputs} = Attention <q_num_heads = {H}, kv_num_heads = {kv_heads} {attributes}> {call} }}""")


def arrays(mask: np.ndarray, kv_heads: int = 2, value_size: int = V) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)

    def drawn(*shape: int) -> np.ndarray:
        return 2 * rng.standard_normal(shape, np.float32)

    return {
        "q": drawn(B, S, H * D), "k": drawn(B, S, kv_heads * D), "v": drawn(B, S, kv_heads * value_size), "mask": mask,
        "past_k": drawn(B, kv_heads, P, D), "past_v": drawn(B, kv_heads, P, value_size),
    }  # fmt: skip


CAUSAL = np.broadcast_to(np.arange(T) <= np.arange(S)[:, None] + P, (B, 1, S, T)).copy()
RNG = np.random.default_rng(8)


@pytest.mark.parametrize("attributes", ["", ", scale = 0.7", ", softcap = 1.5", ", scale = 0.3, softcap = 0.9"])
@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_a_bool_mask(attributes: str, kv_heads: int) -> None:
    model = graph(attributes=attributes, kv_heads=kv_heads)
    after, report = applied(model, "lower/attention")
    assert (report.candidates, report.applied) == (1, 1)
    assert not nodes(after, "Attention") and not nodes(after, "Shape")
    assert distance(model, after, arrays(CAUSAL, kv_heads)) <= 1e-5


@pytest.mark.parametrize("heads", [1, H])
@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_a_float_mask_for_all_heads_or_for_each(heads: int, kv_heads: int) -> None:
    model = graph(mask=f"float[b, {heads}, s, t]", kv_heads=kv_heads)
    bias = RNG.standard_normal((B, heads, S, T), np.float32) + np.where(CAUSAL, 0, np.float32(-1e9))
    after, report = applied(model, "lower/attention")
    assert report.applied == 1
    assert distance(model, after, arrays(bias.astype(np.float32), kv_heads)) <= 1e-5


def test_a_bool_mask_for_each_head() -> None:
    model = graph(mask=f"bool[b, {H}, s, t]")
    mask = CAUSAL & (RNG.random((B, H, S, T)) < 0.7)
    mask[..., 0] = True
    after, _ = applied(model, "lower/attention")
    assert distance(model, after, arrays(mask)) <= 1e-5


def test_values_may_be_of_another_size() -> None:
    model = graph(value_size=16)
    after, _ = applied(model, "lower/attention")
    assert distance(model, after, arrays(CAUSAL, value_size=16)) <= 1e-5


def test_a_row_that_sees_nothing_stays_finite() -> None:
    """Padding at the front: nothing real stands before it, and its logits are never read."""
    model = graph()
    mask = CAUSAL.copy()
    mask[0, 0, 0] = False
    after, _ = applied(model, "lower/attention")
    given = arrays(mask)
    found, expected = run(after, given), run(model, given)
    assert np.isfinite(found["y"]).all()
    seen = mask.any(axis=(1, 3))
    assert np.abs(found["y"] - expected["y"])[seen].max() <= 1e-5


def test_every_layer_of_a_llama() -> None:
    of = config(attn_logit_softcapping=2.0, sliding_window=3)
    model = llama(of)
    after, report = applied(model, "lower/attention")
    assert (report.candidates, report.applied) == (2, 2)
    assert distance(model, after, feeds(of)) <= 1e-5
    assert distance(model, after, feeds(of, past=0)) <= 1e-5


@pytest.mark.parametrize("mask", [True, False])
@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_without_a_cache(mask: bool, kv_heads: int) -> None:
    """As in an encoder: keys and values are the new ones, and there is one output."""
    call = "(q, k, v, mask)" if mask else "(q, k, v)"
    model = parsed(f"""<ir_version: 10, opset_import: ["" : 24]>
      g (float[b, s, {H * D}] q, float[b, s, {kv_heads * D}] k, float[b, s, {kv_heads * V}] v, bool[b, 1, s, s] mask)
        => (float[b, s, {H * V}] y) {{ y = Attention <q_num_heads = {H}, kv_num_heads = {kv_heads}> {call} }}""")
    after, report = applied(model, "lower/attention")
    assert (report.applied, report.misses) == (1, ())
    seen = RNG.random((B, 1, S, S)) < 0.6
    seen[..., 0] = True
    assert distance(model, after, arrays(seen, kv_heads)) <= 1e-5


def test_a_cache_without_a_mask() -> None:
    model = graph(call="(q, k, v, , past_k, past_v)")
    after, report = applied(model, "lower/attention")
    assert report.applied == 1
    assert distance(model, after, arrays(CAUSAL)) <= 1e-5


NEAR_MISSES = {
    "query of four axes": (
        {"query": f"float[b, {H}, s, {D}]"},
        "only a query [B, S, H*D] is lowered, with a whole cache or none",
    ),
    "half a cache": (
        {"call": "(q, k, v, mask, past_k)"}, "only a query [B, S, H*D] is lowered, with a whole cache or none",
    ),
    "mask of two axes": ({"mask": "bool[s, t]"}, "only a mask of four axes and of known dtype is lowered"),
    "causal": (
        {"attributes": ", is_causal = 1"}, "is_causal, nonpad_kv_seqlen or used scores are not lowered",
    ),
    "heads of the mask": ({"mask": "bool[b, 2, s, t]"}, "the mask has 2 heads, the attention 4"),
}  # fmt: skip


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_a_near_miss_is_left_alone_with_the_reason(name: str) -> None:
    words, reason = NEAR_MISSES[name]
    after, report = applied(graph(**words), "lower/attention")
    miss = only_miss(report)
    assert (miss.kind, miss.reason) == ("unmatched", reason)
    assert [node.op_type for node in after.graph] == ["Attention"]

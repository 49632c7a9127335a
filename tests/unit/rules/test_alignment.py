"""The nearest miss: patterns agree wherever their rules fire, and name what was planted where they do not."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import onnx_ir as ir
import pytest

from tests.golden_ops import words
from tests.small import generic
from tests.unit.rules import (
    rope_tables,
    test_gelu,
    test_gqa,
    test_lower_norms,
    test_mha,
    test_pack_qkv,
    test_qk_norm,
    test_skip_rms_norm,
)
from tests.unit.rules.graphs import applied, each, llama, nodes, parsed, rule
from workbench.ep import execution_providers, get_ep
from workbench.models import SPECS, lookup
from workbench.optimize import run_plan
from workbench.recipe import PLAIN, Recipe
from workbench.rules import RULES, Refusal, Rule
from workbench.rules.alignment import Alignment, nearest
from workbench.rules.base import Rewrite, Site
from workbench.rules.plan import plan
from workbench.tasks import get_task
from workbench.types import OpId

Fired = list[tuple[str, Alignment]]


def spied(found: Rule, fired: Fired) -> Rule:
    """The same rule; whenever it rewrites, the alignment of what it saw is kept."""

    def rewrite(site: Site) -> Rewrite:
        seen = nearest(found.pattern, site.node)
        change = found.rewrite(site)
        fired.append((found.name, seen))
        return change

    return dataclasses.replace(found, rewrite=rewrite)


@functools.cache
def recipe(family: str) -> Recipe:
    spec = lookup(family)
    return Recipe(spec.module, spec.read(words(spec)), get_task(spec.task))


def fired_in(model: ir.Model, *names: str) -> Fired:
    """What the last of some rules saw where it fired."""
    before, _ = applied(model, *names[:-1]) if len(names) > 1 else (model.clone(), None)
    fired: Fired = []
    last = spied(rule(names[-1]), fired)
    for node in [n for n in before.graph if OpId(n.op_type, n.domain) in last.anchors and last.looks_at(n)]:
        if node.graph is not None:
            site = Site(node, before, ir.DataType.FLOAT, frozenset(use.feature for use in last.optional))
            try:
                last.rewrite(site)
            except Refusal:
                continue
    return fired


# --- where rules fire -----------------------------------------------------------------------------------
@pytest.mark.parametrize("name", execution_providers())
def test_patterns_agree_wherever_a_rule_fires(name: str) -> None:
    """All families for one provider, in its own dtype: a pattern that says too much shows here."""
    ep, fired = get_ep(name), Fired()
    rules = tuple(spied(found, fired) for found in RULES)
    for spec in SPECS:
        model = recipe(spec.model_type).generic(ep.default_dtype, PLAIN)[0]["model"]
        run_plan(model, plan(ep, ep.default_dtype, get_task(spec.task).roles["model"], rules), ep)
    assert [(who, str(seen)) for who, seen in fired if not seen.complete] == []
    assert {"fuse/gqa", "fuse/skip_layer_norm"} & {who for who, _ in fired} or not ep.ort_provider


SKIP_INPUTS = ", float[b, s, 8] skip"
FIRES: dict[str, tuple[Callable[[], ir.Model], tuple[str, ...]]] = {
    "fuse/gqa": (llama, ()),
    "fuse/pack_qkv": (llama, ("fuse/gqa",)),
    "fuse/qk_norm": (test_qk_norm.normed, ("fuse/gqa",)),
    "fuse/skip_rms_norm": (test_skip_rms_norm.graph, ()),
    "fuse/skip_layer_norm": (
        lambda: test_lower_norms.graph(
            f"sum = Add (x, skip) {test_lower_norms.LAYER.replace('(x,', '(sum,')}", 24, SKIP_INPUTS
        ), (),
    ),
    "fuse/gelu": (lambda: test_gelu.graph(test_gelu.TANH["half last"]), ()),
    "fuse/bias_gelu": (
        lambda: test_gelu.graph("a = Add (bias, x) y = Gelu (a)", constants=test_gelu.BIAS), (),
    ),
    "fuse/mha": (test_mha.bert, ()),
    "fuse/packed_attention": (test_mha.bert, ("fuse/mha",)),
    "fuse/moe": (lambda: generic("mixtral")[0], ()),
    "lower/gqa_to_standard": (llama, ("fuse/gqa",)),
    "lower/ms_to_standard": (test_mha.bert, ("fuse/mha",)),
    "lower/split_if": (lambda: llama(rope_tables.of(rope_tables.LONG)), ("fuse/gqa",)),
    "lower/one_rope_table": (
        lambda: llama(rope_tables.of(rope_tables.LONG)), ("fuse/gqa", "lower/split_if"),
    ),
    "lower/unpack_qkv": (llama, ("fuse/gqa", "fuse/pack_qkv")),
    "lower/separate_qk_norm": (test_qk_norm.normed, ("fuse/gqa", "fuse/qk_norm")),
    "lower/separate_rope": (llama, ("fuse/gqa",)),
    "lower/attention": (llama, ()),
    "lower/rotary_to_ms": (llama, ()),
    "lower/skip_norms": (llama, ("fuse/skip_rms_norm",)),
    "lower/simplify_rms_norm": (llama, ()),
    "lower/rms_norm": (llama, ()),
    "lower/layer_norm": (lambda: test_lower_norms.graph(test_lower_norms.LAYER), ()),
    "lower/gelu_to_ms": (lambda: test_gelu.graph("y = Gelu (x)"), ()),
    "lower/if_to_where": (lambda: llama(rope_tables.of(rope_tables.LONG)), ()),
    "lower/eliminate_shape": (llama, ()),
}  # fmt: skip


@pytest.mark.parametrize("name", [found.name for found in RULES])
def test_each_pattern_agrees_where_its_rule_fires(name: str) -> None:
    make, before = FIRES[name]
    fired = fired_in(make(), *before, name)
    assert fired, "the rule did not fire"
    assert [str(seen) for _, seen in fired if not seen.complete] == []
    assert all(len(seen.pairs) == len(rule(name).pattern.strip().splitlines()) for _, seen in fired)


@pytest.mark.parametrize("case", [*test_gelu.TANH.values(), *test_gelu.ERF.values()])
def test_every_spelling_of_gelu_agrees(case: str) -> None:
    ((_, seen),) = fired_in(test_gelu.graph(case), "fuse/gelu")
    assert seen.complete


def test_what_may_be_absent_is_said_to_be() -> None:
    fired = fired_in(llama(), "fuse/gqa", "fuse/pack_qkv")
    states = [pair.state for pair in fired[0][1].pairs]
    assert states == ["ok", "ok", "optional", "ok", "ok", "optional", "ok", "ok", "optional", "ok"]  # no bias
    absent = fired[0][1].pairs[2]
    assert absent.sentence == "Add may be absent, and is"
    assert absent.graph.startswith("MatMul 'model/layers.0/self_attn/q_proj/MatMul")


# --- planted misses -------------------------------------------------------------------------------------
def at(model: ir.Model, op_type: str, name: str) -> Alignment:
    return nearest(rule(name).pattern, nodes(model, op_type)[0])


def mismatch(found: Alignment) -> tuple[str, str]:
    """The operator or name on the pattern's side, and the sentence of the only mismatch."""
    (pair,) = found.mismatches
    return pair.pattern.split(" =")[0].removeprefix("? "), pair.sentence


GQA_MISSES = {
    "float bias": ("mask", "pattern wants ep_workbench.CausalMask or ep_workbench.SlidingWindowMask, "
                   "graph has the graph input 'bias'"),
    "given mask": ("mask", "pattern wants ep_workbench.CausalMask or ep_workbench.SlidingWindowMask, "
                   "graph has the graph input 'given'"),
    "negated mask": ("mask", "pattern wants ep_workbench.CausalMask or ep_workbench.SlidingWindowMask, graph has Not "),
    "no mask": ("mask", "pattern wants ep_workbench.CausalMask or ep_workbench.SlidingWindowMask, "
                "the graph has no input 3 there"),
    "no cache": ("out", "pattern wants past_key as input 4, the graph has none; "
                 "pattern wants past_value as input 5, the graph has none"),
    "scores are read": None,
    "causal twice": None,
    "softmax in float16": None,
}  # fmt: skip


@pytest.mark.parametrize("name", test_gqa.NEAR_MISSES)
def test_a_near_miss_of_gqa(name: str) -> None:
    """Structural ones show their place; of the others, which a pattern cannot say, everything agrees."""
    found = at(each(llama(), "Attention", test_gqa.NEAR_MISSES[name][0]), "Attention", "fuse/gqa")
    expected = GQA_MISSES[name]
    if expected is None:
        assert found.complete
        return
    line, sentence = mismatch(found)
    assert line == expected[0] and sentence.startswith(expected[1])


PACK_MISSES = {
    "other input": ("key_product", "pattern wants x again ("),
    "something between": ("query_product", "pattern wants MatMul, graph has Neg "),
    "another reader": None,
    "turned to itself": None,
    "computed weight": ("query_weight", "pattern wants a constant query_stored, graph has Neg "),
    "one bias": None,
}


@pytest.mark.parametrize("name", test_pack_qkv.NEAR_MISSES)
def test_a_near_miss_of_pack_qkv(name: str) -> None:
    model = llama()
    test_pack_qkv.NEAR_MISSES[name][0](model)
    found = at(applied(model, "fuse/gqa")[0], "GroupQueryAttention", "fuse/pack_qkv")
    expected = PACK_MISSES[name]
    if expected is None:
        assert found.complete
        return
    wrong = [(pair.pattern.split(" =")[0].removeprefix("? "), pair.sentence) for pair in found.mismatches]
    assert wrong[0][0] == expected[0] and wrong[0][1].startswith(expected[1])


def test_what_lies_above_a_mismatch_is_not_reached() -> None:
    model = llama()
    test_pack_qkv.NEAR_MISSES["something between"][0](model)
    found = at(applied(model, "fuse/gqa")[0], "GroupQueryAttention", "fuse/pack_qkv")
    assert [pair.state for pair in found.pairs][:3] == ["unreached", "mismatch", "optional"]
    assert not found.complete


def test_a_sum_that_is_a_product() -> None:
    found = at(test_skip_rms_norm.graph(f"sum = Mul (x, skip) {test_skip_rms_norm.NORM}"), "RMSNormalization",
               "fuse/skip_rms_norm")  # fmt: skip
    assert mismatch(found) == ("sum", "pattern wants Add, graph has an unnamed Mul, which makes 'sum'")


@pytest.mark.parametrize("name", test_skip_rms_norm.NEAR_MISSES)
def test_shapes_and_dtypes_are_no_business_of_a_pattern(name: str) -> None:
    model = test_skip_rms_norm.graph(**test_skip_rms_norm.NEAR_MISSES[name][0])
    assert at(model, "RMSNormalization", "fuse/skip_rms_norm").complete


def test_a_bias_that_is_computed() -> None:
    found = at(test_gelu.graph("a = Add (x, x) y = Gelu (a)"), "Gelu", "fuse/bias_gelu")
    assert mismatch(found) == ("biased", "pattern wants a constant bias, graph has the graph input 'x'")


def test_inputs_in_any_order() -> None:
    for body in ("a = Add (x, bias) y = Gelu (a)", "a = Add (bias, x) y = Gelu (a)"):
        assert at(test_gelu.graph(body, constants=test_gelu.BIAS), "Gelu", "fuse/bias_gelu").complete


ONE_LINE = {
    "lower/rotary_to_ms": (
        "y = RotaryEmbedding (x, scale, bias)", "RotaryEmbedding",
        "pattern wants positions as input 3, the graph has none",
    ),
    "lower/separate_rope": (
        "y = com.microsoft.GroupQueryAttention (x, , , , , scale, bias, scale, bias)", "GroupQueryAttention",
        "pattern wants key as input 1, the graph has none; pattern wants value as input 2, the graph has none",
    ),
    "lower/unpack_qkv": (
        "y = com.microsoft.GroupQueryAttention (x, bias, scale)", "GroupQueryAttention",
        "pattern wants nothing as input 1, graph has the graph input 'bias'; "
        "pattern wants nothing as input 2, graph has the graph input 'scale'",
    ),
    "lower/if_to_where": (
        "y = Identity (x)", "Identity", "pattern wants If or ep_workbench.LongRopeTable, graph has an",
    ),
    "lower/skip_norms": (
        "y = com.microsoft.SkipLayerNormalization (x, scale)", "SkipLayerNormalization",
        "pattern wants scale as input 2, the graph has none",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE_LINE)
def test_an_input_too_few_or_too_many(name: str) -> None:
    body, op_type, sentence = ONE_LINE[name]
    line, said = mismatch(at(test_lower_norms.graph(body), op_type, name))
    assert line == "out" and said.startswith(sentence)


def test_without_a_pattern_there_is_nothing_to_align() -> None:
    found = nearest("", nodes(llama(), "Attention")[0])
    assert (found.pairs, found.complete, repr(found)) == ((), False, "Alignment(no pattern)")


def test_texts() -> None:
    found = at(parsed('<ir_version: 10, opset_import: ["" : 20]> g (float[8] x) => (float[8] y) { y = Gelu (x) }'),
               "Gelu", "fuse/bias_gelu")  # fmt: skip
    assert repr(found) == "Alignment(1 of 2 lines agree)"
    assert str(found) == (
        "≠ biased = Add{x, bias!}   pattern wants Add, graph has the graph input 'x'\n"
        "= out = Gelu(biased)   y = Gelu(x)"
    )


# --- where a refusal points -----------------------------------------------------------------------------
POINTS = {
    "float bias": "bias", "given mask": "given", "no mask": "", "no cache": "", "causal twice": "",
    "scores are read": ":scores",
}  # fmt: skip


@pytest.mark.parametrize("name", POINTS)
def test_a_miss_of_gqa_says_where(name: str) -> None:
    _, report = applied(each(llama(), "Attention", test_gqa.NEAR_MISSES[name][0]), "fuse/gqa")
    assert report.misses[0].at.endswith(POINTS[name])
    assert bool(report.misses[0].at) == bool(POINTS[name])


def test_a_miss_of_packing_says_where() -> None:
    model = llama()
    test_pack_qkv.NEAR_MISSES["something between"][0](model)
    for node in nodes(model, "Neg"):
        node.name = f"between/{node.inputs[0].name}"
    _, report = applied(model, "fuse/gqa", "fuse/pack_qkv")
    assert report.misses[0].at.startswith("between/")


def test_a_taken_sum_says_by_whom() -> None:
    second = "z = RMSNormalization <axis = -1> (sum, scale)"
    model = test_skip_rms_norm.graph(f"sum = Add (x, skip) {test_skip_rms_norm.NORM} {second}",
                                     outputs=", float[b, s, 8] z")  # fmt: skip
    for number, node in enumerate(model.graph):
        node.name = f"n{number}"
    after, report = applied(model, "fuse/skip_rms_norm")
    (taken,) = nodes(after, "SkipSimplifiedLayerNormalization")
    assert report.misses[0].at == taken.name == "n1/skip_rms_norm/0_SkipSimplifiedLayerNormalization"

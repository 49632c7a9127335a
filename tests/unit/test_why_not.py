"""why_not: for a rule that is not planned, has no candidates, missed, fired, or raised; on graphs of any origin."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import onnx_ir as ir
import pytest

from tests.unit.rules import test_gqa
from tests.unit.rules.graphs import config, each, llama, parsed
from tests.unit.rules.graphs import rule as built_in
from workbench import build, optimize, why_not
from workbench.analysis.why_not import COLUMNS, WhyNot
from workbench.errors import ArgumentError, ModelFileError, UnknownNameError, UnsupportedError
from workbench.rules import RULES, Refusal, Rewrite, Site

NEGATED = test_gqa.NEAR_MISSES["negated mask"][0]
FOREIGN = """<ir_version: 10, opset_import: ["" : 20, "com.microsoft" : 1]>
  g (float[2, 8] x, float[8] b) => (float[2, 8] y, float[2, 8] a) {
    s = Add (x, b) a = com.microsoft.Attention (x, s, b) q = Sqrt (s) t = Tanh (s) y = Mul (t, q) }"""


def negated() -> ir.Model:
    return each(llama(), "Attention", NEGATED)


# --- not planned --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "provider", "dtype", "said"),
    [
        ("fuse/gqa", "cuda", "float32", "com.microsoft.GroupQueryAttention has kernels in bfloat16, float16 (recorded"),
        ("fuse/skip_rms_norm", "trt-rtx", "float16", "SkipSimplifiedLayerNormalization must not remain in its graphs"),
        ("fuse/gqa", "onnx-standard", None, "operators of domain 'com.microsoft' have no place in its graphs"),
        ("lower/rms_norm", "cpu", None, "RMSNormalization has kernels in float16, float32 (measured"),
    ],
)
def test_a_rule_that_is_not_planned_says_which_fact(name: str, provider: str, dtype: str | None, said: str) -> None:
    found = why_not(llama(), name, execution_provider=provider, dtype=dtype)
    assert found.verdict == "not planned" and found.sentence.startswith("not planned: ")
    assert any(said in fact for fact in found.facts), found.facts
    assert all(fact.startswith(f"{provider}: ") for fact in found.facts)


def test_the_role_is_a_reason_too() -> None:
    found = why_not(llama(), "fuse/gqa", execution_provider="cpu", role="encoder")
    assert (found.verdict, found.sentence) == ("not planned", "not planned: not for graphs of the role encoder")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_that_no_plan_has_names_a_fact_or_a_role(rule: object) -> None:
    for provider in ("cpu", "cuda", "dml", "webgpu", "trt-rtx", "onnx-standard", "default"):
        found = why_not(llama(), rule, execution_provider=provider)
        if found.verdict == "not planned":
            assert found.facts or "follows" in found.sentence or "of the role" in found.sentence, found


# --- no candidates ------------------------------------------------------------------------------------------
def test_no_anchor_at_all() -> None:
    found = why_not(parsed(FOREIGN), "fuse/gqa", execution_provider="cpu")
    assert found.verdict == "no candidates"
    assert found.sentence.startswith("no candidates: it starts from Attention or ")
    anchor = found.anchors[0]
    assert (anchor.op, anchor.nodes, anchor.candidates) == ("Attention", 0, 0)
    assert anchor.namesakes == (("com.microsoft.Attention", 1),)
    assert "com.microsoft.Attention: 1 node, of another domain" in str(found)


def test_anchors_that_the_rule_does_not_look_at() -> None:
    found = why_not(llama(), "fuse/skip_rms_norm", "model.layers.0.input_layernorm", execution_provider="cpu")
    assert (found.verdict, found.anchors[0].nodes, found.anchors[0].candidates) == ("no candidates", 1, 0)
    assert "1 x RMSNormalization in 'model.layers.0.input_layernorm'" in found.sentence


def test_what_is_there_already() -> None:
    fused = optimize(llama(), execution_provider="cpu").model
    found = why_not(fused, "fuse/gqa", execution_provider="cpu")
    assert found.verdict == "no candidates" and found.there == (("com.microsoft.GroupQueryAttention", 2),)
    assert "com.microsoft.GroupQueryAttention is there already, 2 times" in found.sentence


INNER = """<ir_version: 10, opset_import: ["" : 20]> g (bool c, float[8] x) => (float[8] y) {
    y = If (c) <then_branch = a () => (float[8] p) { p = Erf (x) }, else_branch = b () => (float[8] q) { q = Erf (x) }>
}"""


def test_branches_are_counted_apart() -> None:
    found = why_not(parsed(INNER), "fuse/gelu", execution_provider="cpu")
    assert (found.anchors[0].op, found.anchors[0].nodes, found.anchors[0].inner) == ("Erf", 0, 2)
    assert "2 more inside of branches and bodies, where no rule looks" in str(found)


# --- missed and fired ---------------------------------------------------------------------------------------
def test_every_condition_that_failed_pattern_against_graph() -> None:
    found = why_not(negated(), "fuse/gqa", execution_provider="cpu")
    assert found.verdict == "missed" and len(found.near) == 2
    assert found.sentence.startswith("it left 2 of 2 candidates alone: 2 x unmatched: attn_mask is made by Not")
    own, line = found.conditions[:2]
    assert (own.pattern, own.kind, own.at != "") == ("", "unmatched", True)
    assert line.pattern.startswith("mask = ep_workbench.CausalMask | ") and " = Not(" in line.graph
    assert line.sentence.startswith("pattern wants ep_workbench.CausalMask or ") and line.at == own.at
    assert {near.moment for near in found.near} == {"when the rule looked"}
    assert list(found.to_frame().columns) == COLUMNS and len(found.to_frame()) == 4


def test_one_layer_of_two() -> None:
    model = llama()
    NEGATED([node for node in model.graph if node.op_type == "Attention"][1])
    whole = why_not(model, "fuse/gqa", execution_provider="cpu")
    assert (whole.verdict, len(whole.fired), len(whole.near)) == ("partly missed", 1, 1)
    first = why_not(model, "fuse/gqa", "model.layers.0", execution_provider="cpu")
    assert (first.verdict, first.sentence) == ("fired", "it fired at 1 of 1 candidates")
    second = why_not(model, "fuse/gqa", whole.near[0].node, execution_provider="cpu")
    assert (second.verdict, [near.node for near in second.near]) == ("missed", [whole.near[0].node])
    with pytest.raises(UnknownNameError, match="Did you mean 'model.layers"):
        why_not(model, "fuse/gqa", "model.layer", execution_provider="cpu")
    norm = why_not(model, "fuse/gqa", "model.norm", execution_provider="cpu")
    assert (norm.verdict, "has none in 'model.norm'" in norm.sentence) == ("no candidates", True)


def test_a_part_that_was_left_outside() -> None:
    found = why_not(llama(config(head_dim=24)), "fuse/gqa", execution_provider="cpu")
    assert (found.verdict, len(found.partial)) == ("fired", 2) and "2 of them in part" in found.sentence
    assert {c.kind for c in found.conditions} == {"partial"}


def test_it_agrees_with_the_report_of_a_whole_run() -> None:
    """A later rule's candidates are those that earlier rules of the plan have left."""
    for rule in RULES:
        report = optimize(negated(), execution_provider="webgpu").report
        rows = {r.rule: r for r in report.rules}
        found = why_not(negated(), rule, execution_provider="webgpu")
        if rule.name not in rows:
            assert found.verdict == "not planned"
            continue
        row = rows[rule.name]
        assert (len(found.fired), len(found.near)) == (row.applied, len(row.misses))
        assert [near.reason for near in found.near] == [miss.reason for miss in row.misses]


def test_a_foreign_graph_without_names() -> None:
    found = why_not(parsed(FOREIGN), "fuse/gelu", execution_provider="cpu")
    assert found.verdict in ("missed", "no candidates") and "Tanh" in str(found)


# --- other things -------------------------------------------------------------------------------------------
def _bug(site: Site) -> Rewrite:
    raise RuntimeError("a bug")


def test_a_rule_that_raises() -> None:
    broken = dataclasses.replace(built_in("fuse/gqa"), name="fuse/mine", rewrite=_bug)
    found = why_not(llama(), broken, execution_provider="cpu", rules=(broken, *RULES))
    assert found.verdict == "raised" and found.sentence.startswith("fuse/mine raised RuntimeError: a bug")


def test_a_rule_of_ones_own() -> None:
    def never(site: Site) -> Rewrite:
        raise Refusal("never")

    mine = dataclasses.replace(built_in("fuse/skip_rms_norm"), name="fuse/never", rewrite=never, pattern="")
    found = why_not(llama(), mine, execution_provider="cpu")
    assert found.verdict in ("missed", "no candidates")  # the built-in one came first
    alone = why_not(llama(), mine, execution_provider="cpu", rules=(mine,))
    assert alone.verdict == "missed" and {c.sentence for c in alone.conditions} == {"never"}


def test_packages_and_files(tmp_path: Path) -> None:
    """Of a package in memory the generic graph is asked; a file holds what was made."""
    package = build({**_hf(), "num_hidden_layers": 1}, execution_provider="cpu", load_weights=False)
    assert why_not(package, "fuse/gqa", execution_provider="cpu").verdict == "fired"
    ir.save(negated(), tmp_path / "m.onnx")
    assert why_not(tmp_path / "m.onnx", "fuse/gqa", execution_provider="cpu").verdict == "missed"


def _hf() -> dict[str, object]:
    from tests.unit.error_rows import HF

    return HF


def test_the_graph_is_left_as_it_was_and_answers_are_the_same() -> None:
    model = negated()
    before = ir.to_proto(model).SerializeToString(deterministic=True)
    one, two = (why_not(model, "fuse/gqa", execution_provider="cpu") for _ in range(2))
    assert ir.to_proto(model).SerializeToString(deterministic=True) == before
    assert one == two and str(one) == str(two) and isinstance(one, WhyNot)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.rule = "x"


def test_text_of_a_graph_is_escaped() -> None:
    model = negated()
    for node in model.graph:
        node.name = f"<script>{node.name}"
    html = why_not(model, "fuse/gqa", execution_provider="cpu")._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html


@pytest.mark.parametrize(
    ("act", "kind", "said"),
    [
        (lambda m: why_not(m, "fuse/gqaa", execution_provider="cpu"), UnknownNameError, "Did you mean 'fuse/gqa'?"),
        (
            lambda m: why_not(m, "fuse/gqa", "model.layers.77", execution_provider="cpu"),
            UnknownNameError, "Unknown node, value or module 'model.layers.77'. Did you mean 'model.layers.",
        ),
        (lambda m: why_not(m, "fuse/gqa", 3, execution_provider="cpu"), ArgumentError, "scope must be the name of"),
        (lambda m: why_not(m, 3, execution_provider="cpu"), ArgumentError, "the name of a rule, as 'fuse/gqa'"),
        (lambda m: why_not(m, "fuse/gqa", execution_provider="cpuu"), UnknownNameError, "Did you mean 'cpu'?"),
        (lambda m: why_not(m, "fuse/gqa", execution_provider="cpu", role="x"), UnknownNameError, "Unknown role 'x'"),
        (
            lambda m: why_not(m, "fuse/gqa", execution_provider="cpu", dtype="bfloat16"),
            UnsupportedError, "it has no MatMul for it",
        ),
        (lambda m: why_not("nowhere.onnx", "fuse/gqa", execution_provider="cpu"), ModelFileError, "no such file"),
    ],
)  # fmt: skip
def test_bad_questions(act: object, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said.replace("?", r"\?")):
        act(llama())

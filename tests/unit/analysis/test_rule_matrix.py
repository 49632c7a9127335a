"""The rule matrix: every number counted again pairwise from the graphs, and layers folded only where they are alike."""

from __future__ import annotations

from collections import Counter
from typing import Any

import onnx_ir as ir
import pytest
from onnx import parser

from tests.cases import CASES
from workbench.analysis.rule_counts import rule_matrix
from workbench.analysis.rule_matrix import FOLD, INLINE, Mark, RuleMatrix
from workbench.build import build_from_module
from workbench.compare import Comparison, compare
from workbench.components.decoder import CausalLM, Decoder, DecoderLayer
from workbench.config.model_config import ModelConfig
from workbench.types import REPLACES_KEY, RULES_KEY, SCOPE_KEY

PROVIDERS = ("cpu", "cuda", "dml", "webgpu", "trt-rtx", "onnx-standard")
HF = {**CASES["gqa"].hf, "num_hidden_layers": 4}
WINDOWS = {
    "model_type": "gemma2", "vocab_size": 96, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 6,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 128,
    "sliding_window": 8, "query_pre_attn_scalar": 16, "rms_norm_eps": 1e-6,
    "hidden_activation": "gelu_pytorch_tanh", "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0,
}  # fmt: skip


@pytest.fixture(scope="module")
def made() -> Comparison:
    return compare(HF, execution_providers=PROVIDERS, load_weights=False)


@pytest.fixture(scope="module")
def matrix(made: Comparison) -> RuleMatrix:
    return made.matrix()


def layer_of(node: ir.Node) -> str:
    """``layers.N`` or something else, by plain text."""
    parts = node.metadata_props.get(SCOPE_KEY, "").split(".")
    return ".".join(parts[1:3]) if parts[:2] == ["model", "layers"] else "elsewhere"


def expanded(matrix: RuleMatrix, name: str) -> dict[str, Any]:
    """Cells by layer, with runs of layers written out, and everything else together."""
    found: dict[str, Any] = {}
    for place in matrix.places:
        for layer in place.layers:
            found[f"layers.{layer}"] = matrix.cell(name, place.name)
    return found


@pytest.mark.parametrize("name", PROVIDERS)
def test_made_nodes_are_those_that_carry_the_rule(made: Comparison, matrix: RuleMatrix, name: str) -> None:
    counted = Counter(
        (layer_of(node), node.metadata_props[RULES_KEY])
        for node in made[name].model.graph
        if RULES_KEY in node.metadata_props
    )
    cells = expanded(matrix, name)
    assert set(cells) == {f"layers.{i}" for i in range(4)}
    for layer, cell in cells.items():
        expected = {rule: n for (where, rule), n in counted.items() if where == layer}
        assert {m.rule: m.made for m in cell.marks if m.rule not in (FOLD, INLINE)} == expected
    for rule in {rule for _, rule in counted}:
        assert matrix.count(name, rule)[0] == sum(n for (_, r), n in counted.items() if r == rule)


@pytest.mark.parametrize("name", PROVIDERS)
def test_replaced_nodes_are_those_that_are_named(made: Comparison, matrix: RuleMatrix, name: str) -> None:
    generic = {node.name: node for node in made[name].generic["model"].graph}
    for layer, cell in expanded(matrix, name).items():
        named: dict[str, set[str]] = {}
        for node in made[name].model.graph:
            if layer_of(node) == layer and RULES_KEY in node.metadata_props:
                names = set(node.metadata_props[REPLACES_KEY].split()) & set(generic)
                inside = {n for n in names if layer_of(generic[n]) != "elsewhere"}
                named.setdefault(node.metadata_props[RULES_KEY], set()).update(inside)
        found = {m.rule: m.replaced for m in cell.marks if m.rule not in (FOLD, INLINE)}
        assert found == {rule: len(names) for rule, names in named.items()}


@pytest.mark.parametrize("name", PROVIDERS)
def test_every_node_is_accounted_for(made: Comparison, matrix: RuleMatrix, name: str) -> None:
    """Generic nodes are kept, replaced or gone; nodes of the graph are kept or made."""
    before, after = made[name].generic["model"].graph, made[name].model.graph
    times = {place.name: max(1, len(place.layers)) for place in matrix.places}
    cells = [matrix.cell(name, place.name) for place in matrix.places]
    assert sum(times[c.place] * c.generic_nodes for c in cells) == len(before)
    assert sum(times[c.place] * c.nodes for c in cells) == len(after)
    old = {(node.name, node.op_type) for node in before}
    kept = {(n.name, n.op_type) for n in after if RULES_KEY not in n.metadata_props} & old
    assert sum(times[c.place] * c.kept for c in cells) == len(kept)
    named = {part for n in after for part in (n.metadata_props.get(REPLACES_KEY) or "").split()}
    rest = [n for n in before if (n.name, n.op_type) not in kept and n.name not in named]
    assert matrix.count(name, FOLD)[1] + matrix.count(name, INLINE)[1] == len(rest)


def test_layers_that_went_alike_fold(matrix: RuleMatrix) -> None:
    assert [place.name for place in matrix.places] == [
        "embed", "layers.0", "layers.1-3", "norm", "lm_head", "outside",
    ]  # fmt: skip
    run = matrix.place("layers.1-3")
    assert (run.scope, run.stack, run.layers) == ("model.layers.1", "model.layers", (1, 2, 3))
    assert matrix.sentences("cuda", "layers.1-3")[:1] == (
        "fuse/skip_rms_norm made 2 nodes (SkipSimplifiedLayerNormalization 2) from 4 (Add 2, RMSNormalization 2), "
        "in each of layers 1-3",
    )


def test_every_layer_of_a_run_is_like_its_first(made: Comparison) -> None:
    """The folded matrix says the same as one in which every layer stands alone."""
    matrix = made.matrix()
    for name in PROVIDERS:
        nodes = Counter(layer_of(node) for node in made[name].model.graph)
        assert {layer: cell.nodes for layer, cell in expanded(matrix, name).items()} == {
            f"layers.{i}": nodes[f"layers.{i}"] for i in range(4)
        }


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("onnx-standard", ["layers.0,2,4", "layers.1,3,5"]),  # nothing is fused: the two windows alone
        ("cpu", ["layers.0", "layers.1,3,5", "layers.2,4"]),  # layer 0 has no sum before its first norm
        ("webgpu", ["layers.0", "layers.1", "layers.2,4", "layers.3,5"]),  # layer 1 makes what 3 and 5 use as well
    ],
)
def test_windows_that_alternate_show_as_two_runs(provider: str, expected: list[str]) -> None:
    """Gemma 2 has a window in every other layer."""
    matrix = compare(WINDOWS, execution_providers=[provider], load_weights=False).matrix()
    assert layers(matrix) == expected


def layers(matrix: RuleMatrix) -> list[str]:
    """Names of the runs of layers."""
    return [place.name for place in matrix.places if place.layers]


class TwiceNegated(DecoderLayer):
    """In layer 2 the result is negated twice."""

    def __init__(self, config: ModelConfig, layer: int, dtype: ir.DataType) -> None:
        super().__init__(config, layer, dtype)
        self.number = layer

    def forward(self, op: Any, hidden: ir.Value, *rest: Any) -> Any:
        result = super().forward(op, hidden, *rest)
        if self.number != 2:
            return result
        first, *others = result if isinstance(result, tuple) else (result,)
        changed = op.Neg(op.Neg(first))
        changed.dtype, changed.shape = first.dtype, first.shape
        return (changed, *others) if others else changed


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("onnx-standard", ["layers.0-1,3", "layers.2"]),
        # The norm of layer 3 follows no sum and is not fused: that layer differs too.
        ("cpu", ["layers.0", "layers.1", "layers.2", "layers.3"]),
    ],
)
def test_one_layer_that_differs_stands_alone(provider: str, expected: list[str]) -> None:
    decoder = type("OddDecoder", (Decoder,), {"layer_class": TwiceNegated})
    odd = type("OddLlama", (CausalLM,), {"decoder_class": decoder})
    config = compare(HF, execution_providers=["cpu"], load_weights=False)["cpu"].config
    assert isinstance(config, ModelConfig)
    package = build_from_module(odd, config, execution_provider=provider)
    matrix = rule_matrix({provider: (package.generic["model"], package.model)})
    assert layers(matrix) == expected


# --- graphs by hand ---------------------------------------------------------------------------------------------------
def graph(*lines: tuple[str, str, str, str]) -> ir.Model:
    """A chain of Relus: (name, scope, rules, replaces)."""
    body = "\n".join(f"x{i + 1} = Relu (x{i})" for i in range(len(lines))) or "x1 = Relu (x0)"
    text = (
        f'<ir_version: 10, opset_import: ["": 20]>\ng (float[N] x0) => (float[N] x{max(1, len(lines))}) {{\n{body}\n}}'
    )
    model = ir.from_proto(parser.parse_model(text))
    if not lines:
        model.graph.remove(list(model.graph))
    for node, (name, scope, rules, replaces) in zip(list(model.graph), lines, strict=bool(lines)):
        node.name = name
        pairs = {SCOPE_KEY: scope, RULES_KEY: rules, REPLACES_KEY: replaces}
        node.metadata_props.update({key: value for key, value in pairs.items() if value})
    return model


def names(matrix: RuleMatrix) -> list[str]:
    return [place.name for place in matrix.places]


def test_two_stacks_are_told_apart() -> None:
    lines = [(f"{stack}{i}", f"{stack}.{i}.mlp", "", "") for stack in ("vision.blocks", "model.layers") for i in (0, 1)]
    model = graph(*lines, ("head", "lm_head", "", ""))
    matrix = rule_matrix({"x": (model, model)})
    assert names(matrix) == ["vision.blocks.0-1", "model.layers.0-1", "lm_head"]
    assert matrix.place("vision.blocks.0-1").where == "in each of vision.blocks 0-1"


def test_one_layer() -> None:
    model = graph(("a", "model.layers.0.mlp", "", ""))
    matrix = rule_matrix({"x": (model, model)})
    assert names(matrix) == ["layers.0"]
    assert matrix.places[0].where == "in layers.0"


def test_no_layers_and_no_scopes() -> None:
    with_parts = graph(("a", "model.embed_tokens", "", ""), ("b", "model.norm", "", ""))
    assert names(rule_matrix({"x": (with_parts, with_parts)})) == ["embed", "norm"]
    bare = graph(("a", "", "", ""))
    matrix = rule_matrix({"x": (bare, bare)})
    assert names(matrix) == ["outside"]
    assert repr(matrix) == "RuleMatrix(1 execution provider, 1 place; made<-replaced per layer)\n  no node changed"


def test_experts_count_with_their_layer() -> None:
    model = graph(*((f"e{i}", f"model.layers.0.mlp.experts.{i}", "", "") for i in range(5)))
    cell = rule_matrix({"x": (model, model)}).cell("x", "layers.0")
    assert (cell.generic_nodes, cell.nodes, cell.kept) == (5, 5, 5)


def test_nothing_at_all() -> None:
    assert rule_matrix({}) == RuleMatrix((), (), ())
    assert "No execution provider" in rule_matrix({})._repr_html_()
    empty = graph()
    assert names(rule_matrix({"x": (empty, empty)})) == []


def test_what_layers_share_counts_where_it_stood() -> None:
    before = graph(("mask", "model", "", ""), *((f"a{i}", f"model.layers.{i}", "", "") for i in range(3)))
    rule = "fuse/x"
    after = graph(*((f"f{i}", f"model.layers.{i}", rule, f"a{i}" + (" mask" if i == 2 else "")) for i in range(3)))
    matrix = rule_matrix({"x": (before, after)})
    assert names(matrix) == ["layers.0-2", "outside"]
    assert matrix.cell("x", "outside").marks == (Mark(rule, 0, 1, (), (("Relu", 1),)),)
    assert matrix.sentences("x", "outside") == (
        "fuse/x took away 1 node (Relu) that layers shared, outside of any part",
    )
    assert matrix.count("x", rule) == (3, 4)


def test_nodes_that_vanish_are_gone() -> None:
    before, after = graph(("a", "model.norm", "", ""), ("b", "model.norm", "", "")), graph(("a", "model.norm", "", ""))
    matrix = rule_matrix({"x": (before, after)})
    assert matrix.cell("x", "norm").marks == (Mark(FOLD, 0, 1, (), (("Relu", 1),)),)


# --- faces ------------------------------------------------------------------------------------------------------------
def test_letters_are_its_own_for_each_rule() -> None:
    rules = [f"fuse/rule_{i}" for i in range(30)] + ["fuse/gqa", "fuse/gqa fuse/pack_qkv", "lower/gqa"]
    after = graph(*((f"n{i}", "norm", rule, "") for i, rule in enumerate(rules)))
    letters = rule_matrix({"x": (graph(("a", "norm", "", "")), after)}).letters()
    assert len(set(letters.values())) == len(letters) == len(rules) + 1
    assert letters["fold"] == "−"


def test_faces(matrix: RuleMatrix) -> None:
    bundle = matrix._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "image/svg+xml"}
    assert "cuda layers.1-3: 24 -> 11 nodes; fuse/skip_rms_norm 2<-4" in bundle["text/plain"]
    frame = matrix.to_frame()
    row = frame[(frame.execution_provider == "cuda") & (frame.place == "layers.1-3") & (frame.rule == "fold")]
    assert row.replaced.tolist() == [4] and row.layer.tolist() == ["1-3"]
    assert "layers.1-3 (x3)" in matrix._repr_html_()
    assert matrix == matrix and repr(matrix) == repr(matrix)

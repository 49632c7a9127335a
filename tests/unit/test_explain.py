"""explain: the story of a node through every stage, from a recording and from what a file keeps."""

from __future__ import annotations

from pathlib import Path

import onnx_ir as ir
import pytest

from tests.unit.error_rows import HF
from tests.unit.rules import test_gqa
from tests.unit.rules.graphs import config, each, llama, nodes, parsed
from workbench import build, explain, load, optimize
from workbench.analysis.story import COLUMNS
from workbench.ep import execution_providers
from workbench.errors import ArgumentError, UnknownNameError
from workbench.types import REPLACES_KEY, RULES_KEY

FOREIGN = """<ir_version: 10, opset_import: ["" : 20]> g (float[8] x) => (float[8] y) {
    dead = Neg (x) a = Identity (x) b = Relu (a) c = Relu (a) y = Add (b, c) }"""


def attention(layer: int = 1) -> str:
    return nodes(llama(), "Attention")[layer].name or ""


def test_cleanup_fusion_and_folding() -> None:
    story = explain(llama(), attention(), execution_provider="cpu")
    assert [c.stage for c in story.chapters] == ["given", "fuse", "fuse", "fuse", "fold", "saved", "saved"]
    assert story.rules == ("fuse/gqa", "fuse/pack_qkv", "fuse/repeated", "fold/weights")
    assert [name.rsplit("_", 1)[1] for name in story.now] == ["MatMul", "GroupQueryAttention"]
    gqa = story.chapters[1]
    assert (gqa.before, gqa.file, gqa.line > 10) == ((attention(),), "workbench/rules/fuse/gqa.py", True)
    assert "com.microsoft.GroupQueryAttention" in gqa.sentence and gqa.index > 0


def test_lowering() -> None:
    norm = nodes(llama(), "RMSNormalization")[0].name or ""
    story = explain(llama(), norm, execution_provider="trt-rtx", dtype="float32")
    assert "lower/rms_norm" in story.rules and {c.stage for c in story.chapters} >= {"given", "lower", "saved"}
    made = optimize(llama(), execution_provider="trt-rtx", dtype="float32").model
    assert set(story.now) == {n.name for n in made.graph if norm in n.metadata_props.get(REPLACES_KEY, "").split()}


def test_from_the_end_backwards() -> None:
    """A node of the provider's graph: all that it came from is told, and nothing of its siblings."""
    end = explain(llama(), attention(), execution_provider="cpu").now[1]
    story = explain(llama(), end, execution_provider="cpu")
    assert story.now == (end,) and attention() in story.chapters[0].before
    assert story.rules[:2] == ("fuse/gqa", "fuse/pack_qkv")
    assert attention(0) not in {name for c in story.chapters for name in (*c.before, *c.after)}


def test_each_cleanup_says_what_became_of_the_readers() -> None:
    said = {}
    for value in ("dead", "a", "c", "b"):
        story = explain(parsed(FOREIGN), value, execution_provider="cpu")
        said[value] = [c.sentence for c in story.chapters[1:]]
    assert said["dead"][0].startswith("cleanup/unused: ") and said["dead"][0].endswith("(Neg) went, nobody reads it")
    assert any("cleanup/identities" in text and "went, its readers read x" in text for text in said["a"])
    assert any("cleanup/repeated" in text and "went, its readers read b" in text for text in said["c"])
    assert any("reads 'x' instead of 'a'" in text for text in said["b"])
    assert any("is called 'Relu_1' from now on" in text for text in said["b"])
    assert explain(parsed(FOREIGN), "dead", execution_provider="cpu").now == ()


def test_a_body_that_was_inlined() -> None:
    mask = nodes(llama(), "CausalMask")[0].name or ""
    story = explain(llama(), mask, execution_provider="onnx-standard")
    assert "its body stands in its place; 21 nodes of a body came" in story.chapters[1].sentence
    assert len(story.now) == 21


def test_a_miss_is_a_chapter() -> None:
    model = each(llama(), "Attention", test_gqa.NEAR_MISSES["negated mask"][0])
    story = explain(model, attention(), execution_provider="cpu")
    assert any("fuse/gqa left " in c.sentence and "attn_mask is made by Not" in c.sentence for c in story.chapters)
    assert story.now == (attention(),) and story.rules == ("cleanup/repeated",)


def test_a_module() -> None:
    story = explain(llama(), "model.layers.1.mlp", execution_provider="cpu")
    assert (story.kind, len(story.chapters[0].before)) == ("scope", 9)
    assert story.rules == ("fold/weights",) and len(story.now) == 6
    assert explain(llama(), "model.layers.1", execution_provider="cpu").rules[0] == "fuse/gqa"


# --- saved and loaded ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", execution_providers())
def test_provenance_survives_saving_and_loading(name: str, tmp_path: Path) -> None:
    """Every node that a rule made tells the same story from a recording, from a file, and from a package's folder."""
    made = optimize(llama(), execution_provider=name, record=True)
    ir.save(made.model, tmp_path / "m.onnx")
    ours = [node for node in made.model.graph if node.metadata_props.get(RULES_KEY)]
    assert ours or name in ("onnx-standard", "default")
    for node in ours:
        kept = [c for c in explain(made, node.name or "").chapters if c.stage == "saved"]
        loaded = explain(tmp_path / "m.onnx", node.name or "")
        assert (loaded.told_from, loaded.kind, loaded.now) == ("metadata", "node", (node.name,))
        assert list(loaded.chapters) == kept and kept[0].before
        assert kept[0].rule == node.metadata_props[RULES_KEY].split()[-1]


def test_a_generic_node_is_found_in_a_loaded_package(tmp_path: Path) -> None:
    from tests.cases import CASES, write_model

    package = build(write_model(tmp_path / "model", CASES["gqa"]), execution_provider="webgpu")
    generic = next(node.name for node in package.generic["model"].graph if node.op_type == "Attention")
    package.save(tmp_path / "package")
    for given in (tmp_path / "package", load(tmp_path / "package")):
        story = explain(given, generic or "")
        assert story.execution_provider == "webgpu" and story.told_from == "metadata"
        assert any("GroupQueryAttention" in c.sentence for c in story.chapters)
        assert all(generic in c.before for c in story.chapters)


def test_misses_of_a_loaded_package_are_told() -> None:
    model = each(llama(), "Attention", test_gqa.NEAR_MISSES["negated mask"][0])
    story = explain(optimize(model, execution_provider="cpu"), attention())
    assert story.told_from == "metadata" and "attn_mask is made by Not" in story.chapters[0].sentence


def test_a_node_that_no_rule_made() -> None:
    story = explain(llama(), "model.layers.0.mlp")
    assert all(c.sentence.startswith("no rule made it, which model.layers.0.mlp") for c in story.chapters)


# --- faces and bad questions --------------------------------------------------------------------------------
def test_faces() -> None:
    one, two = (explain(llama(), attention(), execution_provider="cpu") for _ in range(2))
    assert one == two and str(one) == str(two)
    assert repr(one).startswith(f"Story(node {attention()} for cpu: 7 chapters; now ")
    assert list(one.to_frame().columns) == COLUMNS and len(one.to_frame()) == 7
    model = llama()
    for node in model.graph:
        node.name = f"<script>{node.name}"
    html = explain(model, f"<script>{attention()}", execution_provider="cpu")._repr_html_()
    assert "<script>" not in html and "&lt;script&gt;" in html


def test_bad_questions() -> None:
    with pytest.raises(UnknownNameError, match="Unknown node, value or module 'model.layer.0'. Did you mean 'model.la"):
        explain(llama(), "model.layer.0", execution_provider="cpu")
    with pytest.raises(UnknownNameError, match="Unknown node, value or module"):
        explain(llama(), "nowhere")
    for provider in (None, "trt-rtx"):
        with pytest.raises(UnknownNameError, match="'input_ids' is an input of the graph, which no node makes"):
            explain(llama(), "input_ids", execution_provider=provider)
        with pytest.raises(UnknownNameError, match="'model.norm.weight' is a weight of the graph, which no node makes"):
            explain(llama(), "model.norm.weight", execution_provider=provider)
    with pytest.raises(UnknownNameError) as raised:
        explain(llama(config(num_hidden_layers=8)), "nowhere")
    assert len(str(raised.value)) < 900  # not every name of a large graph
    with pytest.raises(ArgumentError, match="where must be the name of a node"):
        explain(llama(), "")


def test_a_built_package_is_explained_from_its_generic_graph() -> None:
    package = build(HF, execution_provider="cpu", load_weights=False)
    generic = next(node.name for node in package.generic["model"].graph if node.op_type == "Attention")
    assert "fuse/gqa" in explain(package, generic or "", execution_provider="cpu").rules
